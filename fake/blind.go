package fake

import (
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// blindless are the groups of Kubernetes' own in which updates must state a resourceVersion,
// with those of their resources of which that is true; nil stands for all. They are those
// whose strategy says false to AllowUnconditionalUpdate.
var blindless = map[string][]string{
	"admissionregistration.k8s.io": nil,
	"apiextensions.k8s.io":         nil,
	"apiregistration.k8s.io":       nil,
	"certificates.k8s.io":          {"clustertrustbundles", "podcertificaterequests"},
	"coordination.k8s.io":          nil,
	"internal.apiserver.k8s.io":    nil,
	"node.k8s.io":                  nil,
	"policy":                       {"poddisruptionbudgets"},
	"scheduling.k8s.io":            {"compositepodgroups", "podgroups", "workloads"},
	"storage.k8s.io":               {"csidrivers", "csinodes", "csistoragecapacities", "volumeattachments"},
	"storagemigration.k8s.io":      nil,
}

// refusesBlind reports whether an update must say from which version it was made.
func (r *Resource) refusesBlind() bool {
	if r.BlindUpdates {
		return false
	}
	names, ok := blindless[r.Group]
	return r.custom() || ok && (names == nil || slices.Contains(names, r.Name))
}

// checkBlind refuses a request to overwrite whatever is there. rv is what the object states.
func (t *table[T]) checkBlind(rv, name string, w write) error {
	if !w.request || rv != "" && rv != "0" || !t.res.refusesBlind() {
		return nil
	}
	// The API server has the resource where the kind should be.
	return apierrors.NewInvalid(schema.GroupKind{Group: t.res.Group, Kind: t.res.Name}, name, field.ErrorList{
		field.Invalid(field.NewPath("metadata", "resourceVersion"), uint64(0), "must be specified for an update"),
	})
}
