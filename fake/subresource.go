package fake

import (
	"context"
	"net/url"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake/internal/wire"
)

// SubresourceHook is a subresource other than status, made by [View], [Action] or [Text], for
// [Hooks].Subresources. It is served over HTTP (serve_subresource.go), and discovery shows it.
type SubresourceHook[T metav1.Object] struct {
	of subresourceHook
}

// subresourceHook is a [SubresourceHook] without the type, as hooks are.
type subresourceHook struct {
	kind     schema.GroupVersionKind
	only     []string // verbs; nil for all that it can
	protobuf bool
	fresh    func() metav1.Object
	get      func(obj metav1.Object) (metav1.Object, error)
	set      func(obj, sent metav1.Object) error
	do       func(ctx context.Context, obj, sent metav1.Object, dryRun bool) (metav1.Object, error)
	check    func(sent metav1.Object, name string, dryRun bool) error // nil for none
	text     func(ctx context.Context, obj metav1.Object, query url.Values) (string, error)
	replicas []string // the path to what a Scale shows
}

// View returns a subresource that shows objects in the form of S, such as a Scale, and changes them
// in that form. get makes the form of obj, which is read-only. set changes obj, its own copy, as
// the client's form says. A nil set refuses updates and patches with 405. Both run as [Hooks] do,
// and their errors refuse the request. An apply of a Scale, or of a form of the object's own kind, is a server-side
// apply; of another form it works as a merge patch, and its manager owns what it changes, as after an update.
func View[T, S metav1.Object](kind schema.GroupVersionKind, get func(obj T) (S, error), set func(obj T, sent S) error) SubresourceHook[T] {
	h := newSubresourceHook(kind, func() metav1.Object { return newObject(reflect.TypeFor[S]().Elem()) })
	h.replicas = []string{"spec", "replicas"}
	h.get = func(obj metav1.Object) (metav1.Object, error) { return get(typed[T](obj)) }
	if set != nil {
		h.set = func(obj, sent metav1.Object) error { return set(typed[T](obj), sent.(S)) }
	}
	return SubresourceHook[T]{h}
}

// Action returns a subresource to which clients post an object of S, such as an Eviction: do
// carries it out for obj, which is read-only, and returns the answer, or nil for a Status that says
// Success. It runs as [Hooks] do, and can write to the server. A dry run must be refused like another
// request, and change nothing.
func Action[T, S metav1.Object](kind schema.GroupVersionKind, do func(ctx context.Context, obj T, sent S, dryRun bool) (metav1.Object, error)) SubresourceHook[T] {
	h := newSubresourceHook(kind, func() metav1.Object { return newObject(reflect.TypeFor[S]().Elem()) })
	h.do = func(ctx context.Context, obj, sent metav1.Object, dryRun bool) (metav1.Object, error) {
		return do(ctx, typed[T](obj), sent.(S), dryRun)
	}
	return SubresourceHook[T]{h}
}

// Text returns a subresource that clients read as text, such as the log of a pod. get returns the
// text of obj, which is read-only, and gets the query of the request. It runs as [Hooks] do. An
// empty text is answered with 204 No Content, as the API server does. kind is what discovery shows.
func Text[T metav1.Object](kind schema.GroupVersionKind, get func(ctx context.Context, obj T, query url.Values) (string, error)) SubresourceHook[T] {
	return SubresourceHook[T]{subresourceHook{kind: kind, text: func(ctx context.Context, obj metav1.Object, query url.Values) (string, error) {
		return get(ctx, typed[T](obj), query)
	}}}
}

// newSubresourceHook returns a hook of a form; fresh makes an empty one.
func newSubresourceHook(kind schema.GroupVersionKind, fresh func() metav1.Object) subresourceHook {
	return subresourceHook{kind: kind, protobuf: wire.HasProtobuf(fresh), fresh: fresh}
}

// Only returns a hook that accepts only the given verbs, by their names in discovery: create, get,
// patch, update.
func (h SubresourceHook[T]) Only(verbs ...string) SubresourceHook[T] {
	h.of.only = verbs
	return h
}

// Replicas returns a hook whose Scale shows the field at path; without it, that is spec.replicas. Managers of that
// field own the replicas of the Scale, and the other way round. If an untyped object lacks the field, a patch of its
// Scale begins with math.MinInt32 replicas, as in the API server.
func (h SubresourceHook[T]) Replicas(path ...string) SubresourceHook[T] {
	h.of.replicas = path
	return h
}

// Checked returns a hook of an [Action] that asks check about what a client posts before it looks
// for the object of that name, which need not exist. An error refuses the request.
func (h SubresourceHook[T]) Checked(check func(sent metav1.Object, name string, dryRun bool) error) SubresourceHook[T] {
	h.of.check = check
	return h
}

func (h subresourceHook) verbs() metav1.Verbs {
	return slices.DeleteFunc(h.possible(), func(verb string) bool { return h.only != nil && !slices.Contains(h.only, verb) })
}

func (h subresourceHook) possible() metav1.Verbs {
	var out metav1.Verbs
	if h.do != nil {
		out = append(out, "create")
	}
	if h.get != nil || h.text != nil {
		out = append(out, "get")
	}
	if h.set != nil {
		out = append(out, "patch", "update")
	}
	return out
}

func (h subresourceHook) typeMeta() metav1.TypeMeta {
	apiVersion, kind := h.kind.ToAPIVersionAndKind()
	return metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}
}

// scales reports whether the form is a Scale.
func (h subresourceHook) scales() bool {
	return h.kind.Group == "autoscaling" && h.kind.Kind == "Scale"
}
