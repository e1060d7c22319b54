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
	wire func() *kubeproto.Parts // makes the table at its first call
	plan func() *sharing.Plan    // compiles it at its first call
	most int                     // largest number of parts
	// kept are the parts from the last list or watch that ended, until the next one begins. A
	// list or watch that begins while another one runs gets none.
	kept atomic.Pointer[sharing.Cache]
}

func newSharer(t reflect.Type, most int) *sharer {
	if most <= 0 {
		return nil
	}
	if t == reflect.TypeFor[unstructured.Unstructured]() {
		t = reflect.TypeFor[map[string]any]()
	}
	most = min(most, mostShared)
	return &sharer{
		most: most,
		wire: sync.OnceValue(func() *kubeproto.Parts { return kubeproto.NewParts(most) }),
		plan: sync.OnceValue(func() *sharing.Plan { return sharing.Compile(t) }),
	}
}
