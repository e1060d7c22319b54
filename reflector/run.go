package reflector

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Run lists and watches until ctx is done, and then returns nil. It returns the error of
// a sink that failed, and [ErrRunning] when called twice. Run uses no goroutine but its
// caller's, which owns the protocol state.
func (r *Reflector[T]) Run(ctx context.Context) error {
	if !r.running.CompareAndSwap(false, true) {
		return ErrRunning
	}
	for ctx.Err() == nil {
		var err error
		if r.state.watching {
			err = r.watch(ctx)
		} else {
			err = r.list(ctx)
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	if r.state.token != "" {
		r.sink.Discard() // between two pages
	}
	return nil
}

// list asks for one page and carries out what follows from it. The error is the sink's.
func (r *Reflector[T]) list(ctx context.Context) error {
	asked := r.state.listRV
	page, sinkErr, err := r.listPage(ctx)
	if sinkErr != nil || ctx.Err() != nil {
		r.state.token = ""
		r.sink.Discard()
		return sinkErr
	}
	var st step
	if err != nil {
		r.state, st = r.state.listFailed(err)
	} else {
		r.expect(page)
		r.state, st = r.state.pageListed(page)
	}
	if st.replace {
		r.stats.lists.Add(1)
		return r.sink.Replace(ctx, r.state.rv)
	}
	if st.discard {
		r.stats.listed.Store(0)
		r.sink.Discard()
	}
	r.follow(ctx, st, RequestError{Verb: "list", ResourceVersion: asked})
	return nil
}

// listPage passes the objects of one page to the sink.
func (r *Reflector[T]) listPage(ctx context.Context) (page metav1.ListMeta, sinkErr, err error) {
	if r.state.token == "" {
		r.stats.listed.Store(0)
		r.stats.expected.Store(0)
	}
	page, err = r.source.List(ctx, r.listOptions(), func(ev Event[T], err error) bool {
		if err != nil {
			bad := r.badObject(err)
			if bad == nil {
				bad = r.badObject(&ObjectError{Resource: r.source.Resource(), Err: err})
			}
			r.sink.Skipped(bad)
			return true
		}
		r.stats.listed.Add(1)
		sinkErr = r.sink.Listed(ctx, ev)
		return sinkErr == nil
	})
	return page, sinkErr, err
}

// listOptions is the request for the page that the state asks for. A continue token
// carries its resourceVersion, and asking for another is an error
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks).
// A version other than "" and "0" is asked for without a limit, so that the server can
// answer from its cache instead of its storage. A list whose pages expired has none either.
func (r *Reflector[T]) listOptions() metav1.ListOptions {
	s := r.state
	opts := metav1.ListOptions{Limit: max(r.opts.PageSize, 0)}
	switch {
	case s.token != "":
		opts.Continue = s.token
	case s.listRV != "" && s.listRV != "0":
		opts.ResourceVersion, opts.Limit = s.listRV, 0
	default:
		opts.ResourceVersion = s.listRV
	}
	if s.whole {
		opts.Limit = 0
	}
	return opts
}

func (r *Reflector[T]) expect(page metav1.ListMeta) {
	if page.RemainingItemCount != nil {
		r.stats.expected.Store(r.stats.listed.Load() + uint64(max(*page.RemainingItemCount, 0)))
	} else if page.Continue == "" {
		r.stats.expected.Store(r.stats.listed.Load())
	}
}

// watch passes the events of one watch to the sink and carries out what follows from
// its end. The error is the sink's.
func (r *Reflector[T]) watch(ctx context.Context) error {
	asked := r.state.rv
	end := watchEnd{rv: asked}
	began := time.Now()
	r.stats.watches.Add(1)
	opts := r.watchOptions()
	// A server, or something on the way to it, that does not end the watch in time may
	// have forgotten it.
	limited, cancel := context.WithTimeout(ctx, time.Duration(*opts.TimeoutSeconds)*time.Second+grace)
	defer cancel()
	for ev, err := range r.source.Watch(limited, opts) {
		if err != nil {
			bad := r.badObject(err)
			if bad == nil {
				end.err = err
				break
			}
			if bad.Type == Deleted {
				end.rv, end.err = newest(end.rv, bad.ResourceVersion), ErrUnreadableDelete
				break
			}
			continue
		}
		fresh, err := inOrder(ev, end.rv)
		if err != nil {
			end.err = err
			break
		}
		if !fresh {
			continue
		}
		r.stats.events.Add(1)
		if err := r.sink.Apply(ctx, ev); err != nil {
			return err
		}
		// Only now: what the sink did not take must be asked for again.
		end.rv = newest(end.rv, ev.ResourceVersion)
	}
	if ctx.Err() != nil {
		return nil
	}
	if limited.Err() != nil {
		end.err = nil
	}
	lived := time.Since(began)
	end.short, end.steady = lived < time.Second, lived >= r.opts.Backoff.Max
	var st step
	r.state, st = r.state.watchEnded(end)
	r.follow(ctx, st, RequestError{Verb: "watch", ResourceVersion: asked})
	return nil
}

// grace is how much longer than asked for a watch may last.
const grace = 30 * time.Second

func (r *Reflector[T]) watchOptions() metav1.ListOptions {
	timeout := scale(r.opts.WatchTimeout, 1+r.opts.Backoff.Random())
	seconds := int64(timeout / time.Second)
	return metav1.ListOptions{
		ResourceVersion:     r.state.rv,
		AllowWatchBookmarks: true,
		TimeoutSeconds:      &seconds,
	}
}

// badObject reports err if it concerns a single object, and returns nil if not.
func (r *Reflector[T]) badObject(err error) *ObjectError {
	var bad *ObjectError
	if !errors.As(err, &bad) {
		return nil
	}
	r.stats.badObjects.Add(1)
	r.opts.OnError(err)
	return bad
}

// follow reports the failure of a request, if it failed, and waits as st says.
func (r *Reflector[T]) follow(ctx context.Context, st step, failed RequestError) {
	var wait time.Duration
	if st.afresh {
		r.waits.next = 0
	}
	if st.backoff {
		wait = r.waits.after(time.Now(), st.atLeast)
	}
	if st.err != nil {
		r.stats.failures.Add(1)
		failed.Resource, failed.RetryIn, failed.Err = r.source.Resource(), wait, st.err
		r.opts.OnError(&failed)
	}
	if wait <= 0 {
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
