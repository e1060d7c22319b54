package fake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/internal/objid"
	"github.com/kinform/kinform/reflector"
)

var _ reflector.Source[*metav1.PartialObjectMetadata] = (*Source[*metav1.PartialObjectMetadata])(nil)

// Source is a [reflector.Source] on a server in the same process: no socket, no JSON, no
// goroutine. It answers as the HTTP form does, faults included, and is safe for
// concurrent use. Make one with [NewSource].
type Source[T metav1.Object] struct {
	first *table // of the definition at the time of NewSource
	sel   Selection
	name  string

	known func(objid.Identity) bool // not nil in a source that Relist returned
}

// NewSource returns a source of a selection of T's resource. Errors: [ErrNotRegistered],
// [ErrInvalid], also for a namespace of a cluster-scoped resource; a BadRequest
// Status for a selector that does not parse.
func NewSource[T metav1.Object](at Target, sel Selection) (*Source[T], error) {
	t, err := lookup[T](at, schema.GroupVersionKind{})
	if err != nil {
		return nil, err
	}
	if err := t.checkScope(sel.Namespace); err != nil {
		return nil, err
	}
	if _, err := t.matcher(sel, metav1.ListOptions{}); err != nil {
		return nil, err
	}
	name := t.res.groupResource().String()
	if sel.Namespace != "" {
		name += " in namespace " + sel.Namespace
	}
	return &Source[T]{first: t, sel: sel, name: name}, nil
}

// table returns the table of the newest definition.
func (s *Source[T]) table() *table { return s.first.newest() }

// Relist serves reflectors: known objects are not copied.
func (s *Source[T]) Relist(self reflector.Source[T], known func(objid.Identity) bool) reflector.Source[T] {
	if self != reflector.Source[T](s) {
		return nil
	}
	relist := *s
	relist.known = known
	return &relist
}

// listed is the event of an object in a list.
func (s *Source[T]) listed(v *revision) (ev reflector.Event[T], err error) {
	ev = reflector.Event[T]{Type: reflector.Added, ResourceVersion: v.obj.GetResourceVersion(), Sum: v.sum()}
	if s.known != nil && v.obj.GetUID() != "" {
		id := objid.Identity{UID: v.obj.GetUID(), ResourceVersion: ev.ResourceVersion, Sum: ev.Sum}
		id.Namespace, id.Name = v.obj.GetNamespace(), v.obj.GetName()
		if ev.Recalled = s.known(id); ev.Recalled {
			return ev, nil
		}
	}
	ev.Object, err = share[T](v, s.sel.ReadOnly)
	return ev, err
}

// Resource names the collection, such as "deployments.apps in namespace prod".
func (s *Source[T]) Resource() string { return s.name }

// List implements [reflector.Source]. Objects are copies, unless the selection is
// ReadOnly. The selectors of opts narrow the source's own.
func (s *Source[T]) List(ctx context.Context, opts metav1.ListOptions, yield func(reflector.Event[T], error) bool) (metav1.ListMeta, error) {
	sent, f, err := s.call(ctx, faults.VerbList)
	if err != nil {
		return metav1.ListMeta{}, broken(err)
	}
	cut := cutAfter(f)
	p, err := s.page(opts)
	sent.answer(err)
	if err != nil {
		return metav1.ListMeta{}, err
	}
	for i, v := range p.items {
		if err := ctx.Err(); err != nil {
			return metav1.ListMeta{}, context.Cause(ctx)
		}
		if i == cut {
			return metav1.ListMeta{}, fmt.Errorf("fake: list cut: %w", io.ErrUnexpectedEOF)
		}
		ev, err := s.listed(v)
		if err != nil {
			return metav1.ListMeta{}, err
		}
		if !yield(ev, nil) {
			return metav1.ListMeta{}, reflector.ErrListStopped
		}
	}
	return p.meta, ctx.Err()
}

func (s *Source[T]) page(opts metav1.ListOptions) (page, error) {
	m, err := s.table().matcher(s.sel, opts)
	if err != nil {
		return page{}, err
	}
	q, err := s.table().listRequest(opts)
	if err != nil {
		return page{}, err
	}
	return s.table().list(m, q)
}

// Watch implements [reflector.Source]. The caller's goroutine pulls the events; between
// them it waits on channels, which testing/synctest counts as durably blocked. A broken
// connection is an error that wraps [io.ErrUnexpectedEOF].
func (s *Source[T]) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[reflector.Event[T], error] {
	return func(yield func(reflector.Event[T], error) bool) {
		w, err := s.open(ctx, opts)
		if err != nil {
			yield(reflector.Event[T]{}, broken(err))
			return
		}
		defer w.close()
		initial := opts.SendInitialEvents != nil && *opts.SendInitialEvents
		for {
			ev, ok, err := s.next(ctx, w, initial)
			initial = initial && !ev.InitialEventsEnd
			switch {
			case errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
				return
			case err != nil:
				yield(reflector.Event[T]{}, err)
				return
			case ok:
				ev.Idle = !w.ready()
				if !yield(ev, nil) {
					return
				}
			}
		}
	}
}

// open starts a stream.
func (s *Source[T]) open(ctx context.Context, opts metav1.ListOptions) (*tampered, error) {
	sent, f, err := s.call(ctx, faults.VerbWatch)
	if err != nil {
		return nil, err
	}
	w, err := s.stream(opts)
	sent.answer(err)
	if err != nil {
		return nil, err
	}
	return tamper(w, f), nil
}

func (s *Source[T]) stream(opts metav1.ListOptions) (*stream, error) {
	m, err := s.table().matcher(s.sel, opts)
	if err != nil {
		return nil, err
	}
	return s.table().watch(m, opts)
}

// call counts a request for the selection.
func (s *Source[T]) call(ctx context.Context, verb faults.Verb) (sourceRequest, *faults.Fault, error) {
	about := Request{Verb: verb, Resource: s.table().res.groupResource()}
	return s.table().server.receiveSource(ctx, about, types.NamespacedName{Namespace: s.sel.Namespace})
}

// broken makes a dropped connection look as one that a socket reports.
func broken(err error) error {
	if errors.Is(err, errDropped) {
		return fmt.Errorf("%w: %w", errDropped, io.ErrUnexpectedEOF)
	}
	return err
}

// next returns one event, which may be an initial one; it reports false after a wait.
func (s *Source[T]) next(ctx context.Context, w *tampered, initial bool) (ev reflector.Event[T], ok bool, err error) {
	if ctx.Err() != nil {
		return ev, false, context.Cause(ctx)
	}
	c, ok, err := w.poll()
	if err != nil {
		return ev, false, broken(err)
	}
	if !ok {
		return ev, false, w.wait(ctx)
	}
	ev = reflector.Event[T]{Type: c.typ, InitialEventsEnd: c.initialEnd}
	if c.obj == nil {
		ev.ResourceVersion = formatRV(c.rv)
		return ev, true, nil
	}
	if initial && c.typ == reflector.Added {
		ev, err = s.listed(c.obj)
		return ev, err == nil, err
	}
	ev.ResourceVersion, ev.Sum = c.obj.obj.GetResourceVersion(), c.obj.sum()
	ev.Object, err = share[T](c.obj, s.sel.ReadOnly)
	return ev, err == nil, err
}
