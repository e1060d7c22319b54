package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/internal/kubeproto"
	"github.com/kinform/kinform/internal/pages"
	"github.com/kinform/kinform/reflector"
)

// List implements [reflector.Source]: it asks for one page, the whole collection unless
// opts.Limit is set, and yields each object while the body is being read. The body is
// never held, other than one object of it. The selectors of opts narrow those of the
// Options.
//
// Objects of built-in types get their kind and apiVersion from the list, because the
// server leaves them out of its items. If it is not known by then (a proxy sorted the
// members, so that "kind" comes after "items", and Options.Kind is empty) the decoded
// objects are yielded at the end.
//
// The error is an *apierrors.StatusError if the server refused, the context's error if
// ctx is done, and otherwise wraps ErrNotKubernetes, ErrTable, ErrWrongKind,
// io.ErrUnexpectedEOF or the error of the transport.
func (r *Resource[T]) List(ctx context.Context, opts metav1.ListOptions, yield func(reflector.Event[T], error) bool) (metav1.ListMeta, error) {
	c := call{
		verb: "list", method: http.MethodGet,
		key: types.NamespacedName{Namespace: r.options.Namespace},
	}
	var err error
	if c.query, err = r.selection(opts, false); err != nil {
		return metav1.ListMeta{}, r.fail(c, err)
	}
	a, err := r.ask(ctx, c, "List")
	if err != nil {
		return metav1.ListMeta{}, err
	}
	defer a.abandon()
	l, err := r.readList(a, yield)
	if err == reflector.ErrStopped {
		return metav1.ListMeta{}, err
	}
	if err != nil {
		return metav1.ListMeta{}, r.fail(c, r.sized(err))
	}
	r.listed.Store(&expectation{kind: l.want.kind, guess: l.want.guess})
	return l.meta, nil
}

// readList reads a body in the encoding that it has.
func (r *Resource[T]) readList(a *answer, yield func(reflector.Event[T], error) bool) (*listing[T], error) {
	work := r.objects.workspace(a.encoding())
	defer work.close()
	l := listing[T]{objects: &r.objects, body: a, want: r.expected(), report: r.objectError, yield: yield, work: work}
	l.want.kind, l.want.guess = r.options.Kind, "" // a list is not judged by the list before it
	encoding, in := a.encoding(), r.meter(a)
	if encoding == Protobuf {
		d := protobufList[T]{listing: l, in: kubeproto.NewListReader(in, r.protobufLimit())}
		return &d.listing, d.run()
	}
	d := listDecoder[T]{listing: l, in: newValueReader(encoding, in, r.limit)}
	return &d.listing, d.run()
}

// Items reads the collection, all pages of it if opts.Limit is set, as List does. An
// object that cannot be used is yielded as a *reflector.ObjectError with a zero T, and
// the sequence goes on; any other error is the last pair, such as one that wraps
// reflector.ErrBadPage for pages that go round in a circle. It can be used more than once,
// and each time asks the server.
func (r *Resource[T]) Items(ctx context.Context, opts metav1.ListOptions) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		page := opts
		var trail pages.Trail
		for {
			meta, err := r.List(ctx, page, func(ev reflector.Event[T], err error) bool {
				return yield(ev.Object, err)
			})
			if err == reflector.ErrStopped {
				return
			}
			if err != nil {
				yield(*new(T), err)
				return
			}
			if meta.Continue == "" {
				return
			}
			if trail.Turns(page.Continue, meta.Continue) {
				yield(*new(T), fmt.Errorf("list %s: %w", r.name, reflector.ErrBadPage))
				return
			}
			page.Continue, trail = meta.Continue, trail.Add(meta.Continue)
			// A continue token carries the version of its list.
			page.ResourceVersion, page.ResourceVersionMatch = "", ""
		}
	}
}

// itemKind is the kind of the objects in a list of this kind, empty if it does not tell.
func itemKind(listKind string) string {
	kind, _ := strings.CutSuffix(listKind, "List")
	if kind == listKind {
		return ""
	}
	return kind
}
