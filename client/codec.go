package client

import (
	"fmt"
	"hash/maphash"
	"reflect"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinform/kinform/internal/decode"
	"github.com/kinform/kinform/internal/kubeproto"
)

// objectCodec decodes single objects into freshly allocated ones. Immutable.
type objectCodec struct {
	of       reflect.Type             // of the objects: T, or a type that implements it
	json     func() *decode.JSONCodec // makes it at its first call
	elem     reflect.Type             // what objects are decoded into: of, or the type that it points to
	partial  bool                     // T holds a metav1.PartialObjectMetadata
	untyped  bool                     // T holds an unstructured.Unstructured
	kinded   bool                     // T has a kind and apiVersion
	plan     *kubeproto.Plan
	protobuf error        // why there is no plan; nil if there is one
	interned int          // largest number of strings
	drop     bool         // whether managedFields are dropped
	sharer   *sharer      // for reflectors
	memory   int64        // that an object may take
	seed     maphash.Seed // of sums
	stats    *counters
}

// newObjectCodec makes the codec for objects of the type of, which is a T.
func newObjectCodec(of reflect.Type, opts Options) (objectCodec, error) {
	t, err := concrete(of)
	if err != nil {
		return objectCodec{}, err
	}
	c := objectCodec{
		of:       of,
		elem:     t,
		partial:  t == reflect.TypeFor[metav1.PartialObjectMetadata](),
		untyped:  t == reflect.TypeFor[unstructured.Unstructured](),
		drop:     opts.DropManagedFields,
		interned: internMost,
		sharer:   newSharer(t, opts.ShareJSON),
		memory:   decode.MostMemory(objectLimit(opts.MaxObjectBytes)),
		seed:     maphash.MakeSeed(),
		stats:    new(counters),
	}
	c.plan, c.protobuf = kubeproto.Compile(t)
	memory := c.memory
	c.json = sync.OnceValue(func() *decode.JSONCodec { return decode.NewJSONCodec(t, memory) })
	c.kinded = c.untyped || reflect.PointerTo(t).Implements(reflect.TypeFor[kinded]())
	return c, nil
}

// concrete returns the type that values of the type t are decoded into.
func concrete(t reflect.Type) (elem reflect.Type, err error) {
	if elem = t; t.Kind() == reflect.Pointer {
		elem = t.Elem()
	}
	switch elem.Kind() {
	case reflect.Struct, reflect.Map:
		return elem, nil
	}
	return nil, fmt.Errorf("%v cannot hold an object: it must be a struct, a map, or a pointer to one", t)
}

// newObject returns a pointer to a new object.
func newObject(c *objectCodec) any { return reflect.New(c.elem).Interface() }

// contentsSum returns the sum of an object's bytes for [reflector.Event], which is never zero. The seed is
// random and secret, so nobody can make two objects that have one sum. It is another one for each
// Resource. A sum takes some 0.1 ns per byte, which the decoder has just read. In protobuf it is the sum
// of the object without its envelope; in JSON, see decode.Codec.Contents.
func contentsSum(c *objectCodec, contents []byte) uint64 {
	return max(1, maphash.Bytes(c.seed, contents))
}

// objectSum is contentsSum for an object in a codec's encoding.
func objectSum(c *objectCodec, codec decode.Codec, raw []byte) uint64 {
	return contentsSum(c, codec.Contents(raw))
}
