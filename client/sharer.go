package client

import (
	"reflect"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinform/kinform/internal/kubeproto"
	"github.com/kinform/kinform/internal/sharing"
)

// sharer lets the objects of a Resource share parts. Those in protobuf are found by their bytes,
// before they are decoded. In the other encodings equal parts may have different bytes, and the
// libraries that decode them do not stop at a part, so parts are found in the decoded object.
type sharer struct {
	wire atomic.Pointer[kubeproto.Parts] // nil until there are some objects
	json bool                            // whether parts are shared in other encodings than protobuf
	plan func() *sharing.Plan            // compiles it at its first call
	// kept are the parts from the last list or watch that ended, until the next one begins. A
	// list or watch that begins while another one runs gets none.
	kept atomic.Pointer[sharing.Cache]
}

// The largest numbers of parts, in protobuf and in other encodings.
const (
	mostWire   = 1 << 15
	mostShared = 1 << 12
)

func newSharer(t reflect.Type, json bool) *sharer {
	if t == reflect.TypeFor[unstructured.Unstructured]() {
		t = reflect.TypeFor[map[string]any]()
	}
	return &sharer{json: json, plan: sync.OnceValue(func() *sharing.Plan { return sharing.Compile(t) })}
}

// table returns the parts of protobuf.
func (s *sharer) table() *kubeproto.Parts {
	if s.wire.Load() == nil {
		s.wire.CompareAndSwap(nil, kubeproto.NewParts(mostWire))
	}
	return s.wire.Load()
}
