package controller

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SetCondition puts a condition among conditions, in place of the condition of the same type, and
// reports whether anything changed. Observed is the generation of the object that reconcile looked
// at: it becomes the condition's ObservedGeneration. A condition that was observed at a later
// generation stays as it is, because this reconcile works with an older object.
//
// LastTransitionTime changes only if Status does. A zero LastTransitionTime then means now. The API server
// wants a Type, a Status and a Reason in CamelCase
// (https://github.com/kubernetes/community/blob/main/contributors/devel/sig-architecture/api-conventions.md#typical-status-properties).
func SetCondition(conditions *[]metav1.Condition, observed int64, condition metav1.Condition) (changed bool) {
	condition.ObservedGeneration = observed
	n := slices.IndexFunc(*conditions, func(c metav1.Condition) bool { return c.Type == condition.Type })
	if n >= 0 {
		old := (*conditions)[n]
		if old.ObservedGeneration > observed {
			return false
		}
		if old.Status == condition.Status {
			condition.LastTransitionTime = old.LastTransitionTime
		}
		if old == condition {
			return false
		}
	}
	if condition.LastTransitionTime.IsZero() {
		condition.LastTransitionTime = metav1.Now()
	}
	if n < 0 {
		*conditions = append(*conditions, condition)
	} else {
		(*conditions)[n] = condition
	}
	return true
}
