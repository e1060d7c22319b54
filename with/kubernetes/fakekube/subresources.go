package fakekube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/internal/storageerror"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/with/kubernetes/apps"
	"github.com/kinform/kinform/with/kubernetes/certificates"
	"github.com/kinform/kinform/with/kubernetes/core"
	"github.com/kinform/kinform/with/kubernetes/openapi"
)

// defineSubresources gives the kinds the subresources that they have other than status. validates says that
// strategies check what they make of an object.
func defineSubresources(s *fake.Server, validates bool) error {
	deployments := scaled[*appsv1.Deployment]{
		spec:     func(d *appsv1.Deployment) **int32 { return &d.Spec.Replicas },
		replicas: func(d *appsv1.Deployment) int32 { return d.Status.Replicas },
		selector: func(d *appsv1.Deployment) *metav1.LabelSelector { return d.Spec.Selector },
	}
	replicaSets := scaled[*appsv1.ReplicaSet]{
		spec:     func(d *appsv1.ReplicaSet) **int32 { return &d.Spec.Replicas },
		replicas: func(d *appsv1.ReplicaSet) int32 { return d.Status.Replicas },
		selector: func(d *appsv1.ReplicaSet) *metav1.LabelSelector { return d.Spec.Selector },
	}
	statefulSets := scaled[*appsv1.StatefulSet]{
		spec:     func(d *appsv1.StatefulSet) **int32 { return &d.Spec.Replicas },
		replicas: func(d *appsv1.StatefulSet) int32 { return d.Status.Replicas },
		selector: func(d *appsv1.StatefulSet) *metav1.LabelSelector { return d.Spec.Selector },
	}
	controllers := scaled[*corev1.ReplicationController]{
		spec:     func(d *corev1.ReplicationController) **int32 { return &d.Spec.Replicas },
		replicas: func(d *corev1.ReplicationController) int32 { return d.Status.Replicas },
		selector: func(d *corev1.ReplicationController) *metav1.LabelSelector {
			return metav1.SetAsLabelSelector(d.Spec.Selector)
		},
	}
	return errors.Join(
		define(s, apps.Deployments, "scale", deployments.view()),
		define(s, apps.ReplicaSets, "scale", replicaSets.view()),
		define(s, apps.StatefulSets, "scale", statefulSets.view()),
		define(s, core.ReplicationControllers, "scale", controllers.view()),
		fake.Define(s, fake.Definition[*corev1.Pod]{Kind: core.Pods, Rules: openapi.Rules(core.Pods), Hooks: fake.Hooks[*corev1.Pod]{Subresources: podSubresources(s, validates)}}),
		defineBindings(s),
		define(s, core.ServiceAccounts, "token", fake.Action(tokenRequest, issuer{s}.issue)),
		define(s, core.Namespaces, "finalize", fake.View(corev1.SchemeGroupVersion.WithKind("Namespace"), same[*corev1.Namespace], finalize).Only("update")),
		define(s, certificates.CertificateSigningRequests, "approval",
			fake.View(certificatesv1.SchemeGroupVersion.WithKind("CertificateSigningRequest"), same[*certificatesv1.CertificateSigningRequest], approve)),
	)
}

func define[T metav1.Object](s *fake.Server, k *kind.Kind[T], name string, hook fake.SubresourceHook[T]) error {
	hooks := fake.Hooks[T]{Subresources: map[string]fake.SubresourceHook[T]{name: hook}}
	return fake.Define(s, fake.Definition[T]{Kind: k, Rules: openapi.Rules(k), Hooks: hooks})
}

func same[T any](obj T) (T, error) { return obj, nil }

// scaled says where a kind has the fields of a Scale.
type scaled[T metav1.Object] struct {
	spec     func(T) **int32
	replicas func(T) int32
	selector func(T) *metav1.LabelSelector
}

func (s scaled[T]) view() fake.SubresourceHook[T] {
	return fake.View(autoscalingv1.SchemeGroupVersion.WithKind("Scale"), s.get, s.set)
}

func (s scaled[T]) get(obj T) (*autoscalingv1.Scale, error) {
	out := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{
		Name: obj.GetName(), Namespace: obj.GetNamespace(), UID: obj.GetUID(),
		ResourceVersion: obj.GetResourceVersion(), CreationTimestamp: obj.GetCreationTimestamp(),
	}}
	out.Spec.Replicas = 1 // the default
	if n := *s.spec(obj); n != nil {
		out.Spec.Replicas = *n
	}
	selector, err := metav1.LabelSelectorAsSelector(s.selector(obj))
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	out.Status = autoscalingv1.ScaleStatus{Replicas: s.replicas(obj), Selector: selector.String()}
	if selector.String() == labels.Nothing().String() {
		out.Status.Selector = ""
	}
	return out, nil
}

func (s scaled[T]) set(obj T, sent *autoscalingv1.Scale) error {
	if n := sent.Spec.Replicas; n < 0 {
		return invalid(autoscalingv1.SchemeGroupVersion.WithKind("Scale"), obj.GetName(), "spec.replicas", fmt.Sprintf("Invalid value: %d: must be greater than or equal to 0", n))
	}
	*s.spec(obj) = &sent.Spec.Replicas
	return nil
}

// invalid is the 422 for one field.
func invalid(k schema.GroupVersionKind, name, path, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid,
		Message: fmt.Sprintf("%s %q is invalid: %s: %s", k.GroupKind(), name, path, message),
		Details: &metav1.StatusDetails{Group: k.Group, Kind: k.Kind, Name: name, Causes: []metav1.StatusCause{{Type: metav1.CauseTypeFieldValueInvalid, Field: path, Message: message}}},
	}}
}

func podSubresources(s *fake.Server, validates bool) map[string]fake.SubresourceHook[*corev1.Pod] {
	pod := corev1.SchemeGroupVersion.WithKind("Pod")
	return map[string]fake.SubresourceHook[*corev1.Pod]{
		"binding": fake.Action(corev1.SchemeGroupVersion.WithKind("Binding"), func(_ context.Context, p *corev1.Pod, b *corev1.Binding, dryRun bool) (metav1.Object, error) {
			return nil, bind(s, b, dryRun)
		}).Checked(func(sent metav1.Object, name string, _ bool) error {
			if sent.GetName() != name {
				return apierrors.NewBadRequest("name in URL does not match name in Binding object")
			}
			return checkBinding(sent.(*corev1.Binding))
		}),
		"eviction": fake.Action(policyv1.SchemeGroupVersion.WithKind("Eviction"), func(_ context.Context, p *corev1.Pod, e *policyv1.Eviction, dryRun bool) (metav1.Object, error) {
			return nil, evict(s, p, e, dryRun)
		}).Checked(checkEviction),
		"ephemeralcontainers": fake.View(pod, same[*corev1.Pod], func(p, sent *corev1.Pod) error {
			p.Spec.EphemeralContainers = sent.Spec.EphemeralContainers
			return nil
		}),
		"log":    fake.Text(pod, podLog),
		"resize": fake.View(pod, same[*corev1.Pod], func(p, sent *corev1.Pod) error { return resize(p, sent, validates) }),
	}
}

// defineBindings serves the kind Binding, whose creation does the same as creating the subresource
// of a pod, but for the uid, which is no precondition.
func defineBindings(s *fake.Server) error {
	rules := openapi.Rules(core.Bindings)
	rules.Verbs = []string{"create"}
	return fake.Define(s, fake.Definition[*corev1.Binding]{Kind: core.Bindings, Rules: rules, Hooks: fake.Hooks[*corev1.Binding]{
		Act: func(_ context.Context, b *corev1.Binding, dryRun bool) error {
			if err := checkBinding(b); err != nil {
				return err
			}
			b.UID = ""
			return bind(s, b, dryRun)
		},
	}})
}

// bind assigns the pod of b's name to a node. The uid and the resourceVersion of b are preconditions.
func bind(s *fake.Server, b *corev1.Binding, dryRun bool) error {
	b = withTopology(s, b)
	return change(s, types.NamespacedName{Namespace: b.Namespace, Name: b.Name}, dryRun, func(p *corev1.Pod) error { return assign(p, b, dryRun) })
}

// checkBinding refuses a binding that does not name a pod, and a node by a name that one can have.
func checkBinding(b *corev1.Binding) error {
	var faults field.ErrorList
	if b.Target.Kind != "" && b.Target.Kind != "Node" {
		faults = append(faults, field.NotSupported(field.NewPath("target", "kind"), b.Target.Kind, []string{"Node", "<empty>"}))
	}
	switch at := field.NewPath("target", "name"); {
	case b.Target.Name == "":
		faults = append(faults, field.Required(at, ""))
	case len(faults) == 0:
		for _, text := range validation.NameIsDNSSubdomain(b.Target.Name, false) {
			faults = append(faults, field.Invalid(at, b.Target.Name, text))
		}
	}
	switch {
	case len(faults) > 0: // the API server reports these as its own failures
		return failure(faults.ToAggregate().Error())
	case b.Name == "":
		return apierrors.NewBadRequest("Name parameter required.")
	}
	return nil
}

// failure is an error that the API server reports as its own.
func failure(text string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: text}}
}

// change writes the newest state of an object as do changes it. A dry run writes nothing.
func change[T metav1.Object](s *fake.Server, key types.NamespacedName, dryRun bool, do func(T) error) error {
	if !dryRun {
		_, err := fake.Change(s, key, do)
		return err
	}
	obj, err := fake.Get[T](s, key)
	if err != nil {
		return err
	}
	return do(obj)
}

// withTopology adds to a binding the labels that an API server copies from the node, if it knows
// that, to the pod.
func withTopology(s *fake.Server, b *corev1.Binding) *corev1.Binding {
	node, err := fake.Get[*corev1.Node](s, types.NamespacedName{Name: b.Target.Name})
	if err != nil {
		return b
	}
	b = b.DeepCopy()
	for _, name := range []string{corev1.LabelTopologyZone, corev1.LabelTopologyRegion} {
		if value, ok := node.Labels[name]; ok {
			metav1.SetMetaDataLabel(&b.ObjectMeta, name, value)
		}
	}
	return b
}

// assign sets what a binding changes in a pod.
func assign(p *corev1.Pod, b *corev1.Binding, dryRun bool) error {
	if err := checkStored(p, b, dryRun); err != nil {
		return err
	}
	refuse := func(format string, args ...any) error {
		return apierrors.NewConflict(corev1.Resource("pods/binding"), p.Name, fmt.Errorf(format, args...))
	}
	switch {
	case p.DeletionTimestamp != nil:
		return refuse("pod %s is being deleted, cannot be assigned to a host", p.Name)
	case p.Spec.NodeName != "":
		return refuse("pod %s is already assigned to node %q", p.Name, p.Spec.NodeName)
	case len(p.Spec.SchedulingGates) > 0:
		return refuse("pod %s has non-empty .spec.schedulingGates", p.Name)
	}
	p.Spec.NodeName, p.Status.NominatedNodeName = b.Target.Name, ""
	p.Annotations, p.Labels = merged(p.Annotations, b.Annotations), merged(p.Labels, b.Labels)
	setCondition(&p.Status, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now())})
	return nil
}

// checkStored refuses a binding of a pod in another state, in the words of the API server's storage.
func checkStored(p *corev1.Pod, b *corev1.Binding, dryRun bool) error {
	var text string
	switch {
	case b.UID != "" && b.UID != p.UID:
		text = storageerror.Unmet("UID", string(b.UID), string(p.UID))
	case b.ResourceVersion != "" && b.ResourceVersion != p.ResourceVersion:
		text = storageerror.Unmet("ResourceVersion", b.ResourceVersion, p.ResourceVersion)
	default:
		return nil
	}
	key := "/pods/" + p.Namespace + "/" + p.Name
	return apierrors.NewConflict(corev1.Resource("pods"), p.Name, errors.New(storageerror.Invalid(key, dryRun, text)))
}

func merged(all, more map[string]string) map[string]string {
	if all == nil {
		return more
	}
	maps.Copy(all, more)
	return all
}

// checkEviction refuses an eviction whose name or options are wrong for any pod.
func checkEviction(sent metav1.Object, name string, dryRun bool) error {
	e := sent.(*policyv1.Eviction)
	if e.Name != name {
		return apierrors.NewBadRequest("name in URL does not match name in Eviction object")
	}
	opts := cmp.Or(e.DeleteOptions, &metav1.DeleteOptions{})
	if ignore := opts.IgnoreStoreReadErrorWithClusterBreakingPotential; ignore != nil && *ignore {
		at := field.NewPath("deleteOptions").Child("ignoreStoreReadErrorWithClusterBreakingPotential")
		return apierrors.NewInvalid(policyv1.SchemeGroupVersion.WithKind("Eviction").GroupKind(), e.Name,
			field.ErrorList{field.Invalid(at, true, "can not be set for pod eviction, try after removing the option")})
	}
	if all := []string{metav1.DryRunAll}; dryRun && len(opts.DryRun) > 0 && !slices.Equal(opts.DryRun, all) {
		return failure(fmt.Sprintf("Non-matching dry-run options in request and content: %v and %v", all, opts.DryRun))
	}
	return nil
}

// evict deletes a pod unless a PodDisruptionBudget with no disruption left selects it.
func evict(s *fake.Server, p *corev1.Pod, e *policyv1.Eviction, dryRun bool) error {
	opts := cmp.Or(e.DeleteOptions, &metav1.DeleteOptions{}).DeepCopy()
	if dryRun && len(opts.DryRun) == 0 {
		opts.DryRun = []string{metav1.DryRunAll}
	}
	spared, err := disrupt(s, p, len(opts.DryRun) > 0)
	if err != nil {
		return err
	}
	if spared == nil {
		return terminate(s, p, opts)
	}
	// The pod must be as the budget saw it, whatever version the client states.
	opts.Preconditions = cmp.Or(opts.Preconditions, &metav1.Preconditions{})
	stated := opts.Preconditions.ResourceVersion != nil
	opts.Preconditions.ResourceVersion = &p.ResourceVersion
	err = terminate(s, p, opts)
	if apierrors.IsConflict(err) && !stated {
		return unsettled(spared)
	}
	return err
}

// terminate deletes a pod with the condition that says why. Its grace period is the same as in any
// deletion. As in the API server, the options are checked last, when the budget has counted the
// eviction and the condition is written.
func terminate(s *fake.Server, p *corev1.Pod, opts *metav1.DeleteOptions) error {
	key := types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
	if len(opts.DryRun) > 0 {
		_, err := fake.Delete[*corev1.Pod](s, key, *opts)
		return err
	}
	now, err := fake.Change(s, key, func(p *corev1.Pod) error {
		if err := checkPreconditions(p, opts.Preconditions); err != nil {
			return err
		}
		setCondition(&p.Status, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
			Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting", LastTransitionTime: metav1.NewTime(time.Now()),
		})
		return nil
	})
	if err != nil {
		return err
	}
	if opts.Preconditions != nil && opts.Preconditions.ResourceVersion != nil {
		opts.Preconditions.ResourceVersion = &now.ResourceVersion
	}
	_, err = fake.Delete[*corev1.Pod](s, key, *opts)
	return err
}

// setCondition puts a condition into a status. The time of its last transition stays if there was
// none.
func setCondition(status *corev1.PodStatus, c corev1.PodCondition) {
	for i, old := range status.Conditions {
		if old.Type != c.Type {
			continue
		}
		if old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
		status.Conditions[i] = c
		return
	}
	status.Conditions = append(status.Conditions, c)
}

// checkPreconditions refuses an eviction of a pod in another state.
func checkPreconditions(p *corev1.Pod, pre *metav1.Preconditions) error {
	refuse := func(what, want, is, hint string) error {
		return apierrors.NewConflict(schema.GroupResource{Resource: "Pod"}, p.Name,
			fmt.Errorf("the %s in the precondition (%s) does not match the %s in record (%s). The object might have been %s", what, want, what, is, hint))
	}
	switch {
	case pre == nil:
	case pre.UID != nil && *pre.UID != "" && *pre.UID != p.UID:
		return refuse("UID", string(*pre.UID), string(p.UID), "deleted and then recreated")
	case pre.ResourceVersion != nil && *pre.ResourceVersion != "" && *pre.ResourceVersion != p.ResourceVersion:
		return refuse("ResourceVersion", *pre.ResourceVersion, p.ResourceVersion, "modified")
	}
	return nil
}

// resize changes the resources of containers, which must stay the same and in the same order. Strategies refuse other
// containers themselves, with other faults of theirs.
func resize(p, sent *corev1.Pod, validates bool) error {
	errs := slices.Concat(resizeContainers("containers", p.Spec.Containers, sent.Spec.Containers), resizeContainers("initContainers", p.Spec.InitContainers, sent.Spec.InitContainers))
	switch {
	case len(errs) > 0 && validates:
		p.Spec.Containers, p.Spec.InitContainers = sent.Spec.Containers, sent.Spec.InitContainers
	case len(errs) > 0:
		return apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, p.Name, errs)
	}
	p.Spec.Resources = sent.Spec.Resources
	return nil
}

func resizeContainers(name string, all, sent []corev1.Container) (errs field.ErrorList) {
	at := field.NewPath("spec", name)
	if len(all) != len(sent) {
		return field.ErrorList{field.Forbidden(at, name+" may not be added or removed on resize")}
	}
	for i := range all {
		if all[i].Name != sent[i].Name {
			errs = append(errs, field.Forbidden(at.Index(i).Child("name"), name+" may not be renamed or reordered on resize"))
		}
		all[i].Resources, all[i].ResizePolicy = sent[i].Resources, sent[i].ResizePolicy
	}
	return errs
}

func finalize(n, sent *corev1.Namespace) error {
	n.Spec.Finalizers = sent.Spec.Finalizers
	return nil
}

func approve(r, sent *certificatesv1.CertificateSigningRequest) error {
	r.Status.Conditions = sent.Status.Conditions
	return nil
}
