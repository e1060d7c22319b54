package controller

import (
	"fmt"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SetCondition puts a condition among conditions, in place of the condition of the same type, and
// reports whether anything changed. Observed is the generation of the object that reconcile looked
// at: it becomes the condition's ObservedGeneration. A condition that was observed at a later
// generation stays as it is, because this reconcile works with an older object.
//
// LastTransitionTime changes only if Status does. A zero LastTransitionTime then means now. The API server
// wants a Type, a Status and a Reason in CamelCase; [PatchStatus] refuses a condition without one
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

// goodConditions returns an error if a condition of status.conditions is new or changed, and lacks what API servers
// require. Other types of conditions than metav1.Condition have other rules.
func goodConditions(t reflect.Type, before, after tree) error {
	old, now := conditionsOf(before), conditionsOf(after)
	for _, c := range now {
		condition, _ := c.(tree)
		for _, field := range []string{"type", "status", "reason"} {
			if text, _ := condition[field].(string); text != "" || slices.ContainsFunc(old, func(o any) bool { return isSame(o, c) }) {
				continue
			}
			if list := typeAt(t, jsonPointer{"status", "conditions"}); list == reflect.TypeFor[[]metav1.Condition]() {
				return fmt.Errorf("condition %q has no %s: %w", condition["type"], field, errCondition)
			}
		}
	}
	return nil
}

// conditionsOf returns the list status.conditions of an object, nil if there is none.
func conditionsOf(object tree) []any {
	status, _ := object["status"].(tree)
	conditions, _ := status["conditions"].([]any)
	return conditions
}
