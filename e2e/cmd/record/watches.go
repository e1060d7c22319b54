package main

import (
	"context"
	"fmt"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/e2e/oracle"
)

// watchSeconds is the length of a recorded watch. The server sends a bookmark two seconds before it
// ends a watch, if it knows from etcd by then that its version is newer than the last event. That
// takes a second.
const watchSeconds = "5"

// watchFrom makes r a watch that the server ends after a bookmark.
func watchFrom(version string, r request) request {
	q := url.Values{"watch": {"true"}, "allowWatchBookmarks": {"true"}, "timeoutSeconds": {watchSeconds}}
	if version != "" {
		q.Set("resourceVersion", version)
	}
	for key, values := range r.query {
		q[key] = values
	}
	r.query = q
	return r
}

// watchList makes r a watch that begins with the existing objects as added events, and a bookmark
// after them.
func watchList(r request) request {
	r = watchFrom("", r)
	r.query.Set("sendInitialEvents", "true")
	r.query.Set("resourceVersionMatch", string(metav1.ResourceVersionMatchNotOlderThan))
	return r
}

// watches changes objects and then watches these changes several times, each time from the version
// before them.
func (s *session) watches(ctx context.Context) error {
	_, version, err := oracle.List[corev1.ConfigMap](ctx, s.api, configMapPath(""), metav1.ListOptions{})
	if err != nil {
		return err
	}
	if err := s.change(ctx); err != nil {
		return err
	}
	// These lists wait until the watch cache has all changes. A watch from version 0 begins with
	// the contents of the cache. If the cache was behind, more events would come after the first
	// bookmark.
	for _, path := range []string{configMapPath(""), podPath("")} {
		if _, _, err := oracle.List[metav1.PartialObjectMetadata](ctx, s.api, path, metav1.ListOptions{}); err != nil {
			return err
		}
	}
	selector := url.Values{"labelSelector": {oracle.ShardLabel + "=2"}}
	reqs := inFormats(
		watchFrom(version, request{
			name: "watch-configmaps", path: configMapPath(""),
			about: "WATCH of ConfigMaps: ADDED, MODIFIED, DELETED, BOOKMARK",
		}),
		watchFrom(version, request{
			name: "watch-pods", path: podPath(""),
			about: "WATCH of Pods: ADDED, MODIFIED, DELETED, BOOKMARK",
		}),
		watchFrom(version, request{
			name: "watch-pods-metadata", path: podPath(""), as: "PartialObjectMetadata",
			about: "WATCH of Pods as PartialObjectMetadata: ADDED, MODIFIED, DELETED, BOOKMARK",
		}),
		watchList(request{
			name: "watchlist-configmaps", path: configMapPath(""),
			about: "WatchList of ConfigMaps: ADDED for each, then the BOOKMARK that ends the initial events",
		}),
		watchList(request{
			name: "watchlist-pods", path: podPath(""),
			about: "WatchList of Pods: ADDED for each, then the BOOKMARK that ends the initial events",
		}),
	)
	reqs = append(reqs,
		watchFrom(version, request{
			name: "watch-configmaps-selected", path: configMapPath(""), query: selector,
			about: "WATCH by a label that an object loses and gets back: ADDED, DELETED, ADDED, DELETED, BOOKMARK",
		}),
		watchList(request{
			name: "watchlist-configmaps-empty", path: "/api/v1/namespaces/" + emptyNamespace + "/configmaps",
			about: "WatchList without any object: only the BOOKMARK that ends the initial events",
		}),
		watchFrom("0", request{
			name: "watch-configmaps-zero", path: configMapPath(""), query: selector,
			about: "WATCH from version 0: ADDED for each; the BOOKMARK has the mark of initial events, though not asked for",
		}),
	)
	if err := s.recordTogether(ctx, reqs...); err != nil {
		return err
	}
	return s.watchAfterRestart(ctx, version)
}

// watchAfterRestart records the 410 of a server whose watch cache no longer has the events that
// etcd still has.
func (s *session) watchAfterRestart(ctx context.Context, version string) error {
	s.c.APIServer.Kill()
	if err := s.c.APIServer.Start(ctx); err != nil {
		return fmt.Errorf("recording a restart: %w", err)
	}
	return s.recordTogether(ctx, inFormats(watchFrom(version, request{
		name: "watch-expired-cache", path: configMapPath(""),
		about: "WATCH from before a restart of the server: an ERROR event with Status 410 of the watch cache",
	}))...)
}
