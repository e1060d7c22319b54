package strategies

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	quota "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/kubernetes/pkg/quota/v1/evaluator/core"
	"k8s.io/kubernetes/pkg/quota/v1/install"

	"github.com/kinform/kinform/fake"
)

// quotas charge new objects to the ResourceQuotas of their namespace, by the API server's code. The
// admission plugin of that name does the same in its own goroutines.
type quotas struct {
	server     *fake.Server
	evaluators quota.Registry
}

func newQuotas(server *fake.Server) (*quotas, error) {
	// ResourceClaims, which have no strategy here, would need informers.
	evaluators, err := core.NewEvaluators(nil, nil, func(of schema.GroupVersionResource) bool { return of.Resource != "resourceclaims" })
	if err != nil {
		return nil, err
	}
	return &quotas{server, generic.NewRegistry(evaluators)}, nil
}

// charge refuses a write that a quota does not allow, and otherwise writes the usage into the
// quotas' status. Like the API server it does not take it back if the write fails after all; a
// controller does that.
func (q *quotas) charge(a admission.Attributes) error {
	if _, ignored := install.DefaultIgnoredResources()[a.GetResource().GroupResource()]; ignored || a.GetNamespace() == "" || a.GetKind().Kind == "Namespace" {
		return nil
	}
	evaluator := q.evaluators.Get(a.GetResource().GroupResource())
	if evaluator == nil {
		evaluator = generic.NewObjectCountEvaluator(a.GetResource().GroupResource(), nil, "")
	}
	for evaluator.Handles(a) {
		all, err := q.of(a.GetNamespace())
		if err != nil || len(all) == 0 {
			return err
		}
		before := make([]corev1.ResourceQuota, len(all))
		for i, x := range all {
			before[i] = *x
		}
		after, err := resourcequota.CheckRequest(before, a, evaluator, nil)
		if err != nil || a.IsDryRun() {
			return err
		}
		if err = q.update(all, after); !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) { // else another write was charged, or a quota is gone
			return err
		}
	}
	return nil
}

// of returns the quotas of a namespace.
func (q *quotas) of(namespace string) ([]*corev1.ResourceQuota, error) {
	if namespace == "" {
		return nil, nil
	}
	all, err := fake.List[*corev1.ResourceQuota](q.server, fake.Selection{Namespace: namespace})
	return all, ignoreAbsent(err)
}

// update writes the usage of the quotas that changed. Those before a conflict are charged twice, as
// by the API server.
func (q *quotas) update(before []*corev1.ResourceQuota, after []corev1.ResourceQuota) error {
	for i := range after {
		if equality.Semantic.DeepEqual(before[i].Status.Used, after[i].Status.Used) {
			continue
		}
		if _, err := fake.UpdateStatus(q.server, &after[i]); err != nil {
			return err
		}
	}
	return nil
}

// ignoreAbsent returns nil if quotas are not registered.
func ignoreAbsent(err error) error {
	if errors.Is(err, fake.ErrNotRegistered) {
		return nil
	}
	return err
}
