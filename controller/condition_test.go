package controller_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/kind"
)

func TestSetCondition(t *testing.T) {
	early, late := metav1.NewTime(time.Unix(1, 0)), metav1.NewTime(time.Unix(2, 0))
	ready := func(status metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: "Ready", Status: status, Reason: reason, LastTransitionTime: late}
	}
	with := func(c metav1.Condition, at metav1.Time, observed int64) metav1.Condition {
		c.LastTransitionTime, c.ObservedGeneration = at, observed
		return c
	}
	other := with(metav1.Condition{Type: "Other", Status: metav1.ConditionTrue}, early, 1)
	was := with(ready(metav1.ConditionFalse, "Waits"), early, 3)
	for name, test := range map[string]struct {
		observed int64
		set      metav1.Condition
		want     metav1.Condition
		changed  bool
	}{
		"same":                   {3, ready(metav1.ConditionFalse, "Waits"), was, false},
		"status moves":           {3, ready(metav1.ConditionTrue, "Runs"), with(ready(metav1.ConditionTrue, "Runs"), late, 3), true},
		"only the reason":        {3, ready(metav1.ConditionFalse, "Starts"), with(ready(metav1.ConditionFalse, "Starts"), early, 3), true},
		"only the generation":    {4, ready(metav1.ConditionFalse, "Waits"), with(was, early, 4), true},
		"of an older generation": {2, ready(metav1.ConditionTrue, "Runs"), was, false},
	} {
		conditions := []metav1.Condition{other, was}
		changed := controller.SetCondition(&conditions, test.observed, test.set)
		if changed != test.changed || len(conditions) != 2 || conditions[0] != other || conditions[1] != test.want {
			t.Errorf("%s: changed %v, conditions %v", name, changed, conditions)
		}
	}
	var conditions []metav1.Condition
	before := time.Now()
	c := ready(metav1.ConditionTrue, "Runs")
	c.LastTransitionTime = metav1.Time{}
	if !controller.SetCondition(&conditions, 1, c) || len(conditions) != 1 || conditions[0].LastTransitionTime.Time.Before(before) || conditions[0].ObservedGeneration != 1 {
		t.Errorf("conditions %v", conditions)
	}
	if controller.SetCondition(&conditions, 1, c) {
		t.Error("the same condition is a change")
	}
}

// A condition that API servers would refuse is not sent, unless it is as it was before. Of types that are not
// metav1.Condition nobody knows the rules.
func TestIncompleteCondition(t *testing.T) {
	s := newNewerServer(t)
	s.create(`{}`, `{"conditions":[{"type":"Old","status":"True","reason":"","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}`)
	one := must(s.sites.Get(t.Context(), key{Namespace: "a", Name: "one"}, metav1.GetOptions{}))(t)
	set := func(c metav1.Condition) error {
		_, err := controller.PatchStatus(t.Context(), s.sites, one, func(o *site) { controller.SetCondition(&o.Status.Conditions, 1, c) })
		return err
	}
	const advice = ": set it, because API servers refuse a condition without it"
	for want, c := range map[string]metav1.Condition{
		`controller: Site a/one: condition "Ready" has no reason` + advice: {Type: "Ready", Status: "True"},
		`controller: Site a/one: condition "Ready" has no status` + advice: {Type: "Ready", Reason: "Runs"},
		`controller: Site a/one: condition "" has no type` + advice:        {Status: "True", Reason: "Runs"},
		`controller: Site a/one: condition "Old" has no reason` + advice:   {Type: "Old", Status: "False"},
	} {
		if err := set(c); !errors.Is(err, controller.ErrInvalid) || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := set(metav1.Condition{Type: "Ready", Status: "True", Reason: "Runs"}); err != nil {
		t.Errorf("beside an old condition without a reason: %v", err)
	}
	if want := []string{"get", "patch"}; !slices.Equal(s.sent, want) {
		t.Errorf("sent %q, want %q", s.sent, want)
	}
	untyped := clientOf(t, s.server, kind.As[*unstructured.Unstructured](siteKinds))
	object := must(untyped.Get(t.Context(), key{Namespace: "a", Name: "one"}, metav1.GetOptions{}))(t)
	must(controller.PatchStatus(t.Context(), untyped, object, func(o *unstructured.Unstructured) {
		o.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready"}}}
	}))(t)
}
