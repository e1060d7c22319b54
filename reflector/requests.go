package reflector

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// listOptions is the request for the page that the state asks for. A continue token contains its
// resourceVersion, and a request with both is an error
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks).
// A request at a version other than "" and "0" has no limit, so that the server can answer from its
// cache instead of its storage, unless it has no such cache. A list whose pages expired has no
// limit either.
func (r *core) listOptions() metav1.ListOptions {
	s := r.state
	opts := metav1.ListOptions{Limit: max(r.opts.PageSize, 0)}
	switch {
	case s.token != "":
		opts.Continue = s.token
	case s.listRV != "" && s.listRV != "0" && !s.paged:
		opts.ResourceVersion, opts.Limit = s.listRV, 0
	default:
		opts.ResourceVersion = s.listRV
	}
	if s.unpaged {
		opts.Limit = 0
	}
	return opts
}

// watchOptions is the request for a watch, or for a streaming list if the state says so
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#streaming-lists).
func (r *core) watchOptions() metav1.ListOptions {
	timeout := scale(r.opts.WatchTimeout, 1+r.opts.Backoff.Random())
	if r.state.unverified > 0 {
		timeout = min(timeout, r.state.unverified)
	}
	if r.state.listsLater() {
		timeout = min(timeout, briefTimeout)
	}
	seconds := int64(timeout / time.Second)
	version := r.state.version()
	if r.state.phase == phaseWatching && r.state.replayRV == "" {
		version = r.recent.resumeFrom(version)
	}
	opts := metav1.ListOptions{
		ResourceVersion:     version,
		AllowWatchBookmarks: true,
		TimeoutSeconds:      &seconds,
	}
	if r.state.phase == phaseStreaming {
		opts.SendInitialEvents = new(true)
		opts.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
	}
	return opts
}

// beginRequest begins a request. If the answer is not a refusal, accepted is called, which may be nil; only a
// Server says that.
func (r *core) beginRequest(ctx context.Context, list bool, accepted func()) (context.Context, *Attempt) {
	if !r.server {
		return r.breaker.beginPlain(ctx)
	}
	return r.breaker.begin(ctx, list, accepted)
}

// causeOf returns the reason why a request failed that returned err. The breaker's reason for
// giving the request up goes before the source's error.
func causeOf(ctx context.Context, err error) error {
	for _, reason := range []error{errUnanswered, errOtherConnection} {
		if err != nil && errors.Is(context.Cause(ctx), reason) {
			return reason
		}
	}
	return err
}
