package apiserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook"
	webhookerrors "k8s.io/apiserver/pkg/admission/plugin/webhook/errors"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/generic"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/object"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"
	webhookrequest "k8s.io/apiserver/pkg/admission/plugin/webhook/request"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/endpoints/request"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/apiserver/pkg/warning"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/with/envtest/internal/answer"
	kinds "github.com/kinform/kinform/with/kubernetes/admissionregistration"
	"github.com/kinform/kinform/with/kubernetes/openapi"
)

// webhooks calls the admission webhooks that are registered with the server.
type webhooks struct {
	clients *webhookutil.ClientManager

	// Set before the first request.
	store *fake.Server
	rules authorizer.UnconditionalAuthorizer
}

func newWebhooks() (*webhooks, error) {
	clients, err := webhookutil.NewClientManager(
		[]schema.GroupVersion{admissionv1beta1.SchemeGroupVersion, admissionv1.SchemeGroupVersion},
		admissionv1beta1.AddToScheme, admissionv1.AddToScheme)
	if err != nil {
		return nil, err
	}
	noCredentials, err := webhookutil.NewDefaultAuthenticationInfoResolver("")
	if err != nil {
		return nil, err
	}
	clients.SetAuthenticationInfoResolver(noCredentials)
	clients.SetServiceResolver(webhookutil.NewDefaultServiceResolver())
	return &webhooks{clients: &clients}, nil
}

// mutate calls the mutating webhooks in the order of their names. Its results are the same as ask's.
func (h *webhooks) mutate(ctx context.Context, a *fake.Admission) (again, seen []webhook.WebhookAccessor, err error) {
	configs, err := fake.List[*admissionregistrationv1.MutatingWebhookConfiguration](h.store, fake.Selection{ReadOnly: true})
	if err != nil || len(configs) == 0 {
		return nil, nil, err
	}
	var hooks []webhook.WebhookAccessor
	for _, c := range configs {
		for i := range c.Webhooks {
			hooks = append(hooks, webhook.NewMutatingWebhookAccessor(string(c.UID), c.Name, &c.Webhooks[i]))
		}
	}
	return h.ask(ctx, a, hooks)
}

// validate calls the validating webhooks in the order of their names.
func (h *webhooks) validate(ctx context.Context, a *fake.Admission) error {
	configs, err := fake.List[*admissionregistrationv1.ValidatingWebhookConfiguration](h.store, fake.Selection{ReadOnly: true})
	if err != nil || len(configs) == 0 {
		return err
	}
	var hooks []webhook.WebhookAccessor
	for _, c := range configs {
		for i := range c.Webhooks {
			hooks = append(hooks, webhook.NewValidatingWebhookAccessor(string(c.UID), c.Name, &c.Webhooks[i]))
		}
	}
	_, _, err = h.ask(ctx, a, hooks)
	return err
}

// ask calls the webhooks one after the other, until one refuses the write. It returns those with the
// reinvocationPolicy IfNeeded: again did not see the last change, and seen did.
func (h *webhooks) ask(ctx context.Context, a *fake.Admission, hooks []webhook.WebhookAccessor) (again, seen []webhook.WebhookAccessor, err error) {
	for _, hook := range hooks {
		ran, changed, err := (call{h, hook}).run(ctx, a)
		if err != nil {
			return nil, nil, err
		}
		if changed {
			again, seen = append(again, seen...), nil
		}
		mutating, ok := hook.GetMutatingWebhook()
		if ran && ok && mutating.ReinvocationPolicy != nil && *mutating.ReinvocationPolicy == admissionregistrationv1.IfNeededReinvocationPolicy {
			seen = append(seen, hook)
		}
	}
	return again, seen, nil
}

// call is a call of one webhook.
type call struct {
	*webhooks
	hook webhook.WebhookAccessor
}

// run calls the webhook if it is registered for the write. An error refuses the write.
func (c call) run(ctx context.Context, a *fake.Admission) (ran, changed bool, err error) {
	attr, err := attributes(ctx, a)
	if err != nil {
		return false, false, err
	}
	sent, err := c.matches(ctx, a, attr)
	if err != nil || sent == nil {
		return false, false, err
	}
	changed, err = c.send(ctx, a, sent, attr)
	var failed *webhookutil.ErrCallingWebhook
	if !errors.As(err, &failed) {
		return true, changed, err
	}
	if policy := c.hook.GetFailurePolicy(); policy != nil && *policy == admissionregistrationv1.Ignore {
		return true, false, nil
	}
	if failed.Status != nil && apierrors.IsBadRequest(failed.Status) {
		return true, false, failed.Status
	}
	return true, false, apierrors.NewInternalError(failed)
}

// attributes describes a write for the API server's own code.
func attributes(ctx context.Context, a *fake.Admission) (*admission.VersionedAttributes, error) {
	who, ok := request.UserFrom(ctx)
	if !ok {
		who = &user.DefaultInfo{Name: "kubernetes-admin", Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}}
	}
	var op admission.Operation
	var options runtime.Object
	var dryRun []string
	if a.DryRun {
		dryRun = []string{metav1.DryRunAll}
	}
	switch a.Verb {
	case faults.VerbCreate:
		op, options = admission.Create, &metav1.CreateOptions{TypeMeta: optionsType("CreateOptions"), DryRun: dryRun}
	case faults.VerbUpdate:
		op, options = admission.Update, &metav1.UpdateOptions{TypeMeta: optionsType("UpdateOptions"), DryRun: dryRun}
	default:
		op, options = admission.Delete, &metav1.DeleteOptions{TypeMeta: optionsType("DeleteOptions"), DryRun: dryRun}
	}
	now, err := stated(a.Object, a.Kind)
	if err != nil {
		return nil, err
	}
	old, err := stated(a.Old, a.Kind)
	if err != nil {
		return nil, err
	}
	namespace, name := a.Key.Namespace, a.Key.Name
	if a.Resource == corev1.SchemeGroupVersion.WithResource("namespaces") {
		namespace = name // as in the paths of namespaces
	}
	if info, ok := request.RequestInfoFrom(ctx); ok && info.Verb == "deletecollection" {
		name = "" // only the old object has it
	}
	attr := admission.NewAttributesRecord(now, old, a.Kind, namespace, name, a.Resource, a.Subresource, op, options, a.DryRun, who)
	out := &admission.VersionedAttributes{Attributes: attr}
	return out, show(out, a)
}

func optionsType(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: kind}
}

// stated returns obj with its kind, as a copy if it does not state it.
func stated(obj metav1.Object, kind schema.GroupVersionKind) (runtime.Object, error) {
	if obj == nil {
		return nil, nil
	}
	o, ok := obj.(runtime.Object)
	if !ok {
		return nil, fmt.Errorf("a %T is no runtime.Object", obj)
	}
	if o.GetObjectKind().GroupVersionKind() != kind {
		o = o.DeepCopyObject()
		o.GetObjectKind().SetGroupVersionKind(kind)
	}
	return o, nil
}

// matches returns the write in the version for which the webhook is registered, and makes attr show
// that; nil if it is not registered for the write.
func (c call) matches(ctx context.Context, a *fake.Admission, attr *admission.VersionedAttributes) (*fake.Admission, error) {
	if rules.IsExemptAdmissionConfigurationResource(attr) {
		return nil, nil
	}
	policy := c.hook.GetMatchPolicy()
	sent, err := versionNamed(a, policy == nil || *policy == admissionregistrationv1.Equivalent, func(of schema.GroupVersionResource) bool {
		return slices.ContainsFunc(c.hook.GetRules(), func(r admissionregistrationv1.RuleWithOperations) bool {
			return (&rules.Matcher{Rule: r, Attr: inVersion{attr, of}}).Matches()
		})
	})
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if sent == nil {
		return nil, nil
	}
	if ok, err := c.inNamespace(attr); err != nil || !ok {
		return nil, err
	}
	if ok, err := (&object.Matcher{}).MatchObjectSelector(c.hook, attr); err != nil || !ok {
		return nil, asError(err)
	}
	if err := show(attr, sent); err != nil || len(c.hook.GetMatchConditions()) == 0 {
		return sent, err
	}
	compiler := cel.NewConditionCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	result := c.hook.GetCompiledMatcher(compiler).Match(ctx, attr, nil, c.rules)
	switch {
	case result.Error != nil:
		return nil, apierrors.NewForbidden(attr.GetResource().GroupResource(), attr.GetName(), result.Error)
	case !result.Matches:
		return nil, nil
	}
	return sent, nil
}

// inVersion is a write as one of another version.
type inVersion struct {
	admission.Attributes
	resource schema.GroupVersionResource
}

// GetResource implements admission.Attributes.
func (v inVersion) GetResource() schema.GroupVersionResource { return v.resource }

// show makes attr show the objects of sent.
func show(attr *admission.VersionedAttributes, sent *fake.Admission) error {
	now, err := stated(sent.Object, sent.Kind)
	if err != nil {
		return err
	}
	old, err := stated(sent.Old, sent.Kind)
	if err != nil {
		return err
	}
	attr.VersionedKind = sent.Kind
	attr.VersionedObject.Set(now)
	attr.VersionedOldObject.Set(old)
	return nil
}

// asError avoids an error that holds a nil pointer.
func asError(err *apierrors.StatusError) error {
	if err == nil {
		return nil
	}
	return err
}

// inNamespace reports whether the labels of the write's namespace are among those that the webhook
// asks for. An object without a namespace always matches, unless it is a namespace itself.
func (c call) inNamespace(attr *admission.VersionedAttributes) (bool, error) {
	selector, err := c.hook.GetParsedNamespaceSelector()
	if err != nil {
		return false, apierrors.NewInternalError(err)
	}
	isNamespace := attr.GetKind().GroupKind() == corev1.SchemeGroupVersion.WithKind("Namespace").GroupKind()
	switch {
	case selector.Empty():
		return true, nil
	case isNamespace:
		state := attr.GetOldObject()
		if attr.GetSubresource() == "" && attr.GetOperation() != admission.Delete {
			state = attr.GetObject()
		}
		meta, ok := state.(metav1.Object)
		return ok && selector.Matches(labels.Set(meta.GetLabels())), nil
	case attr.GetNamespace() == "":
		return true, nil
	}
	ns, err := fake.Get[*corev1.Namespace](c.store, types.NamespacedName{Name: attr.GetNamespace()})
	if err != nil {
		return false, err
	}
	return selector.Matches(labels.Set(ns.Labels)), nil
}

// send asks the webhook about a in the form of sent, and changes the object as it says, if it does.
// A failure of the call is an ErrCallingWebhook.
func (c call) send(ctx context.Context, a, sent *fake.Admission, attr *admission.VersionedAttributes) (changed bool, err error) {
	failed := func(status *apierrors.StatusError, format string, args ...any) error {
		return &webhookutil.ErrCallingWebhook{WebhookName: c.hook.GetName(), Reason: fmt.Errorf(format, args...), Status: status}
	}
	effects := c.hook.GetSideEffects()
	if a.DryRun && (effects == nil || *effects != admissionregistrationv1.SideEffectClassNone && *effects != admissionregistrationv1.SideEffectClassNoneOnDryRun) {
		return false, webhookerrors.NewDryRunUnsupportedErr(c.hook.GetName())
	}
	uid, review, response, err := webhookrequest.CreateAdmissionObjects(attr, &generic.WebhookInvocation{
		Webhook: c.hook, Resource: sent.Resource, Subresource: sent.Subresource, Kind: sent.Kind,
	})
	if err != nil {
		return false, failed(apierrors.NewBadRequest("error creating admission objects"), "could not create admission objects: %w", err)
	}
	client, err := c.hook.GetRESTClient(c.clients)
	if err != nil {
		return false, failed(nil, "could not get REST client: %w", err)
	}
	limit := time.Duration(*c.hook.GetTimeoutSeconds()) * time.Second
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := client.Post().Body(review).Timeout(limit).Do(limited).Into(response); err != nil {
		return false, failed(nil, "failed to call webhook: %w", err)
	}
	_, mutating := c.hook.GetMutatingWebhook()
	result, err := webhookrequest.VerifyAdmissionResponse(uid, mutating, response)
	if err != nil {
		return false, failed(nil, "received invalid webhook response: %w", err)
	}
	for _, text := range result.Warnings {
		warning.AddWarning(ctx, "", text)
	}
	if changed, err = answer.Take(c.hook.GetName(), sent, answer.Answer{Allowed: result.Allowed, Result: result.Result, Patch: result.Patch}); err != nil || sent == a || !changed {
		return changed, err
	}
	if err := a.Take(sent.Object); err != nil {
		return false, apierrors.NewInternalError(err)
	}
	return changed, nil
}

// defaultConfigs lets the server complete the configurations of webhooks as the API server does.
func defaultConfigs(store *fake.Server) error {
	return errors.Join(
		fake.Define(store, fake.Definition[*admissionregistrationv1.MutatingWebhookConfiguration]{
			Kind:  kinds.MutatingWebhookConfigurations,
			Rules: openapi.Rules(kinds.MutatingWebhookConfigurations),
			Hooks: fake.Hooks[*admissionregistrationv1.MutatingWebhookConfiguration]{Default: func(c *admissionregistrationv1.MutatingWebhookConfiguration) {
				for i := range c.Webhooks {
					h := &c.Webhooks[i]
					setDefaults(&h.FailurePolicy, &h.MatchPolicy, &h.NamespaceSelector, &h.ObjectSelector, &h.TimeoutSeconds, h.Rules, h.ClientConfig)
					setDefault(&h.ReinvocationPolicy, admissionregistrationv1.NeverReinvocationPolicy)
				}
			}},
		}),
		fake.Define(store, fake.Definition[*admissionregistrationv1.ValidatingWebhookConfiguration]{
			Kind:  kinds.ValidatingWebhookConfigurations,
			Rules: openapi.Rules(kinds.ValidatingWebhookConfigurations),
			Hooks: fake.Hooks[*admissionregistrationv1.ValidatingWebhookConfiguration]{Default: func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
				for i := range c.Webhooks {
					h := &c.Webhooks[i]
					setDefaults(&h.FailurePolicy, &h.MatchPolicy, &h.NamespaceSelector, &h.ObjectSelector, &h.TimeoutSeconds, h.Rules, h.ClientConfig)
				}
			}},
		}),
	)
}

// setDefaults completes what both sorts of webhooks have.
func setDefaults(failure **admissionregistrationv1.FailurePolicyType, match **admissionregistrationv1.MatchPolicyType,
	namespaces, objects **metav1.LabelSelector, timeout **int32, rules []admissionregistrationv1.RuleWithOperations, to admissionregistrationv1.WebhookClientConfig,
) {
	setDefault(failure, admissionregistrationv1.Fail)
	setDefault(match, admissionregistrationv1.Equivalent)
	setDefault(namespaces, metav1.LabelSelector{})
	setDefault(objects, metav1.LabelSelector{})
	setDefault(timeout, 10)
	for i := range rules {
		setDefault(&rules[i].Scope, admissionregistrationv1.AllScopes)
	}
	if to.Service != nil {
		setDefault(&to.Service.Port, 443)
	}
}

func setDefault[V any](field **V, value V) {
	if *field == nil {
		*field = &value
	}
}
