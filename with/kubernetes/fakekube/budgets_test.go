package fakekube_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake"
)

// setStatus changes the budget "one" as its controller would.
func setStatus(t *testing.T, s *fake.Server, change func(*policyv1.PodDisruptionBudget)) {
	t.Helper()
	b, err := fake.Get[*policyv1.PodDisruptionBudget](s, types.NamespacedName{Namespace: "default", Name: "one"})
	if err != nil {
		t.Fatal(err)
	}
	change(b)
	if _, err := fake.UpdateStatus(s, b); err != nil {
		t.Fatal(err)
	}
}

// TestBudgetRefusals: why a budget refuses an eviction.
func TestBudgetRefusals(t *testing.T) {
	not := func(reason, message string) []metav1.Condition {
		return []metav1.Condition{{Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: reason, Message: message}}
	}
	for want, c := range map[string]struct {
		code   int
		change func(*policyv1.PodDisruptionBudget)
	}{
		"The disruption budget one is still being processed by the server.": {429, func(b *policyv1.PodDisruptionBudget) { b.Status.ObservedGeneration = 0 }},
		"pdb disruptions allowed is negative":                               {403, func(b *policyv1.PodDisruptionBudget) { b.Status.DisruptionsAllowed = -1 }},
		"The disruption budget one needs 3 healthy pods and has 2 currently": {429, func(b *policyv1.PodDisruptionBudget) {
			b.Status.DisruptionsAllowed, b.Status.DesiredHealthy, b.Status.CurrentHealthy = 0, 3, 2
		}},
		"because it failed sync: broken": {429, func(b *policyv1.PodDisruptionBudget) {
			b.Status.DisruptionsAllowed, b.Status.Conditions = 0, not(policyv1.SyncFailedReason, "broken")
		}},
		"does not allow evicting pods currently (InsufficientPods): why": {429, func(b *policyv1.PodDisruptionBudget) {
			b.Status.DisruptionsAllowed, b.Status.CurrentHealthy, b.Status.Conditions = 0, 1, not(policyv1.InsufficientPodsReason, "why")
		}},
		"The disruption budget one does not allow evicting pods currently": {429, func(b *policyv1.PodDisruptionBudget) {
			b.Status.DisruptionsAllowed, b.Status.CurrentHealthy = 0, 1
		}},
	} {
		s := newServer(t)
		running(t, s, "a")
		budget(t, s, "one", 1)
		setStatus(t, s, c.change)
		send(t, s, step{"POST", "/api/v1/namespaces/default/pods/a/eviction", `{"metadata":{"name":"a"}}`, c.code, want})
	}
}

// TestBudgetNotesPods: an eviction tells the budget's controller about the pod.
func TestBudgetNotesPods(t *testing.T) {
	s := newServer(t)
	running(t, s, "a")
	budget(t, s, "one", 1)
	send(t, s, step{"POST", "/api/v1/namespaces/default/pods/a/eviction", `{"metadata":{"name":"a"}}`, 201, "Success"})
	setStatus(t, s, func(b *policyv1.PodDisruptionBudget) {
		if at := b.Status.DisruptedPods["a"]; len(b.Status.DisruptedPods) != 1 || at.IsZero() {
			t.Errorf("noted %v", b.Status.DisruptedPods)
		}
		if len(b.Status.Conditions) != 1 || b.Status.Conditions[0].Reason != policyv1.InsufficientPodsReason {
			t.Errorf("conditions %v", b.Status.Conditions)
		}
	})
}

// TestUnhealthyPods: pods that are not ready go without a look at what the budget has left, if its
// policy allows that always, or while enough others are healthy.
func TestUnhealthyPods(t *testing.T) {
	always, budgeted := policyv1.AlwaysAllow, policyv1.IfHealthyBudget
	for _, c := range []struct {
		policy           *policyv1.UnhealthyPodEvictionPolicyType
		healthy, desired int32
		ready            bool
		code             int
	}{
		{nil, 2, 2, false, 201}, {nil, 1, 2, false, 429}, {nil, 0, 0, false, 429}, {nil, 2, 2, true, 429},
		{&budgeted, 2, 2, false, 201}, {&budgeted, 1, 2, false, 429},
		{&always, 0, 2, false, 201}, {&always, 2, 2, true, 429},
	} {
		s := newServer(t)
		running(t, s, "a")
		budget(t, s, "one", 0)
		setStatus(t, s, func(b *policyv1.PodDisruptionBudget) {
			b.Status.CurrentHealthy, b.Status.DesiredHealthy = c.healthy, c.desired
		})
		b, err := fake.Get[*policyv1.PodDisruptionBudget](s, types.NamespacedName{Namespace: "default", Name: "one"})
		if err != nil {
			t.Fatal(err)
		}
		if b.Spec.UnhealthyPodEvictionPolicy = c.policy; c.policy != nil {
			if b, err = fake.Update(s, b); err != nil {
				t.Fatal(err)
			}
			setStatus(t, s, func(now *policyv1.PodDisruptionBudget) { now.Status.ObservedGeneration = b.Generation })
		}
		if c.ready {
			p, err := fake.Get[*corev1.Pod](s, types.NamespacedName{Namespace: "default", Name: "a"})
			if err != nil {
				t.Fatal(err)
			}
			p.Status.Conditions = slices.Concat(p.Status.Conditions, []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}})
			if _, err := fake.UpdateStatus(s, p); err != nil {
				t.Fatal(err)
			}
		}
		t.Logf("%+v", c)
		send(t, s, step{"POST", "/api/v1/namespaces/default/pods/a/eviction", `{"metadata":{"name":"a"}}`, c.code, ""})
	}
}
