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
		"parameters":       {`"paramKind":{"apiVersion":"v1","kind":"ConfigMap"},` + small, bind(`,"paramRef":{"name":"x","parameterNotFoundAction":"Deny"}`), `{"metadata":{"name":"a"}}`, 422, "no parameters of policies"},
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
