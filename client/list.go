package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

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
		key:    types.NamespacedName{Namespace: r.options.Namespace},
		accept: r.accept("List"),
	}
	var err error
	if c.query, err = r.selection(opts, false); err != nil {
		return metav1.ListMeta{}, r.fail(c, err)
	}
	a, err := r.send(ctx, c)
	if err != nil {
		return metav1.ListMeta{}, err
	}
	defer a.abandon()
	d := listDecoder[T]{objects: &r.objects, in: newJSONReader(a), body: a, want: r.expected(), report: r.objectError, yield: yield}
	d.want.kind = r.options.Kind // a list is not judged by the list before it
	if err := d.run(); err != nil {
		if err == reflector.ErrStopped {
			return metav1.ListMeta{}, err
		}
		return metav1.ListMeta{}, r.fail(c, err)
	}
	if d.itemKind != "" {
		r.listedKind.Store(&d.itemKind)
	}
	return d.meta, nil
}

// Items reads the collection, all pages of it if opts.Limit is set, as List does. An
// object that cannot be used is yielded as a *reflector.ObjectError with a zero T, and
// the sequence goes on; any other error is the last pair. It can be used more than once,
// and each time asks the server.
func (r *Resource[T]) Items(ctx context.Context, opts metav1.ListOptions) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		page := opts
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
			if page.Continue = meta.Continue; page.Continue == "" {
				return
			}
			// A continue token carries the version of its list.
			page.ResourceVersion, page.ResourceVersionMatch = "", ""
		}
	}
}

// accept is the Accept header for a T, or for a T with suffix.
func (r *Resource[T]) accept(suffix string) string {
	if r.objects.partial {
		return fmt.Sprintf("%s;as=%s%s;g=%s;v=v1,%[1]s", jsonType, partialKind, suffix, metav1.GroupName)
	}
	return jsonType
}

// itemKind is the kind of the objects in a list of this kind, empty if it does not tell.
func itemKind(listKind string) string {
	kind, _ := strings.CutSuffix(listKind, "List")
	if kind == listKind {
		return ""
	}
	return kind
}
