package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/internal/decode"
	"github.com/kinform/kinform/internal/kubeproto"
	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/internal/pages"
	"github.com/kinform/kinform/reflector"
)

// List implements [reflector.Source]. It requests one page, which is the whole collection unless
// opts.Limit is set, and yields each object while it reads the body. It never holds more of the
// body than one object, or 1 MiB and one object if it decodes on several goroutines (see
// "Concurrency" in the package documentation). The selectors of opts narrow the Options' selectors.
//
// Objects of built-in types get their kind and apiVersion from the list, because the server
// leaves them out of its items. If the list's kind is not known yet, List yields the decoded
// objects at the end. This happens if a proxy has sorted the members, so that "kind" follows
// "items", and the name of the client's kind is unknown.
//
// The error is an *apierrors.StatusError if the server refused, and the context's error if ctx
// is done. Otherwise it wraps reflector.ErrUnusable, io.ErrUnexpectedEOF or
// the error of the transport.
//
//go:noinline
func (r *Resource[T]) List(ctx context.Context, opts metav1.ListOptions, yield func(reflector.Event[T], error) bool) (metav1.ListMeta, error) {
	return listPages(ctx, r.core, &opts, r.as, typedYield(yield))
}

// listPages is List. as may be nil.
func listPages(ctx context.Context, r *resource, opts *metav1.ListOptions, as *reading, yield func(event, error) bool) (metav1.ListMeta, error) {
	c := call{
		verb: "list", method: http.MethodGet,
		key: types.NamespacedName{Namespace: r.options.Namespace},
	}
	var err error
	if c.query, err = selection(r, opts, false); err != nil {
		return metav1.ListMeta{}, callError(r, c, err)
	}
	a, err := ask(ctx, r, c, "List")
	if err != nil {
		return metav1.ListMeta{}, err
	}
	defer a.abandon()
	l, err := readList(r, a, as, opts.Continue == "", yield)
	if err == reflector.ErrListStopped {
		return metav1.ListMeta{}, err
	}
	if err != nil {
		return metav1.ListMeta{}, callError(r, c, sized(r, err))
	}
	r.listed.Store(&expectation{kind: l.want.kind, guess: l.want.guess})
	return l.meta, nil
}

// readList reads a body in its encoding. first says that it is the first page.
func readList(r *resource, a *answer, as *reading, first bool, yield func(event, error) bool) (*listing, error) {
	encoding, in := a.encoding(), meter(r, a)
	work := workspaceOf(codecOf(r), encoding, as, first)
	defer work.close()
	work.inquiry.known = as.asks()
	l := listing{objects: codecOf(r), body: a, want: expected(r), report: reporter(r), yield: yield, work: work, decoders: r.decoders}
	l.want.kind, l.want.guess = r.kind.Kind, "" // a list is not judged by the previous list
	if encoding == inProtobuf {
		d := protobufList{listing: l, in: kubeproto.NewListReader(in, protobufLimit(r))}
		defer func() { closeCrew(d.listing.crew) }()
		return &d.listing, runProtobufList(&d)
	}
	d := listDecoder{listing: l, in: decode.NewJSON(in, r.limit)}
	defer func() { closeCrew(d.listing.crew) }()
	return &d.listing, runList(&d)
}

// Items reads the collection like List, including all further pages if opts.Limit is set. An object
// that cannot be used is yielded as a *reflector.ObjectError with a zero T, and the sequence
// continues. Any other error is the last pair, for example one that wraps reflector.ErrProtocol
// because the pages go round in a circle or stay empty. Each use of the sequence sends new
// requests.
//
//go:noinline
func (r *Resource[T]) Items(ctx context.Context, opts metav1.ListOptions) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		eachItem(ctx, r.core, opts, func(object any, err error) bool { return yield(typed[T](object), err) })
	}
}

// eachItem is Items. page is the first page.
func eachItem(ctx context.Context, r *resource, page metav1.ListOptions, yield func(any, error) bool) {
	var trail pages.Trail
	for {
		empty := true
		meta, err := listPages(ctx, r, &page, nil, func(ev event, err error) bool {
			empty = false
			return yield(ev.Object, err)
		})
		if err == reflector.ErrListStopped {
			return
		}
		if err != nil {
			yield(nil, err)
			return
		}
		if meta.Continue == "" {
			return
		}
		if trail, err = trail.Next(page.Continue, meta.Continue, empty); err != nil {
			yield(nil, fmt.Errorf("list %s: %w: %w", r.name, mistake.BadPage, err))
			return
		}
		page.Continue = meta.Continue
		// A continue token carries the version of its list.
		page.ResourceVersion, page.ResourceVersionMatch = "", ""
	}
}
