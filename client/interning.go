package client

import (
	"reflect"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinform/kinform/internal/decode"
	"github.com/kinform/kinform/internal/kubeproto"
	"github.com/kinform/kinform/internal/sharing"
)

// defaultInterned is the limit when Options.InternedStrings is zero. The others are the most
// of strings and of parts, since their tables are made in one piece.
const (
	defaultInterned = 8192
	mostInterned    = 1 << 20
	mostShared      = 1 << 22
)

// A list or watch gets a small cache of strings with its object number internSoon, and
// all of it with number internMore, so that the many that are small do not pay for one.
const (
	internSoon  = 16
	internMore  = 512
	internStart = 512
)

// workspace is what decoding one list or watch keeps from object to object, in one
// goroutine.
type workspace struct {
	json    *decode.Codec
	strings *kubeproto.Strings
	cut     []byte // an object's JSON without what is dropped

	interned int // the most that may be; 0 for none
	seen     int // objects

	sharer *sharer        // nil if no parts are shared
	parts  *sharing.Cache // nil until some are
}

// workspace makes that of a list or watch in an encoding, which closes it.
func (c *objectCodec[T]) workspace(e Encoding) *workspace {
	w := &workspace{json: c.jsonOf(e), interned: c.interned, sharer: c.sharer}
	if c.sharer != nil {
		w.parts = c.sharer.kept.Swap(nil)
	}
	return w
}

// jsonOf is the codec for objects of an encoding other than protobuf.
func (c *objectCodec[T]) jsonOf(e Encoding) *decode.Codec {
	if e == CBOR {
		return c.cbor
	}
	return &c.json
}

// close leaves the parts to the next list or watch.
func (w *workspace) close() {
	if w.parts != nil {
		w.sharer.kept.Store(w.parts)
		w.parts = nil
	}
}

// sharer is how the objects of a Resource are made to share parts.
type sharer struct {
	plan *sharing.Plan
	most int // parts
	// kept are the parts that the last list or watch to end has left, until the next
	// one begins. One that begins while another goes on has none.
	kept atomic.Pointer[sharing.Cache]
}

func newSharer(t reflect.Type, most int) *sharer {
	if most <= 0 {
		return nil
	}
	if t == reflect.TypeFor[unstructured.Unstructured]() {
		t = reflect.TypeFor[map[string]any]()
	}
	return &sharer{plan: sharing.Compile(t), most: min(most, mostShared)}
}

// share makes parts of a decoded object those of objects before it.
func (w *workspace) share(object any) {
	if w.parts == nil && w.sharer != nil {
		w.parts = sharing.NewCache(w.sharer.most)
	}
	switch u, ok := object.(*unstructured.Unstructured); {
	case w.parts == nil:
	case ok:
		w.sharer.plan.Share(&u.Object, w.parts)
	default:
		w.sharer.plan.Share(object, w.parts)
	}
}

// count counts an object before it is decoded.
func (w *workspace) count() {
	w.seen++
	switch {
	case w.interned == 0:
	case w.seen == internSoon:
		w.intern(min(w.interned, internStart))
	case w.seen == internMore && w.interned > internStart:
		w.intern(w.interned)
	}
}

func (w *workspace) intern(slots int) {
	w.strings = kubeproto.NewStrings(slots)
	w.json = w.json.Sharing(w.strings)
}
