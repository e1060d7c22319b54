package client

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinform/kinform/internal/decode"
	"github.com/kinform/kinform/internal/kubeproto"
	"github.com/kinform/kinform/internal/sharing"
)

// A list or watch gets a small cache of strings at its object number internSoon, and the full
// cache at number internMore, so the many small lists do not pay for one.
const (
	internSoon  = 16
	internMore  = 512
	internStart = 512
	internMost  = 8192 // each takes about 50 bytes until the list or watch ends
)

// workspace holds everything that decoding one list or watch reuses from object to object. It
// belongs to one goroutine.
type workspace struct {
	codec   decode.Codec // nil for protobuf
	strings *kubeproto.Strings
	inquiry inquiry
	cut     []byte // an object without the dropped fields

	interned int // largest number of strings; 0 for none
	seen     int // number of objects

	sharer   *sharer          // nil if no parts are shared, and in a helper if it does not find them
	wire     *kubeproto.Parts // the shared parts of protobuf; nil until there are some objects
	parts    *sharing.Cache   // those of the other encodings
	protobuf bool
	update   bool // the object is a new state of one
}

// workspaceOf makes the workspace of a list or watch in an encoding. begins says that it begins with the first
// object of the collection. The caller closes it.
func workspaceOf(c *objectCodec, e encoding, as *reading, begins bool) *workspace {
	if !as.shares() {
		return helperWorkspace(c, e, nil)
	}
	w := helperWorkspace(c, e, c.sharer)
	if !w.protobuf && c.sharer.json {
		w.sharer, w.parts = c.sharer, c.sharer.kept.Swap(nil)
	}
	if begins && w.wire != nil {
		w.wire.Begin()
	}
	return w
}

// helperWorkspace makes the workspace of a goroutine that decodes for another one, which then
// shares the parts that are not shared by their bytes.
func helperWorkspace(c *objectCodec, e encoding, s *sharer) *workspace {
	w := &workspace{interned: c.interned, protobuf: e == inProtobuf}
	switch {
	case !w.protobuf:
		w.codec = c.json()
	case s != nil:
		w.sharer, w.wire = s, s.wire.Load()
	}
	return w
}

// close leaves the shared parts to the next list or watch.
func (w *workspace) close() {
	if w.parts != nil {
		w.sharer.kept.Store(w.parts)
		w.parts = nil
	}
}

// share replaces parts of a decoded object by equal parts of earlier objects.
func (w *workspace) share(object any) {
	if w.sharer == nil || w.protobuf {
		return
	}
	if w.parts == nil {
		if w.seen < internSoon {
			return // small collections need no table
		}
		w.parts = sharing.NewCache(mostShared)
	}
	if u, ok := object.(*unstructured.Unstructured); ok {
		object = &u.Object
	}
	w.sharer.plan().Share(object, w.parts)
}

// shareParts is share for an object that was decoded in another goroutine.
func shareParts(w *workspace, object any) (err error) {
	if w.sharer == nil || w.protobuf {
		return nil
	}
	defer contain(&err)
	w.share(object)
	return nil
}

// count counts an object before it is decoded.
func (w *workspace) count() {
	w.seen++
	if w.seen == internSoon && w.sharer != nil && w.protobuf {
		w.wire = w.sharer.table()
	}
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
	if w.codec != nil {
		w.codec = w.codec.Sharing(w.strings)
	}
}
