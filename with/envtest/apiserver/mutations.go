package apiserver

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	"k8s.io/apiserver/pkg/admission/plugin/policy/matching"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/kinform/kinform/fake"
)

// mutations changes writes by the MutatingAdmissionPolicies that are bound, with the API server's
// own code, and then by webhooks.
type mutations struct {
	webhooks *webhooks
	compiled compiled[mutating.PolicyEvaluator]

	// Set before the first request.
	store *fake.Server
	rules authorizer.UnconditionalAuthorizer
}

// mutate asks the policies about a write, and then the webhooks. Those that have not seen the last
// change and have the reinvocationPolicy IfNeeded are asked once more, in the same order.
func (m *mutations) mutate(ctx context.Context, a *fake.Admission) error {
	run, err := m.begin(ctx, a)
	if err != nil {
		return err
	}
	if _, err := run.dispatch(ctx); err != nil {
		return err
	}
	again, seen, err := m.webhooks.mutate(ctx, a)
	if err != nil {
		return err
	}
	run.repeat()
	changed, err := run.dispatch(ctx)
	if err != nil {
		return err
	}
	if changed {
		again = append(again, seen...)
	}
	_, _, err = m.webhooks.ask(ctx, a, again)
	return err
}

// mutation is the work of the policies on one write. Nil stands for no work.
type mutation struct {
	write      *fake.Admission
	attr       admission.Attributes // its reinvocation context is for both dispatches
	hooks      []mutating.PolicyHook
	dispatcher generic.Dispatcher[mutating.PolicyHook]
}

// begin returns the work on a write.
func (m *mutations) begin(ctx context.Context, a *fake.Admission) (*mutation, error) {
	if a.Object == nil {
		return nil, nil
	}
	hooks, err := m.hooks()
	if err != nil || len(hooks) == 0 {
		return nil, err
	}
	attr, err := attributes(ctx, a)
	if err != nil || rules.IsExemptAdmissionConfigurationResource(attr) {
		return nil, err
	}
	return &mutation{
		write: a, attr: attr.Attributes, hooks: hooks,
		dispatcher: mutating.NewDispatcher(m.rules, matching.NewMatcher(namespaces{m.store}, nil), schemas{write: a}),
	}, nil
}

// dispatch asks the policies, and reports whether they changed the object.
func (m *mutation) dispatch(ctx context.Context) (changed bool, err error) {
	if m == nil {
		return false, nil
	}
	before := m.attr.GetObject().DeepCopyObject()
	if err := m.dispatcher.Dispatch(ctx, m.attr, versionsOf(m.write), m.hooks); err != nil {
		return false, err
	}
	return !equality.Semantic.DeepEqual(before, m.attr.GetObject()), nil
}

// repeat makes the next dispatch one of only the policies that want to see later changes.
func (m *mutation) repeat() {
	if m != nil {
		m.attr.GetReinvocationContext().SetIsReinvoke()
	}
}

// hooks returns the policies that are bound.
func (m *mutations) hooks() (out []mutating.PolicyHook, err error) {
	bindings, err := fake.List[*admissionregistrationv1.MutatingAdmissionPolicyBinding](m.store, fake.Selection{ReadOnly: true})
	if err != nil || len(bindings) == 0 {
		return nil, err
	}
	all, err := fake.List[*admissionregistrationv1.MutatingAdmissionPolicy](m.store, fake.Selection{ReadOnly: true})
	for _, policy := range all {
		hook := mutating.PolicyHook{Policy: policy}
		for _, b := range bindings {
			if b.Spec.PolicyName == policy.Name {
				hook.Bindings = append(hook.Bindings, b)
			}
		}
		if len(hook.Bindings) == 0 {
			continue
		}
		if of := policy.Spec.ParamKind; of != nil {
			hook.ParamInformer, hook.ParamScope, hook.ConfigurationError = newParameters(m.store, of)
		}
		hook.Evaluator = m.compiled.of(policy, func() mutating.PolicyEvaluator { return compileMutations(policy) })
		if hook.Evaluator.Error != nil && hook.ConfigurationError == nil {
			hook.ConfigurationError = hook.Evaluator.Error
		}
		out = append(out, hook)
	}
	return out, err
}

// compileMutations returns the expressions of a policy.
func compileMutations(policy *admissionregistrationv1.MutatingAdmissionPolicy) (out mutating.PolicyEvaluator) {
	spec := policy.Spec
	compiler, err := cel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		return mutating.PolicyEvaluator{Error: err}
	}
	out.CompositedCompiler = compiler
	declared := cel.OptionalVariableDeclarations{HasParams: spec.ParamKind != nil, HasAuthorizer: true}
	for _, v := range spec.Variables {
		compiler.CompileAndStoreVariable(&validating.Variable{Name: v.Name, Expression: v.Expression}, declared, environment.StoredExpressions)
	}
	var conditions []cel.ExpressionAccessor
	for i := range spec.MatchConditions {
		c := matchconditions.MatchCondition(spec.MatchConditions[i])
		conditions = append(conditions, &c)
	}
	if len(conditions) > 0 {
		out.Matcher = matchconditions.NewMatcher(compiler.CompileCondition(conditions, declared, environment.StoredExpressions), spec.FailurePolicy, "policy", "mutate", policy.Name)
	}
	declared.HasPatchTypes = true
	for _, m := range spec.Mutations {
		switch {
		case m.PatchType == admissionregistrationv1.PatchTypeJSONPatch && m.JSONPatch != nil:
			e := &patch.JSONPatchCondition{Expression: m.JSONPatch.Expression}
			out.Mutators = append(out.Mutators, patch.NewJSONPatcher(compiler.CompileMutatingEvaluator(e, declared, environment.StoredExpressions)))
		case m.PatchType == admissionregistrationv1.PatchTypeApplyConfiguration && m.ApplyConfiguration != nil:
			e := &patch.ApplyConfigurationCondition{Expression: m.ApplyConfiguration.Expression}
			out.Mutators = append(out.Mutators, patch.NewApplyConfigurationPatcher(compiler.CompileMutatingEvaluator(e, declared, environment.StoredExpressions)))
		}
	}
	return out
}

// schemas say how apply configurations are merged into the object of a write.
type schemas struct {
	patch.TypeConverterManager
	write *fake.Admission
}

// GetTypeConverter implements patch.TypeConverterManager. A kind without a schema, such as a
// subresource's, is merged by its form.
func (s schemas) GetTypeConverter(kind schema.GroupVersionKind) managedfields.TypeConverter {
	if a, err := in(s.write, kind); err == nil {
		if types := a.TypeConverter(); types != nil {
			return types
		}
	}
	return managedfields.NewDeducedTypeConverter()
}
