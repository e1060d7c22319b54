package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/kinform/kinform/e2e/cluster"
)

// recordDefault records the answers of a server with default settings.
func recordDefault(ctx context.Context, t *tape, progress io.Writer) (err error) {
	c, err := cluster.New(ctx, cluster.Options{
		Progress: progress,
	})
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := c.Close(); err == nil {
			err = closeErr
		}
	}()
	s := newSession(c, t)
	if err := s.populate(ctx); err != nil {
		return err
	}
	steps := []func(context.Context) error{
		s.lists, s.pages, s.widgets, s.discovery, s.watches, s.refusals,
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) lists(ctx context.Context) error {
	return s.record(ctx, inFormats(
		request{name: "list-configmaps", about: "LIST of ConfigMaps, complete", path: configMapPath("")},
		request{name: "list-pods", about: "LIST of Pods, complete", path: podPath("")},
		request{
			name: "list-configmaps-empty", about: "LIST without any object",
			path: "/api/v1/namespaces/" + emptyNamespace + "/configmaps",
		},
		request{name: "get-configmap", about: "GET of one ConfigMap", path: configMapPath("cm-00001")},
		request{
			name: "list-pods-metadata", about: "LIST of Pods as a PartialObjectMetadataList",
			path: podPath(""), as: "PartialObjectMetadataList",
		},
	)...)
}

// pages records a list page by page. The tokens of the formats differ, so each format goes through
// all pages.
func (s *session) pages(ctx context.Context) error {
	for _, f := range formats() {
		token := ""
		for n := 1; n == 1 || token != ""; n++ {
			r := request{
				name:  fmt.Sprintf("list-configmaps-page%d", n),
				about: fmt.Sprintf("page %d of a LIST of %d ConfigMaps with limit=%s", n, configMaps, pageLimit),
				path:  configMapPath(""),
				query: url.Values{"limit": {pageLimit}},
			}
			if token != "" {
				r.query.Set("continue", token)
			}
			if err := s.record(ctx, r.in(f)); err != nil {
				return err
			}
			next, err := s.continueToken(ctx, r.path, r.query)
			if err != nil {
				return err
			}
			token = next
		}
	}
	return nil
}

// continueToken asks for a page again, as JSON, and returns the token of the next one. The server
// makes tokens from the version and the last key only, so the token is valid in every format.
func (s *session) continueToken(ctx context.Context, path string, query url.Values) (string, error) {
	_, body, err := s.send(ctx, request{path: path, query: query})
	if err != nil {
		return "", err
	}
	var page struct {
		Metadata struct {
			Continue string `json:"continue"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(body, &page); err != nil {
		return "", fmt.Errorf("%w in %s", err, body)
	}
	return page.Metadata.Continue, nil
}

// discovery records the answers to discovery and to wrong requests.
func (s *session) discovery(ctx context.Context) error {
	table := jsonFormat()
	table.accept += ";as=Table;g=meta.k8s.io;v=v1"
	return s.record(ctx,
		request{
			name: "list-pods-table", about: "LIST of Pods as a Table, which a client of objects must refuse",
			path: podPath(""), format: table,
		},
		request{name: "version", about: "version of the server", path: "/version"},
		request{name: "discovery-groups", about: "APIGroupList", path: "/apis"},
		request{name: "discovery-core-v1", about: "APIResourceList of the core group", path: "/api/v1"},
		request{name: "discovery-apps-v1", about: "APIResourceList of the group apps", path: "/apis/apps/v1"},
		request{
			name: "not-kubernetes", about: "a path that is no API: text, though 200 and JSON was asked for",
			path: "/healthz", method: http.MethodGet,
		},
	)
}
