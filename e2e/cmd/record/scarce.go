package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/e2e/oracle"
)

// recordScarce records the answers of a server with little history and little capacity: it has no
// watch cache for ConfigMaps, a compaction deletes its history, and it serves one reading request
// at a time.
func recordScarce(ctx context.Context, t *tape, progress io.Writer) (err error) {
	c, err := cluster.New(ctx, cluster.Options{
		ExtraAPIServerArgs: []string{
			"--watch-cache-sizes=configmaps#0",
			"--enable-priority-and-fairness=false",
			"--max-requests-inflight=1",
		},
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
	for _, step := range []func(context.Context) error{s.expiry, s.overload, s.eviction} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// expiry records the three forms of 410: for a page, for a list at a version, and in a watch.
func (s *session) expiry(ctx context.Context) error {
	page := url.Values{"limit": {pageLimit}}
	token, err := s.continueToken(ctx, configMapPath(""), page)
	if err != nil {
		return err
	}
	page.Set("continue", token)
	_, version, err := oracle.List[corev1.ConfigMap](ctx, s.api, configMapPath(""), metav1.ListOptions{})
	if err != nil {
		return err
	}
	if err := s.change(ctx); err != nil {
		return err
	}
	_, last, err := oracle.List[corev1.ConfigMap](ctx, s.api, configMapPath(""), metav1.ListOptions{})
	if err != nil {
		return err
	}
	if err := s.c.Compact(ctx, last); err != nil {
		return err
	}
	return s.record(ctx, inFormats(
		request{
			name: "error-410-continue", path: configMapPath(""), query: page, want: http.StatusGone,
			about: "LIST with a continue token from before a compaction: Status with a token to go on inconsistently",
		},
		request{
			name: "error-410-exact", path: configMapPath(""), want: http.StatusGone,
			query: url.Values{"resourceVersion": {version}, "resourceVersionMatch": {string(metav1.ResourceVersionMatchExact)}},
			about: "LIST at a version from before a compaction",
		},
		watchFrom(version, request{
			name: "watch-expired-etcd", path: configMapPath(""),
			about: "WATCH from before a compaction: an ERROR event with Status 410 of etcd",
		}),
	)...)
}

// overload records the 429 of a server that has no free seats. The server never refuses
// administrators. So they keep it busy: while one of them reads the large OpenAPI document, the
// server refuses a guest.
func (s *session) overload(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	busy, stop := context.WithCancel(ctx)
	group, busy := errgroup.WithContext(busy)
	for range 4 {
		group.Go(func() error {
			for busy.Err() == nil {
				err := s.api.Do(busy, http.MethodGet, "/openapi/v2", nil, nil)
				if err != nil && busy.Err() == nil {
					return err
				}
			}
			return nil
		})
	}
	err := s.untilRefused(busy, request{
		name: "error-429-overload", path: configMapPath(""), client: s.guest,
		about: "LIST on a server with too many requests in flight: text, no Status, and the delay in the header",
	})
	stop()
	return errors.Join(err, group.Wait())
}

// untilRefused repeats r until the answer is 429, and records that answer.
func (s *session) untilRefused(ctx context.Context, r request) error {
	for {
		e, body, err := s.send(ctx, r)
		if err != nil {
			return fmt.Errorf("recording %s: %w", r.name, err)
		}
		if e.Status == http.StatusTooManyRequests {
			return s.tape.add(e, body)
		}
	}
}
