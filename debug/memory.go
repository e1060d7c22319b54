package debug

import (
	"fmt"
	"runtime/metrics"
	"strings"

	"github.com/kinform/kinform/informer"
)

// memory returns the memory of the process. It does not stop the world.
func memory() Memory {
	all := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/total:bytes"}}
	metrics.Read(all)
	return Memory{Live: all[0].Value.Uint64(), Heap: all[1].Value.Uint64(), Total: all[2].Value.Uint64()}
}

// marks says what makes the objects of a cache small. The names of types tell it, since a page knows no type parameters.
// It may wait for the lock of the informer.
func marks(cache any, inf informer.Untyped) (all []string) {
	if strings.HasSuffix(fmt.Sprintf("%T", inf), "v1.PartialObjectMetadata]") {
		all = append(all, "metadata only")
	}
	if strings.HasPrefix(fmt.Sprintf("%T", cache), "*controller.Projected[") {
		all = append(all, "projection")
	}
	return all
}
