package fake

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake/internal/discovery"
)

// lifecycle has the methods of those types of k8s.io/api that are deprecated.
type lifecycle interface {
	APILifecycleDeprecated() (major, minor int)
}

// deprecation returns the warning to each request for a kind of Kubernetes 1 that is deprecated;
// empty for others.
func deprecation(obj any, r definedResource) string {
	kind, ok := obj.(lifecycle)
	if !ok {
		return ""
	}
	major, minor := kind.APILifecycleDeprecated()
	if major != 1 || minor > discovery.Minor {
		return ""
	}
	text := fmt.Sprintf("%s %s is deprecated in v%d.%d+", r.groupVersion(), r.Kind, major, minor)
	if end, ok := obj.(interface{ APILifecycleRemoved() (major, minor int) }); ok {
		if major, minor := end.APILifecycleRemoved(); major > 0 {
			text += fmt.Sprintf(", unavailable in v%d.%d+", major, minor)
		}
	}
	if other, ok := obj.(interface {
		APILifecycleReplacement() schema.GroupVersionKind
	}); ok {
		apiVersion, name := other.APILifecycleReplacement().ToAPIVersionAndKind()
		text += fmt.Sprintf("; use %s %s", apiVersion, name)
	}
	return text
}
