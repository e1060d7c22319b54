package fake

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// uniteOwners removes owner references that are equal to an earlier one, and warns of them, as the
// API server does. References of one owner that differ stay. when says at which point of the
// request they were found.
func uniteOwners(obj metav1.Object, when string, w write) {
	var kept []metav1.OwnerReference
	var twice []string
	all := obj.GetOwnerReferences()
	for _, ref := range all {
		if slices.ContainsFunc(kept, func(k metav1.OwnerReference) bool { return k.UID == ref.UID && same(k, ref) }) {
			twice = append(twice, string(ref.UID))
			continue
		}
		kept = append(kept, ref)
	}
	if len(twice) == 0 {
		return
	}
	obj.SetOwnerReferences(kept)
	if w.warn != nil {
		w.warn(fmt.Sprintf(".metadata.ownerReferences contains duplicate entries%s; API server dedups owner references in 1.20+, "+
			"and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: %s", when, strings.Join(twice, ", ")))
	}
}

// afterMutation is for [uniteOwners], when admission has changed the object.
const afterMutation = " after mutating admission happens"
