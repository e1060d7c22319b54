package kinform

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/informer/pipeline"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// Key is the key that the types of this package have: an object's namespace and name.
type Key = types.NamespacedName

type (
	// Kind describes a kind of objects: its name, resource, scope and Go type.
	Kind[T any] = kind.Kind[T]

	// Source is a typed lister-watcher.
	Source[T any] = reflector.Source[T]

	// Reflector keeps a sink equal to a source.
	Reflector[T any] = reflector.Reflector[T]

	// DeltaFIFO queues deltas between a reflector and a store.
	DeltaFIFO[T any] = deltafifo.DeltaFIFO[Key, T]

	// IndexFunc gives the values by which an object can be found, here strings.
	IndexFunc[T any] = index.IndexFunc[T, string]

	// Indexer is the map of named indexes that a store holds.
	Indexer[T any] = index.Indexer[T]

	// Store is the cache, with its writing side.
	Store[T any] = store.Store[Key, T]

	// Reader is the reading side of a store, which an informer hands out.
	Reader[T any] = store.Reader[Key, T]

	// Snapshot is the state of a store at one moment.
	Snapshot[T any] = store.Snapshot[Key, T]

	// Informer keeps an indexed cache and tells handlers what changes.
	Informer[T any] = informer.Informer[Key, T]

	// Registration is a handler's place at an informer.
	Registration = informer.Registration

	// Lister reads an informer's cache by namespace and label selector.
	Lister[T metav1.Object] = informer.Lister[Key, T]

	// Handle is the cache and the requests of one kind, for controllers.
	Handle[T metav1.Object] = controller.Handle[T]

	// Event is one change, as handlers get it.
	Event[T any] = informer.Event[Key, T]

	// Handler gets the changes.
	Handler[T any] = informer.Handler[Key, T]

	// HandlerFunc is a function that is a Handler.
	HandlerFunc[T any] = informer.HandlerFunc[Key, T]

	// HandlerFuncs is a Handler with a function per type of event.
	HandlerFuncs[T any] = informer.HandlerFuncs[Key, T]

	// HandlerOptions are the options of one handler.
	HandlerOptions[T any] = informer.HandlerOptions[T]

	// Pipeline passes what happens to a collection to a function.
	Pipeline[T any] = pipeline.Pipeline[Key, T]

	// Queue hands keys to workers. For keys of another type see queue.Queue.
	Queue = queue.Queue[Key]
)

// KindOf describes a namespaced kind with T's name, such as
// KindOf[*Website](version, "websites"). See kind.Of.
func KindOf[T any](version schema.GroupVersion, resource string) *Kind[T] {
	return kind.Of[T](version, resource)
}

// Open returns a handle on the objects of a kind, whose informer is not running. The options may be
// left out. What is wrong is kept until Run. See controller.Open.
func Open[T metav1.Object](server client.Connection, of *Kind[T], options ...controller.OpenOptions[T]) *Handle[T] {
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
func NewInformer[T metav1.Object](source Source[T], opts informer.Options[T]) (*Informer[T], error) {
	return informer.New(source, store.ObjectKey[T], opts)
}

// NewNamespaced returns an informer of the objects in a set of namespaces, which is not running. See
// informer.NewNamespaced.
func NewNamespaced[T metav1.Object](name string, set *informer.Namespaces, source func(namespace string) (Source[T], error), opts informer.Options[T]) (*Informer[T], error) {
	return informer.NewNamespaced(name, set, source, store.ObjectKey[T], opts)
}

// NewLister returns a lister of everything that inf holds.
func NewLister[T metav1.Object](inf informer.Informed[Key, T]) Lister[T] {
	return informer.NewLister(inf)
}

// NewStore returns an empty store of objects by namespace and name. See store.New.
func NewStore[T metav1.Object](opts store.Options[T]) (*Store[T], error) {
	return store.New(store.ObjectKey[T], opts)
}

// NewDeltaFIFO returns an empty queue of deltas by namespace and name. known may be nil. See
// deltafifo.New.
func NewDeltaFIFO[T any](known deltafifo.KnownObjects[Key, T], opts deltafifo.Options) *DeltaFIFO[T] {
	return deltafifo.New(known, opts)
}

// NewPipeline returns a pipeline that is not running, for objects by namespace and name. See
// pipeline.New.
func NewPipeline[T metav1.Object](source Source[T], process func(Key, []deltafifo.Delta[T]) error, opts pipeline.Options[Key, T]) (*Pipeline[T], error) {
	return pipeline.New(source, store.ObjectKey[T], process, opts)
}

// NewQueue returns an empty queue of keys. See queue.New.
func NewQueue(opts queue.Options[Key]) *Queue { return queue.New(opts) }
