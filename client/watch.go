package client

import (
	"context"
	"io"
	"iter"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/internal/kubeproto"
	"github.com/kinform/kinform/reflector"
)

// Watch implements [reflector.Source]: it yields the events after opts.ResourceVersion in the
// server's order. Ranging over the sequence sends the request, and leaving the loop closes it.
// Everything but the decoding of initial events (see Options.Decoders) runs in the caller's goroutine.
// The selectors of opts narrow those of the
// Options; opts sets bookmarks, timeout and initial events.
//
// An event that cannot be used is a *reflector.ObjectError, and the sequence continues: its
// object cannot be decoded, has the wrong kind or no name, or its type is unknown. Any other
// error is the last pair. It is an *apierrors.StatusError for a refusal or an ERROR event, or
// the context's error when ctx is done, even during a blocked read. Otherwise it wraps
// ErrNotKubernetes, ErrTable, io.ErrUnexpectedEOF (the stream or the connection broke off
// within an event) or the error of the transport.
func (r *Resource[T]) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[reflector.Event[T], error] {
	return r.events(ctx, opts, nil)
}

// events is Watch. If known is not nil, it asks about the initial events.
func (r *Resource[T]) events(ctx context.Context, opts metav1.ListOptions, known func(reflector.Identity) bool) iter.Seq2[reflector.Event[T], error] {
	return func(yield func(reflector.Event[T], error) bool) {
		c := call{
			verb: "watch", method: http.MethodGet,
			key: types.NamespacedName{Namespace: r.options.Namespace},
		}
		err := r.watch(ctx, c, opts, known, yield)
		if err != nil && err != reflector.ErrListStopped {
			yield(reflector.Event[T]{}, err)
		}
	}
}

// watch returns reflector.ErrListStopped if the loop was left, and nil if the server closed the
// stream properly.
func (r *Resource[T]) watch(ctx context.Context, c call, opts metav1.ListOptions, known func(reflector.Identity) bool, yield func(reflector.Event[T], error) bool) error {
	query, err := r.selection(opts, true)
	if err != nil {
		return r.fail(c, err)
	}
	c.query = query
	a, err := r.ask(ctx, c, "")
	if err != nil {
		return err
	}
	defer a.abandon()
	work := r.objects.workspace(a.encoding())
	defer work.close()
	work.inquiry.known = known
	w := &watching[T]{objects: &r.objects, body: a, want: r.expected(), report: r.objectError, work: work}
	if known == nil && opts.SendInitialEvents != nil && *opts.SendInitialEvents && opts.AllowWatchBookmarks {
		w.decoders = r.decoders // without bookmarks nothing would follow the last initial event
	}
	defer func() { w.crew.close() }()
	d := r.newEvents(a, w)
	pass := func(ev reflector.Event[T], err error) error {
		if ctx.Err() != nil {
			return r.fail(c, ctx.Err())
		}
		if err != nil && !isObjectError(err) {
			return r.fail(c, r.sized(err))
		}
		if !yield(ev, err) {
			return reflector.ErrListStopped
		}
		return nil
	}
	w.pass = pass
	for {
		ev, err := d.next()
		if err == errAhead {
			if w.stopped != nil {
				return w.stopped
			}
			continue
		}
		if err == nil && ev.Type != reflector.Added {
			w.decoders = 0 // the initial events have ended, or the server does not mark their end
		}
		if err := w.flush(); err != nil {
			return err
		}
		if err == io.EOF && ctx.Err() == nil {
			return nil
		}
		ev.Idle = err == nil && !d.ready()
		if err := pass(ev, err); err != nil {
			return err
		}
	}
}

// eventReader is the decoder of a watch.
type eventReader[T any] interface {
	// next returns the next event. The error is io.EOF at a proper end, a *reflector.ObjectError if
	// only the event cannot be used, and errAhead if watching passes it on. Any other error ends the
	// stream.
	next() (reflector.Event[T], error)
	// ready reports whether the next event was read ahead.
	ready() bool
}

// newEvents makes the decoder for the encoding of a body.
func (r *Resource[T]) newEvents(a *answer, w *watching[T]) eventReader[T] {
	encoding, in := a.encoding(), r.meter(a)
	if encoding == Protobuf {
		return &protobufWatch[T]{watching: w, in: kubeproto.NewFrameReader(in, r.protobufLimit())}
	}
	return &watchDecoder[T]{watching: w, in: newValueReader(encoding, in, r.limit), encoding: encoding}
}
