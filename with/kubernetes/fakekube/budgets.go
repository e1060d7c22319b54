package fakekube

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake"
)

// maxDisrupted is the API server's limit for the evictions that a budget's controller has yet to
// notice.
const maxDisrupted = 2000

// disrupt takes the eviction of p from the PodDisruptionBudget that selects p, or refuses the
// eviction, by the rules of the API server. As there, the budget's status belongs to a controller:
// without one, a test sets it, the observedGeneration included. spared is the budget if it lets p go
// without a look at what is left of it.
func disrupt(s *fake.Server, p *corev1.Pod, dryRun bool) (spared *policyv1.PodDisruptionBudget, err error) {
	budgets, err := budgetsOf(s, p)
	switch {
	case err != nil:
		return nil, err
	case len(budgets) > 1:
		return nil, &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
			Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
		}}
	case len(budgets) == 0:
		return nil, nil
	case !ready(p) && sparesUnready(budgets[0]):
		return budgets[0], nil
	case dryRun:
		return nil, allows(budgets[0])
	}
	key := types.NamespacedName{Namespace: p.Namespace, Name: budgets[0].Name}
	_, err = fake.ChangeStatus(s, key, "kube-apiserver", func(b *policyv1.PodDisruptionBudget) error {
		if err := allows(b); err != nil {
			return err
		}
		spend(b, p.Name)
		return nil
	})
	return nil, err
}

// budgetsOf returns the budgets that count for the eviction of a pod.
func budgetsOf(s *fake.Server, p *corev1.Pod) ([]*policyv1.PodDisruptionBudget, error) {
	switch p.Status.Phase {
	case corev1.PodSucceeded, corev1.PodFailed, corev1.PodPending:
		return nil, nil
	}
	if p.DeletionTimestamp != nil || isNew(p) {
		return nil, nil
	}
	all, err := fake.List[*policyv1.PodDisruptionBudget](s, fake.Selection{Namespace: p.Namespace})
	return slices.DeleteFunc(all, func(b *policyv1.PodDisruptionBudget) bool {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		return err != nil || !selector.Matches(labels.Set(p.Labels))
	}), err
}

// isNew reports whether nobody has written the status of a pod. The API server gives a new pod the
// phase Pending and a class of QoS, which it keeps. Without its strategies a pod has neither.
func isNew(p *corev1.Pod) bool { return p.Status.Phase == "" && p.Status.QOSClass == "" }

// ready reports whether a pod counts as healthy.
func ready(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// sparesUnready reports whether pods that are not ready can go without a look at what a budget has left:
// always, if its policy says so, and otherwise while enough others are healthy.
func sparesUnready(b *policyv1.PodDisruptionBudget) bool {
	if policy := b.Spec.UnhealthyPodEvictionPolicy; policy != nil && *policy == policyv1.AlwaysAllow {
		return true
	}
	return b.Status.DesiredHealthy > 0 && b.Status.CurrentHealthy >= b.Status.DesiredHealthy
}

// allows refuses an eviction if b has no disruption left, or if its status does not tell.
func allows(b *policyv1.PodDisruptionBudget) error {
	switch {
	case b.Status.ObservedGeneration < b.Generation:
		return unsettled(b)
	case b.Status.DisruptionsAllowed < 0:
		return withCause(forbidden(b, "pdb disruptions allowed is negative"),
			"The disruption budget %s does not allow evicting pods currently: pdb disruptions allowed is negative", b.Name)
	case len(b.Status.DisruptedPods) > maxDisrupted:
		return withCause(forbidden(b, "DisruptedPods map too big - too many evictions not confirmed by PDB controller"),
			"The disruption budget %s does not allow evicting pods currently: too many pending evictions not confirmed by PDB controller", b.Name)
	case b.Status.DisruptionsAllowed == 0:
		return withCause(apierrors.NewTooManyRequests(exhausted, 0), "%s", whyNot(b))
	}
	return nil
}

const exhausted = "Cannot evict pod as it would violate the pod's disruption budget."

// unsettled asks the client to try again when the budget may say something else.
func unsettled(b *policyv1.PodDisruptionBudget) error {
	return withCause(apierrors.NewTooManyRequests(exhausted, 10), "The disruption budget %s is still being processed by the server.", b.Name)
}

func forbidden(b *policyv1.PodDisruptionBudget, text string) *apierrors.StatusError {
	of := policyv1.Resource("poddisruptionbudget")
	return apierrors.NewForbidden(of, b.Name, errors.New(text))
}

func withCause(err *apierrors.StatusError, format string, args ...any) error {
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: fmt.Sprintf(format, args...)})
	return err
}

// whyNot says why a budget has no disruption left. Its numbers count only if its controller could
// compute them.
func whyNot(b *policyv1.PodDisruptionBudget) string {
	told := meta.FindStatusCondition(b.Status.Conditions, policyv1.DisruptionAllowedCondition)
	if told != nil && (told.Status != metav1.ConditionFalse || told.Message == "") {
		told = nil
	}
	switch {
	case told != nil && told.Reason == policyv1.SyncFailedReason:
		return fmt.Sprintf("The disruption budget %s does not allow evicting pods currently because it failed sync: %s", b.Name, told.Message)
	case b.Status.CurrentHealthy <= b.Status.DesiredHealthy:
		return fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently", b.Name, b.Status.DesiredHealthy, b.Status.CurrentHealthy)
	case told != nil:
		return fmt.Sprintf("The disruption budget %s does not allow evicting pods currently (%s): %s", b.Name, told.Reason, told.Message)
	}
	return fmt.Sprintf("The disruption budget %s does not allow evicting pods currently", b.Name)
}

// spend takes one disruption from a budget and tells its controller about the pod.
func spend(b *policyv1.PodDisruptionBudget, pod string) {
	b.Status.DisruptionsAllowed--
	if b.Status.DisruptionsAllowed == 0 {
		meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{
			Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.InsufficientPodsReason, ObservedGeneration: b.Status.ObservedGeneration,
		})
	}
	if b.Status.DisruptedPods == nil {
		b.Status.DisruptedPods = map[string]metav1.Time{}
	}
	b.Status.DisruptedPods[pod] = metav1.NewTime(time.Now())
}
