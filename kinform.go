package kinform

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// Key is the key that the types of this package have: an object's namespace and name.
type Key = types.NamespacedName

type (

	// Informer keeps an indexed cache and tells handlers what changes.
	Informer[T any] = informer.Informer[Key, T]

	// Handle is the cache and the requests of one kind, for controllers.
	Handle[T metav1.Object] = controller.Handle[T]

	// Event is one change, as handlers get it.
	Event[T any] = informer.Event[Key, T]

	// HandlerFuncs is a Handler with a function per type of event.
	HandlerFuncs[T any] = informer.HandlerFuncs[Key, T]

	// HandlerOptions are the options of one handler.
	HandlerOptions[T any] = informer.HandlerOptions[T]
)

// KindOf describes a namespaced kind with T's name, such as
// KindOf[*Website](version, "websites"). See kind.Of.
func KindOf[T any](version schema.GroupVersion, resource string) *kind.Kind[T] {
	return kind.Of[T](version, resource)
}

// Open returns a handle on the objects of a kind, whose informer is not running. The options may be
// left out. What is wrong is kept until Run. See controller.Open.
func Open[T metav1.Object](server client.Connection, of *kind.Kind[T], options ...controller.OpenOptions[T]) *Handle[T] {
	return controller.Open(server, of, options...)
}

// Index adds an index to the cache of a handle or an informer, and returns it for reads. value returns the value by
// which an object is to be found. What is wrong is kept until Run. An index of objects with several values each is
// informer.AddIndex(of, index.New(name, values)); see there.
func Index[K comparable, T any, V comparable](of informer.Informed[K, T], name string, value func(T) V) informer.Index[K, T, V] {
	return informer.AddIndex(of, index.By(name, value))
}

// NewInformer returns an informer that is not running, for objects by namespace and name. See
// informer.New.
func NewInformer[T metav1.Object](source reflector.Source[T], opts informer.Options[T]) (*Informer[T], error) {
	return informer.New(source, store.ObjectKey[T], opts)
}
