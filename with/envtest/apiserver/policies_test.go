package apiserver_test

import (
	"strings"
	"testing"

	"github.com/kinform/kinform/with/envtest/apiserver"
)

func TestPolicies(t *testing.T) {
	const (
		paths = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"
		base  = `"matchConstraints":{"resourceRules":[{"operations":["CREATE","UPDATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]}`
	)
	bind := func(more string) string {
		return `{"metadata":{"name":"b"},"spec":{"policyName":"p","validationActions":["Deny"]` + more + `}}`
	}
	small := `"variables":[{"name":"n","expression":"size(object.data)"}],"validations":[{"expression":"variables.n < 2","message":"too many"}]`
	for name, c := range map[string]struct {
		policy, binding string
		sent            string
		code            int
		message         string
	}{
		"admits":           {small, bind(""), `{"metadata":{"name":"a"},"data":{"a":"b"}}`, 201, ""},
		"refuses":          {small, bind(""), `{"metadata":{"name":"a"},"data":{"a":"b","c":"d"}}`, 422, `configmaps "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: too many`},
		"reason":           {`"validations":[{"expression":"false","messageExpression":"'no ' + object.metadata.name","reason":"Forbidden"}]`, bind(""), `{"metadata":{"name":"a"}}`, 403, "denied request: no a"},
		"condition":        {small + `,"matchConditions":[{"name":"c","expression":"object.metadata.name == 'b'"}]`, bind(""), `{"metadata":{"name":"a"},"data":{"a":"b","c":"d"}}`, 201, ""},
		"other namespace":  {small, bind(`,"matchResources":{"namespaceSelector":{"matchLabels":{"a":"b"}}}`), `{"metadata":{"name":"a"},"data":{"a":"b","c":"d"}}`, 201, ""},
		"not bound":        {small, `{"metadata":{"name":"b"},"spec":{"policyName":"q","validationActions":["Deny"]}}`, `{"metadata":{"name":"a"},"data":{"a":"b","c":"d"}}`, 201, ""},
		"fails":            {`"validations":[{"expression":"object.data.none == 'a'"}]`, bind(""), `{"metadata":{"name":"a"}}`, 422, "no such key: data"},
		"fails, ignored":   {`"failurePolicy":"Ignore","validations":[{"expression":"object.data.none == 'a'"}]`, bind(""), `{"metadata":{"name":"a"}}`, 201, ""},
		"does not compile": {`"validations":[{"expression":"object.("}]`, bind(""), `{"metadata":{"name":"a"}}`, 422, "compilation error"},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, apiserver.Options{})
			s.must(t, "POST", paths+"ies", `{"metadata":{"name":"p"},"spec":{`+base+`,`+c.policy+`}}`, nil)
			s.must(t, "POST", paths+"ybindings", c.binding, nil)
			got := s.as(t, "", "POST", configMaps, c.sent)
			if got.code != c.code || !strings.Contains(got.status.Message, c.message) {
				t.Errorf("%d %s, want %d %s", got.code, got.body, c.code, c.message)
			}
		})
	}
	s := start(t, apiserver.Options{})
	s.must(t, "POST", paths+"ies", `{"metadata":{"name":"p"},"spec":{`+base+`,`+small+`}}`, nil)
	s.must(t, "POST", paths+"ybindings", bind(""), nil)
	s.must(t, "PUT", paths+"ies/p", strings.Replace(string(s.as(t, "", "GET", paths+"ies/p", nil).body), `\u003c 2`, `\u003c 3`, 1), nil)
	if got := s.as(t, "", "POST", configMaps, `{"metadata":{"name":"a"},"data":{"a":"b","c":"d"}}`); got.code != 201 {
		t.Errorf("after the policy has changed: %d %s", got.code, got.body)
	}
}

// TestParameters: a policy refuses secrets that have the name of one of its parameters.
func TestParameters(t *testing.T) {
	const paths = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"
	const denied = `secrets "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: `
	for name, c := range map[string]struct {
		kind, ref string
		code      int
		message   string
	}{
		"by name":           {"ConfigMap", `"name":"x","parameterNotFoundAction":"Deny"`, 422, denied + "a is taken by x"},
		"by another name":   {"ConfigMap", `"name":"y","parameterNotFoundAction":"Deny"`, 201, ""},
		"absent":            {"ConfigMap", `"name":"none","parameterNotFoundAction":"Deny"`, 422, denied + "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"},
		"absent, allowed":   {"ConfigMap", `"name":"none","parameterNotFoundAction":"Allow"`, 201, ""},
		"by labels":         {"ConfigMap", `"selector":{"matchLabels":{"of":"p"}},"parameterNotFoundAction":"Deny"`, 422, denied + "a is taken by x"},
		"by other labels":   {"ConfigMap", `"selector":{"matchLabels":{"of":"q"}},"parameterNotFoundAction":"Deny"`, 422, "no params found"},
		"all":               {"ConfigMap", `"selector":{},"parameterNotFoundAction":"Deny"`, 422, denied + "a is taken by x"},
		"other namespace":   {"ConfigMap", `"name":"x","namespace":"kube-system","parameterNotFoundAction":"Deny"`, 422, "no params found"},
		"cluster":           {"Namespace", `"name":"default","parameterNotFoundAction":"Deny"`, 422, "no such key: data"},
		"namespace of none": {"Namespace", `"name":"default","namespace":"default","parameterNotFoundAction":"Deny"`, 422, "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"},
		"unknown kind":      {"Nothing", `"name":"x","parameterNotFoundAction":"Deny"`, 422, "failed to find resource referenced by paramKind: '/v1, Kind=Nothing'"},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, apiserver.Options{})
			s.must(t, "POST", configMaps, `{"metadata":{"name":"x","labels":{"of":"p"}},"data":{"name":"a"}}`, nil)
			s.must(t, "POST", configMaps, `{"metadata":{"name":"y"},"data":{"name":"b"}}`, nil)
			s.must(t, "POST", paths+"ies", `{"metadata":{"name":"p"},"spec":{"paramKind":{"apiVersion":"v1","kind":"`+c.kind+`"},
				"matchConstraints":{"resourceRules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["secrets"]}]},
				"validations":[{"expression":"object.metadata.name != params.data.name","messageExpression":"params.data.name + ' is taken by ' + params.metadata.name"}]}}`, nil)
			s.must(t, "POST", paths+"ybindings", `{"metadata":{"name":"b"},"spec":{"policyName":"p","validationActions":["Deny"],"paramRef":{`+c.ref+`}}}`, nil)
			got := s.as(t, "", "POST", "/api/v1/namespaces/default/secrets", `{"metadata":{"name":"a"}}`)
			if got.code != c.code || !strings.Contains(got.status.Message, c.message) {
				t.Errorf("%d %s, want %d %s", got.code, got.body, c.code, c.message)
			}
		})
	}
}

// TestBindings: a binding that would check nothing is refused in the words of an API server 1.37.
func TestBindings(t *testing.T) {
	const paths = "/apis/admissionregistration.k8s.io/v1/"
	s := start(t, apiserver.Options{})
	for _, c := range []struct{ spec, message string }{
		{`"policyName":"p","validationActions":["Deny"],"paramRef":{"name":"x"}`, `spec.paramRef.parameterNotFoundAction: Required value`},
		{`"policyName":"p","validationActions":["Deny"],"paramRef":{}`, `[spec.paramRef: Required value: one of name or selector must be specified, spec.paramRef.parameterNotFoundAction: Required value]`},
		{`"policyName":"p","validationActions":["Deny"],"paramRef":{"name":"x","selector":{},"parameterNotFoundAction":"Odd"}`,
			`[spec.paramRef.name: Forbidden: name and selector are mutually exclusive, spec.paramRef.selector: Forbidden: name and selector are mutually exclusive, spec.paramRef.parameterNotFoundAction: Unsupported value: "Odd": supported values: "Deny", "Allow"]`},
		{``, `[spec.policyName: Required value, spec.validationActions: Required value]`},
		{`"policyName":"p","validationActions":["Deny","Warn","X","X"]`,
			`[spec.validationActions[2]: Unsupported value: "X": supported values: "Audit", "Deny", "Warn", spec.validationActions[3]: Unsupported value: "X": supported values: "Audit", "Deny", "Warn", spec.validationActions[3]: Duplicate value: "X", spec.validationActions: Invalid value: ["Deny","Warn","X","X"]: must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)]`},
	} {
		got := s.as(t, "", "POST", paths+"validatingadmissionpolicybindings", `{"metadata":{"name":"b"},"spec":{`+c.spec+`}}`)
		if want := `ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io "b" is invalid: ` + c.message; got.code != 422 || got.status.Message != want {
			t.Errorf("%d %s, want %s", got.code, got.status.Message, want)
		}
	}
	got := s.as(t, "", "POST", paths+"mutatingadmissionpolicybindings", `{"metadata":{"name":"b"},"spec":{"policyName":"p","paramRef":{"name":"x"}}}`)
	if want := `MutatingAdmissionPolicyBinding.admissionregistration.k8s.io "b" is invalid: spec.paramRef.parameterNotFoundAction: Required value`; got.code != 422 || got.status.Message != want {
		t.Errorf("%d %s, want %s", got.code, got.status.Message, want)
	}
}
