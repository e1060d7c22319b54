package apiserver

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// A binding that the API server refuses would otherwise check nothing, unnoticed.

func validateBinding(b, _ *admissionregistrationv1.ValidatingAdmissionPolicyBinding) field.ErrorList {
	spec := field.NewPath("spec")
	errs := validateReferences(b.Spec.PolicyName, b.Spec.ParamRef, spec)
	return append(errs, validateActions(b.Spec.ValidationActions, spec.Child("validationActions"))...)
}

func validateMutatingBinding(b, _ *admissionregistrationv1.MutatingAdmissionPolicyBinding) field.ErrorList {
	return validateReferences(b.Spec.PolicyName, b.Spec.ParamRef, field.NewPath("spec"))
}

// validateReferences checks what a binding says about its policy and its parameters.
func validateReferences(policy string, params *admissionregistrationv1.ParamRef, spec *field.Path) (errs field.ErrorList) {
	if policy == "" {
		errs = append(errs, field.Required(spec.Child("policyName"), ""))
	}
	if params == nil {
		return errs
	}
	at := spec.Child("paramRef")
	switch {
	case params.Name == "" && params.Selector == nil:
		errs = append(errs, field.Required(at, "one of name or selector must be specified"))
	case params.Name != "" && params.Selector != nil:
		for _, name := range []string{"name", "selector"} {
			errs = append(errs, field.Forbidden(at.Child(name), "name and selector are mutually exclusive"))
		}
	}
	known := []admissionregistrationv1.ParameterNotFoundActionType{admissionregistrationv1.DenyAction, admissionregistrationv1.AllowAction}
	switch action := params.ParameterNotFoundAction; {
	case action == nil || *action == "":
		errs = append(errs, field.Required(at.Child("parameterNotFoundAction"), ""))
	case !slices.Contains(known, *action):
		errs = append(errs, field.NotSupported(at.Child("parameterNotFoundAction"), *action, known))
	}
	return errs
}

func validateActions(actions []admissionregistrationv1.ValidationAction, at *field.Path) (errs field.ErrorList) {
	if len(actions) == 0 {
		return field.ErrorList{field.Required(at, "")}
	}
	known := []admissionregistrationv1.ValidationAction{admissionregistrationv1.Audit, admissionregistrationv1.Deny, admissionregistrationv1.Warn}
	for i, a := range actions {
		if !slices.Contains(known, a) {
			errs = append(errs, field.NotSupported(at.Index(i), a, known))
		}
		if slices.Contains(actions[:i], a) {
			errs = append(errs, field.Duplicate(at.Index(i), a))
		}
	}
	if slices.Contains(actions, admissionregistrationv1.Deny) && slices.Contains(actions, admissionregistrationv1.Warn) {
		errs = append(errs, field.Invalid(at, actions,
			"must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)"))
	}
	return errs
}
