package client

import (
	"context"
	"iter"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/internal/decode"
	"github.com/kinform/kinform/internal/kubeproto"
	"github.com/kinform/kinform/reflector"
)

// Watch implements [reflector.Source]: it yields the events after opts.ResourceVersion in the
// server's order. Ranging over the sequence sends the request, and leaving the loop closes it.
// Everything but the decoding of initial events (see "Concurrency" in the package documentation) runs
// in the caller's goroutine. The selectors of opts narrow the Options' selectors; opts sets bookmarks, timeout and
// initial events.
//
// An event that cannot be used is a *reflector.ObjectError, and the sequence continues: its
// object cannot be decoded, has the wrong kind or no name, or its type is unknown. Any other
// error is the last pair. It is an *apierrors.StatusError for a refusal or an ERROR event (its code
// is 0 if the event carries no Status), or the context's error when ctx is done, even during a
// blocked read. Otherwise it wraps reflector.ErrUnusable, io.ErrUnexpectedEOF (the stream or the
// connection broke off within an event) or the error of the transport.
//
//go:noinline
func (r *Resource[T]) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[reflector.Event[T], error] {
	return func(yield func(reflector.Event[T], error) bool) {
		watchEvents(ctx, r.core, &opts, r.as, typedYield(yield))
	}
}

// watchEvents is Watch. as may be nil.
func watchEvents(ctx context.Context, r *resource, opts *metav1.ListOptions, as *reading, yield func(event, error) bool) {
	err := watchOnce(ctx, r, opts, as, yield)
	if err != nil && err != reflector.ErrListStopped {
		yield(event{}, err)
	}
}

// watchOnce returns reflector.ErrListStopped if the loop was left, and nil if the server closed the
// stream properly. The values that only opening the stream needs are off the stack when it waits
// for events.
func watchOnce(ctx context.Context, r *resource, opts *metav1.ListOptions, as *reading, yield func(event, error) bool) error {
	w, err := openWatch(ctx, r, opts, as)
	if err != nil {
		return err
	}
	defer closeWatch(w)
	w.pass = func(ev event, err error) error {
		if ctx.Err() != nil {
			return callError(r, watchCall(r), ctx.Err())
		}
		if err != nil && !isObjectError(err) {
			return callError(r, watchCall(r), sized(r, err))
		}
		if !yield(ev, err) {
			return reflector.ErrListStopped
		}
		return nil
	}
	return runWatch(ctx, w, newEvents(r, w.body, w))
}

// watchCall is the request of a watch, as far as errors name it.
func watchCall(r *resource) call {
	return call{verb: "watch", method: http.MethodGet, key: types.NamespacedName{Namespace: r.options.Namespace}}
}

// openWatch sends the request. The caller closes the result.
func openWatch(ctx context.Context, r *resource, opts *metav1.ListOptions, as *reading) (*watching, error) {
	c := watchCall(r)
	query, err := selection(r, opts, true)
	if err != nil {
		return nil, callError(r, c, err)
	}
	initial := opts.SendInitialEvents != nil && *opts.SendInitialEvents
	c.query, c.encoding = query, r.server.acceptEncoding(initial)
	a, err := ask(ctx, r, c, "")
	if err != nil {
		return nil, err
	}
	w := &watching{objects: codecOf(r), body: a, want: expected(r), report: reporter(r), work: workspaceOf(codecOf(r), a.encoding(), as, initial)}
	if initial {
		w.work.inquiry.known = as.asks()
	}
	if as.asks() == nil && initial && opts.AllowWatchBookmarks {
		w.decoders = r.decoders // without bookmarks nothing would follow the last initial event
	}
	return w, nil
}

// newEvents makes the decoder for the encoding of a body.
func newEvents(r *resource, a *answer, w *watching) eventReader {
	in := meter(r, a)
	if a.encoding() == inProtobuf {
		return &protobufWatch{watching: w, in: kubeproto.NewFrameReader(in, protobufLimit(r))}
	}
	return &watchDecoder{watching: w, in: decode.NewJSON(in, r.limit)}
}
