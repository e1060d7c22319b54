package reflector

import (
	"context"
	"errors"
	"log/slog"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Run lists and watches until ctx is done, and then returns nil. It returns the error of
// a sink that failed, and [ErrRunning] when called twice. Run works in its caller's
// goroutine, which owns the protocol state; a timer of each watch looks on.
func (r *Reflector[T]) Run(ctx context.Context) error {
	if !r.running.CompareAndSwap(false, true) {
		return ErrRunning
	}
	for ctx.Err() == nil {
		var err error
		if r.state.phase == listing {
			err = r.list(ctx)
		} else {
			err = r.watch(ctx)
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
	asked := r.state.version()
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
		r.state, st = r.state.pageListed(page, r.newest)
	}
	if st.replace {
		return r.replace(ctx)
	}
	r.follow(ctx, st, RequestError{Verb: "list", ResourceVersion: asked})
	return nil
}

// replace ends a list that is whole.
func (r *Reflector[T]) replace(ctx context.Context) error {
	r.stats.lists.Add(1)
	r.stats.saw(r.state.rv, 0)
	r.log.Debug("list is whole", slog.String("resourceVersion", r.state.rv), slog.Uint64("objects", r.stats.listed.Load()))
	return r.sink.Replace(ctx, r.state.rv)
}

// beginList notes that a list begins, by LIST or as a stream.
func (r *Reflector[T]) beginList(verb string) {
	r.newest = ""
	r.stats.expectList()
	r.log.Debug("list begins", slog.String("verb", verb), slog.String("resourceVersion", r.state.version()))
}

// listPage passes the objects of one page to the sink.
func (r *Reflector[T]) listPage(ctx context.Context) (page metav1.ListMeta, sinkErr, err error) {
	if r.state.token == "" {
		r.beginList("list")
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
		r.newest = newest(r.newest, ev.ResourceVersion)
		sinkErr = r.sink.Listed(ctx, ev)
		return sinkErr == nil
	})
	return page, sinkErr, err
}

func (r *Reflector[T]) expect(page metav1.ListMeta) {
	if page.RemainingItemCount != nil {
		r.stats.expected.Store(r.stats.listed.Load() + uint64(max(*page.RemainingItemCount, 0)))
	} else if page.Continue == "" {
		r.stats.expected.Store(r.stats.listed.Load())
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

// follow carries out st, all but replace: it reports the failure of a request, if it
// failed, and waits.
func (r *Reflector[T]) follow(ctx context.Context, st step, failed RequestError) {
	if st.discard {
		r.stats.listed.Store(0)
		r.sink.Discard()
	}
	if st.relist != notAtAll {
		r.stats.relists[st.relist].Add(1)
		r.log.Debug("lists again", slog.String("reason", st.relist.String()), slog.String("resourceVersion", r.state.rv))
	}
	var wait time.Duration
	if st.afresh {
		r.waits.afresh()
	}
	if st.pause != noPause {
		wait = r.waits.after(time.Now(), st.pause, st.atLeast)
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
