package apiserver

import (
	"context"
	"errors"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	"k8s.io/apiserver/pkg/admission/plugin/policy/matching"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/kinform/kinform/fake"
	kinds "github.com/kinform/kinform/with/kubernetes/admissionregistration"
	"github.com/kinform/kinform/with/kubernetes/openapi"
)

// policies checks writes by the ValidatingAdmissionPolicies that are bound, with the API server's
// own code.
type policies struct {
	store *fake.Server
	rules authorizer.UnconditionalAuthorizer

	compiled compiled[validating.Validator]
}

// compiled holds what is made of the expressions of policies, once for each generation of a policy.
type compiled[V any] struct {
	mu       sync.Mutex
	policies map[types.UID]compiledPolicy[V]
}

// compiledPolicy is one state of a policy.
type compiledPolicy[V any] struct {
	generation int64
	value      V
}

// of returns what compile makes of a policy.
func (c *compiled[V]) of(policy metav1.Object, compile func() V) V {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, ok := c.policies[policy.GetUID()]; ok && p.generation == policy.GetGeneration() {
		return p.value
	}
	if c.policies == nil {
		c.policies = map[types.UID]compiledPolicy[V]{}
	}
	v := compile()
	c.policies[policy.GetUID()] = compiledPolicy[V]{policy.GetGeneration(), v}
	return v
}

// validate asks the policies about a write, and returns the refusal of the first one that does not
// admit it.
func (p *policies) validate(ctx context.Context, a *fake.Admission) error {
	bindings, err := fake.List[*admissionregistrationv1.ValidatingAdmissionPolicyBinding](p.store, fake.Selection{ReadOnly: true})
	if err != nil || len(bindings) == 0 {
		return err
	}
	all, err := fake.List[*admissionregistrationv1.ValidatingAdmissionPolicy](p.store, fake.Selection{ReadOnly: true})
	if err != nil {
		return err
	}
	var hooks []validating.PolicyHook
	for _, policy := range all {
		hook := validating.PolicyHook{Policy: policy}
		for _, b := range bindings {
			if b.Spec.PolicyName == policy.Name {
				hook.Bindings = append(hook.Bindings, b)
			}
		}
		if len(hook.Bindings) == 0 {
			continue
		}
		if of := policy.Spec.ParamKind; of != nil {
			hook.ParamInformer, hook.ParamScope, hook.ConfigurationError = newParameters(p.store, of)
		}
		hook.Evaluator = p.compiled.of(policy, func() validating.Validator { return compile(policy) })
		hooks = append(hooks, hook)
	}
	if len(hooks) == 0 {
		return nil
	}
	attr, err := attributes(ctx, a)
	if err != nil {
		return err
	}
	if rules.IsExemptAdmissionConfigurationResource(attr) {
		return nil
	}
	if space := attr.GetNamespace(); space != "" && a.Resource != corev1.SchemeGroupVersion.WithResource("namespaces") {
		if _, err := fake.Get[*corev1.Namespace](p.store, types.NamespacedName{Name: space}); err != nil {
			return err
		}
	}
	matcher := generic.NewPolicyMatcher(matching.NewMatcher(namespaces{p.store}, nil))
	return validating.NewDispatcher(p.rules, matcher).Dispatch(ctx, attr.Attributes, versionsOf(a), hooks)
}

// compile returns the expressions of a policy.
func compile(policy *admissionregistrationv1.ValidatingAdmissionPolicy) validating.Validator {
	spec := policy.Spec
	compiler, err := cel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		return validating.NewValidator(nil, nil, nil, nil, spec.FailurePolicy, err)
	}
	hasParams := spec.ParamKind != nil
	withRights := cel.OptionalVariableDeclarations{HasParams: hasParams, HasAuthorizer: true}
	for _, v := range spec.Variables {
		compiler.CompileAndStoreVariable(&validating.Variable{Name: v.Name, Expression: v.Expression}, withRights, environment.StoredExpressions)
	}
	var checks, messages, conditions []cel.ExpressionAccessor
	for _, v := range spec.Validations {
		checks = append(checks, &validating.ValidationCondition{Expression: v.Expression, Message: v.Message, Reason: v.Reason})
		var message cel.ExpressionAccessor
		if v.MessageExpression != "" {
			message = &validating.MessageExpressionCondition{MessageExpression: v.MessageExpression}
		}
		messages = append(messages, message)
	}
	for i := range spec.MatchConditions {
		c := matchconditions.MatchCondition(spec.MatchConditions[i])
		conditions = append(conditions, &c)
	}
	condition := func(all []cel.ExpressionAccessor, declared cel.OptionalVariableDeclarations) cel.ConditionEvaluator {
		return compiler.CompileCondition(all, declared, environment.StoredExpressions)
	}
	var matcher matchconditions.Matcher
	if len(conditions) > 0 {
		matcher = matchconditions.NewMatcher(condition(conditions, withRights), spec.FailurePolicy, "policy", "validate", policy.Name)
	}
	// Nothing reads audit annotations.
	return validating.NewValidator(condition(checks, withRights), matcher, condition(nil, withRights), condition(messages, cel.OptionalVariableDeclarations{HasParams: hasParams}), spec.FailurePolicy, nil)
}

// defaultPolicies lets the server complete policies and bindings as the API server does.
func defaultPolicies(store *fake.Server) error {
	return errors.Join(
		fake.Define(store, fake.Definition[*admissionregistrationv1.ValidatingAdmissionPolicy]{
			Kind:  kinds.ValidatingAdmissionPolicies,
			Rules: openapi.Rules(kinds.ValidatingAdmissionPolicies),
			Hooks: fake.Hooks[*admissionregistrationv1.ValidatingAdmissionPolicy]{Default: func(p *admissionregistrationv1.ValidatingAdmissionPolicy) {
				setDefault(&p.Spec.FailurePolicy, admissionregistrationv1.Fail)
				defaultMatch(p.Spec.MatchConstraints)
			}},
		}),
		fake.Define(store, fake.Definition[*admissionregistrationv1.ValidatingAdmissionPolicyBinding]{
			Kind:  kinds.ValidatingAdmissionPolicyBindings,
			Rules: openapi.Rules(kinds.ValidatingAdmissionPolicyBindings),
			Hooks: fake.Hooks[*admissionregistrationv1.ValidatingAdmissionPolicyBinding]{
				Default:  func(b *admissionregistrationv1.ValidatingAdmissionPolicyBinding) { defaultMatch(b.Spec.MatchResources) },
				Validate: validateBinding,
			},
		}),
		fake.Define(store, fake.Definition[*admissionregistrationv1.MutatingAdmissionPolicy]{
			Kind:  kinds.MutatingAdmissionPolicies,
			Rules: openapi.Rules(kinds.MutatingAdmissionPolicies),
			Hooks: fake.Hooks[*admissionregistrationv1.MutatingAdmissionPolicy]{Default: func(p *admissionregistrationv1.MutatingAdmissionPolicy) {
				setDefault(&p.Spec.FailurePolicy, admissionregistrationv1.Fail)
				defaultMatch(p.Spec.MatchConstraints)
			}},
		}),
		fake.Define(store, fake.Definition[*admissionregistrationv1.MutatingAdmissionPolicyBinding]{
			Kind:  kinds.MutatingAdmissionPolicyBindings,
			Rules: openapi.Rules(kinds.MutatingAdmissionPolicyBindings),
			Hooks: fake.Hooks[*admissionregistrationv1.MutatingAdmissionPolicyBinding]{
				Default:  func(b *admissionregistrationv1.MutatingAdmissionPolicyBinding) { defaultMatch(b.Spec.MatchResources) },
				Validate: validateMutatingBinding,
			},
		}),
	)
}

func defaultMatch(m *admissionregistrationv1.MatchResources) {
	if m == nil {
		return
	}
	setDefault(&m.MatchPolicy, admissionregistrationv1.Equivalent)
	setDefault(&m.NamespaceSelector, metav1.LabelSelector{})
	setDefault(&m.ObjectSelector, metav1.LabelSelector{})
	for i := range m.ResourceRules {
		setDefault(&m.ResourceRules[i].Scope, admissionregistrationv1.AllScopes)
	}
	for i := range m.ExcludeResourceRules {
		setDefault(&m.ExcludeResourceRules[i].Scope, admissionregistrationv1.AllScopes)
	}
}

// namespaces is a lister of those in the server.
type namespaces struct{ store *fake.Server }

// List implements the interface of client-go.
func (n namespaces) List(selector labels.Selector) ([]*corev1.Namespace, error) {
	return fake.List[*corev1.Namespace](n.store, fake.Selection{LabelSelector: selector.String(), ReadOnly: true})
}

// Get implements the interface of client-go.
func (n namespaces) Get(name string) (*corev1.Namespace, error) {
	return fake.Get[*corev1.Namespace](n.store, types.NamespacedName{Name: name})
}
