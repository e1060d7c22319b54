package apiserver_test

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/envtest/apiserver"
)

// withUsers starts a server with roles and the users admin, who may do everything, and alice.
func withUsers(t *testing.T) server {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tokens.csv")
	if err := os.WriteFile(file, []byte("admin-token,admin,1,system:masters\nalice-token,alice,2,\"dev,ops\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return start(t, apiserver.Options{TokenFile: file, RBAC: true})
}

func (s server) whoami(t *testing.T, token string, headers ...string) authenticationv1.UserInfo {
	t.Helper()
	a := s.as(t, token, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", `{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`, headers...)
	var review authenticationv1.SelfSubjectReview
	if err := json.Unmarshal(a.body, &review); err != nil || a.code != 201 {
		t.Fatalf("whoami: %d %s", a.code, a.body)
	}
	return review.Status.UserInfo
}

func TestUsers(t *testing.T) {
	s := withUsers(t)
	if who := s.whoami(t, "alice-token"); who.Username != "alice" || !slices.Equal(who.Groups, []string{"dev", "ops", "system:authenticated"}) {
		t.Errorf("alice is %+v", who)
	}
	if a := s.as(t, "no-such-token", "GET", "/version", nil); a.code != 401 || a.status.Reason != metav1.StatusReasonUnauthorized {
		t.Errorf("an unknown token gets %d %s", a.code, a.body)
	}
	if a := s.as(t, "", "GET", "/healthz", nil); a.code != 200 || string(a.body) != "ok" {
		t.Errorf("the health check of nobody gets %d %s", a.code, a.body)
	}
	a := s.as(t, "", "GET", "/api/v1/pods", nil)
	if want := `pods is forbidden: User "system:anonymous" cannot list resource "pods" in API group "" at the cluster scope`; a.code != 403 || a.status.Message != want {
		t.Errorf("nobody gets %d %q, want %q", a.code, a.status.Message, want)
	}
	s.mustAs(t, "admin-token", "POST", "/api/v1/namespaces/default/serviceaccounts", `{"metadata":{"name":"robot"}}`)
	token := s.mustAs(t, "admin-token", "POST", "/api/v1/namespaces/default/serviceaccounts/robot/token", `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}}`)
	var request authenticationv1.TokenRequest
	if err := json.Unmarshal(token, &request); err != nil {
		t.Fatal(err)
	}
	if who := s.whoami(t, request.Status.Token); who.Username != "system:serviceaccount:default:robot" || !slices.Contains(who.Groups, "system:serviceaccounts:default") {
		t.Errorf("the service account is %+v", who)
	}
	if who := s.whoami(t, "admin-token", "Impersonate-User", "bob", "Impersonate-Group", "dev"); who.Username != "bob" || !slices.Contains(who.Groups, "dev") {
		t.Errorf("admin as bob is %+v", who)
	}
	if a := s.as(t, "alice-token", "GET", "/version", nil, "Impersonate-User", "admin"); a.code != 403 {
		t.Errorf("alice as admin gets %d", a.code)
	}
}

func (s server) mustAs(t *testing.T, token, method, path string, body any) []byte {
	t.Helper()
	a := s.as(t, token, method, path, body)
	if a.code/100 != 2 {
		t.Fatalf("%s %s: %d %s", method, path, a.code, a.body)
	}
	return a.body
}

func TestNoAnonymous(t *testing.T) {
	s := start(t, apiserver.Options{NoAnonymous: true})
	if a := s.as(t, "", "GET", "/version", nil); a.code != 401 {
		t.Errorf("%d %s", a.code, a.body)
	}
}

func TestBadFiles(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("a,b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, opts := range []apiserver.Options{
		{TokenFile: "/nonexistent/tokens"}, {TokenFile: empty}, {ClientCAFile: "/nonexistent/ca"}, {ClientCAFile: empty},
	} {
		file := opts.TokenFile + opts.ClientCAFile
		if _, err := apiserver.New(opts); err == nil || opts.TokenFile != empty && !strings.Contains(err.Error(), file) {
			t.Errorf("%+v: %v, want an error that names the file", opts, err)
		}
	}
}

// TestRoles grants alice rules one by one, and asks what they allow.
func TestRoles(t *testing.T) {
	rule := func(verbs, groups, resources string, names ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{Verbs: strings.Fields(verbs), APIGroups: strings.Split(groups, " "), Resources: strings.Fields(resources), ResourceNames: names}
	}
	subject := map[string]rbacv1.Subject{
		"user":  {Kind: "User", Name: "alice", APIGroup: rbacv1.GroupName},
		"group": {Kind: "Group", Name: "dev", APIGroup: rbacv1.GroupName},
		"other": {Kind: "User", Name: "bob", APIGroup: rbacv1.GroupName},
	}
	const pods, deployments = "/api/v1/namespaces/default/pods", "/apis/apps/v1/namespaces/default/deployments"
	for _, c := range []struct {
		name, who   string
		clusterwide bool
		rule        rbacv1.PolicyRule
		method      string
		path        string
		want        int
	}{
		{"verb", "user", false, rule("list", "", "pods"), "GET", pods, 200},
		{"other verb", "user", false, rule("get", "", "pods"), "GET", pods, 403},
		{"watch is not list", "user", false, rule("list", "", "pods"), "GET", pods + "?watch=true", 403},
		{"any verb", "user", false, rule("*", "", "pods"), "GET", pods, 200},
		{"group", "group", false, rule("list", "", "pods"), "GET", pods, 200},
		{"other user", "other", false, rule("list", "", "pods"), "GET", pods, 403},
		{"other namespace", "user", false, rule("list", "", "pods"), "GET", "/api/v1/namespaces/kube-system/pods", 403},
		{"clusterwide", "user", true, rule("list", "", "pods"), "GET", "/api/v1/namespaces/kube-system/pods", 200},
		{"all namespaces", "user", false, rule("list", "", "pods"), "GET", "/api/v1/pods", 403},
		{"all namespaces, clusterwide", "user", true, rule("list", "", "pods"), "GET", "/api/v1/pods", 200},
		{"API group", "user", false, rule("list", "apps", "deployments"), "GET", deployments, 200},
		{"other API group", "user", false, rule("list", "", "deployments"), "GET", deployments, 403},
		{"any API group", "user", false, rule("list", "*", "*"), "GET", deployments, 200},
		{"name", "user", false, rule("get", "", "pods", "a"), "GET", pods + "/a", 404},
		{"other name", "user", false, rule("get", "", "pods", "a"), "GET", pods + "/b", 403},
		{"subresource", "user", false, rule("get", "", "pods/status"), "GET", pods + "/a/status", 404},
		{"not the subresource", "user", false, rule("get", "", "pods"), "GET", pods + "/a/status", 403},
		{"subresource of all", "user", false, rule("get", "", "*/status"), "GET", pods + "/a/status", 404},
		{"path", "user", true, rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: []string{"/metrics"}}, "GET", "/metrics", 404},
		{"paths", "user", true, rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: []string{"/logs/*"}}, "GET", "/logs/a", 404},
		{"other path", "user", true, rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: []string{"/logs/*"}}, "GET", "/metrics", 403},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := withUsers(t)
			meta := metav1.ObjectMeta{Name: "r", Namespace: "default"}
			if c.clusterwide {
				meta.Namespace = ""
				must(t)(fake.Create(s.Fake(), &rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: []rbacv1.Subject{subject[c.who]}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "r"}}))
				must(t)(fake.Create(s.Fake(), &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{c.rule}}))
			} else {
				must(t)(fake.Create(s.Fake(), &rbacv1.RoleBinding{ObjectMeta: meta, Subjects: []rbacv1.Subject{subject[c.who]}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "r"}}))
				must(t)(fake.Create(s.Fake(), &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{c.rule}}))
			}
			if a := s.as(t, "alice-token", c.method, c.path, nil); a.code != c.want {
				t.Errorf("%s %s: %d %s, want %d", c.method, c.path, a.code, a.body, c.want)
			}
		})
	}
}

func must(t *testing.T) func(any, error) {
	return func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestReviews(t *testing.T) {
	s := withUsers(t)
	const path = "/apis/authorization.k8s.io/v1/"
	ask := func(token, path string, review any) authorizationv1.SubjectAccessReview {
		t.Helper()
		var out authorizationv1.SubjectAccessReview
		if err := json.Unmarshal(s.mustAs(t, token, "POST", path, review), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	list := &authorizationv1.ResourceAttributes{Namespace: "default", Verb: "list", Resource: "pods"}
	self := &authorizationv1.SelfSubjectAccessReview{TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SelfSubjectAccessReview"}, Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: list}}
	if !ask("admin-token", path+"selfsubjectaccessreviews", self).Status.Allowed || ask("alice-token", path+"selfsubjectaccessreviews", self).Status.Allowed {
		t.Error("admin may not list pods, or alice may")
	}
	other := &authorizationv1.SubjectAccessReview{TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SubjectAccessReview"}, Spec: authorizationv1.SubjectAccessReviewSpec{User: "x", Groups: []string{"system:masters"}, ResourceAttributes: list}}
	if !ask("admin-token", path+"subjectaccessreviews", other).Status.Allowed {
		t.Error("a master may not list pods")
	}
	if a := s.as(t, "alice-token", "POST", path+"subjectaccessreviews", other); a.code != 403 {
		t.Errorf("alice asks about others: %d", a.code)
	}
	for body, want := range map[string]int{`{`: 400, `{"apiVersion":"v1","kind":"Pod"}`: 400, `{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview"}`: 422} {
		if a := s.as(t, "admin-token", "POST", path+"selfsubjectaccessreviews", body); a.code != want {
			t.Errorf("%s: %d %s, want %d", body, a.code, a.body, want)
		}
	}
	if a := s.as(t, "admin-token", "GET", path+"selfsubjectaccessreviews", nil); a.code != 405 {
		t.Errorf("a list of reviews gets %d", a.code)
	}
	rules := s.mustAs(t, "alice-token", "POST", path+"selfsubjectrulesreviews", `{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectRulesReview","spec":{"namespace":"default"}}`)
	if !strings.Contains(string(rules), "selfsubjectaccessreviews") || strings.Contains(string(rules), `"pods"`) {
		t.Errorf("alice's rules: %s", rules)
	}
	for token, want := range map[string]bool{"alice-token": true, "other": false} {
		var out authenticationv1.TokenReview
		review := &authenticationv1.TokenReview{TypeMeta: metav1.TypeMeta{APIVersion: "authentication.k8s.io/v1", Kind: "TokenReview"}, Spec: authenticationv1.TokenReviewSpec{Token: token}}
		if err := json.Unmarshal(s.mustAs(t, "admin-token", "POST", "/apis/authentication.k8s.io/v1/tokenreviews", review), &out); err != nil {
			t.Fatal(err)
		}
		if out.Status.Authenticated != want {
			t.Errorf("token %s: %+v", token, out.Status)
		}
	}
}

// TestEverybodyMayDoEverything is the server without options.
func TestEverybodyMayDoEverything(t *testing.T) {
	s := start(t, apiserver.Options{})
	s.must(t, "POST", "/api/v1/namespaces", `{"metadata":{"name":"mine"}}`, nil)
	var out authorizationv1.SelfSubjectAccessReview
	s.must(t, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", `{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","spec":{"nonResourceAttributes":{"verb":"get","path":"/x"}}}`, &out)
	if !out.Status.Allowed {
		t.Errorf("%+v", out.Status)
	}
	r := httptest.NewRequest("POST", "/api/v1/namespaces/gone/configmaps", strings.NewReader(`{"metadata":{"name":"a"}}`))
	w := httptest.NewRecorder()
	if s.ServeHTTP(w, r); w.Code != 404 {
		t.Errorf("a create in a namespace that does not exist: %d %s", w.Code, w.Body)
	}
}

// TestReviewsOfOtherKinds: the path decides what a user may ask, so the body has to fit it.
func TestReviewsOfOtherKinds(t *testing.T) {
	s := withUsers(t)
	const authz, authn = "/apis/authorization.k8s.io/v1/", "/apis/authentication.k8s.io/v1/"
	const access = `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"bob","resourceAttributes":{"verb":"get","resource":"pods"}}}`
	const token = `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":"admin-token"}}`
	const local = `{"apiVersion":"authorization.k8s.io/v1","kind":"LocalSubjectAccessReview","spec":{"user":"bob","resourceAttributes":{"namespace":"default","verb":"get","resource":"pods"}}}`
	for _, c := range []struct {
		who, path, body string
		want            int
	}{
		{"alice", authz + "selfsubjectaccessreviews", access, 400},
		{"alice", authn + "selfsubjectreviews", token, 400},
		{"alice", authn + "selfsubjectreviews", access, 400},
		{"admin", authz + "subjectaccessreviews", access, 201},
		{"admin", authz + "subjectaccessreviews", `{"spec":{"user":"bob","resourceAttributes":{"verb":"get","resource":"pods"}}}`, 201},
		{"admin", authz + "subjectaccessreviews", `{"spec":{"resourceAttributes":{"verb":"get","resource":"pods"}}}`, 422},
		{"admin", authz + "subjectaccessreviews", `{"spec":{"user":"bob"}}`, 422},
		{"admin", authz + "subjectaccessreviews", ``, 400},
		{"admin", authz + "subjectaccessreviews", `null`, 422},
		{"admin", authz + "subjectaccessreviews", `[]`, 400},
		{"admin", authn + "tokenreviews", `{"spec":{"token":"admin-token"}}`, 201},
		{"admin", authz + "subjectaccessreviews/a", access, 404},
		{"admin", authz + "subjectaccessreviews/a/b", access, 404},
		{"admin", authz + "others", access, 404},
		{"admin", "/apis/authorization.k8s.io/v1beta1/subjectaccessreviews", access, 404},
		{"admin", authz + "localsubjectaccessreviews", local, 404},
		{"admin", authz + "namespaces/default/localsubjectaccessreviews", local, 201},
		{"admin", authz + "namespaces/default/subjectaccessreviews", access, 404},
	} {
		if a := s.as(t, c.who+"-token", "POST", c.path, c.body); a.code != c.want {
			t.Errorf("%s POST %s: %d %s, want %d", c.who, c.path, a.code, a.body, c.want)
		}
	}
}

// TestCreateByUpdate: an apply or an update that creates an object needs the right to create.
func TestCreateByUpdate(t *testing.T) {
	s := withUsers(t)
	grant := func(name string, verbs ...string) {
		t.Helper()
		meta := metav1.ObjectMeta{Name: name, Namespace: "default"}
		rule := rbacv1.PolicyRule{Verbs: verbs, APIGroups: []string{"*"}, Resources: []string{"configmaps", "leases"}}
		must(t)(fake.Create(s.Fake(), &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule}}))
		must(t)(fake.Create(s.Fake(), &rbacv1.RoleBinding{ObjectMeta: meta, Subjects: []rbacv1.Subject{{Kind: "User", Name: "alice"}}, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: name}}))
	}
	const maps, leases = "/api/v1/namespaces/default/configmaps/", "/apis/coordination.k8s.io/v1/namespaces/default/leases/"
	apply := func(name string) int {
		return s.as(t, "alice-token", "PATCH", maps+name+"?fieldManager=me", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"`+name+`"},"data":{"a":"b"}}`, "Content-Type", "application/apply-patch+yaml").code
	}
	put := func(name string) int {
		return s.as(t, "alice-token", "PUT", leases+name, `{"metadata":{"name":"`+name+`"}}`).code
	}
	grant("change", "patch", "update")
	if a, b := apply("x"), put("x"); a != 403 || b != 403 {
		t.Errorf("without create: apply %d, update %d", a, b)
	}
	grant("create", "create")
	if a, b := apply("x"), put("x"); a != 201 || b != 201 {
		t.Errorf("with create: apply %d, update %d", a, b)
	}
	if a := apply("x"); a != 200 {
		t.Errorf("apply again: %d", a)
	}
}

// TestTokenReviews: tokens are reviewed in the words of an API server 1.37.
func TestTokenReviews(t *testing.T) {
	s := withUsers(t)
	const path = "/api/v1/namespaces/default/serviceaccounts"
	s.mustAs(t, "admin-token", "POST", path, `{"metadata":{"name":"robot"}}`)
	s.mustAs(t, "admin-token", "POST", "/api/v1/namespaces/default/pods", `{"metadata":{"name":"p"},"spec":{"serviceAccountName":"robot"}}`)
	issue := func(spec string) string {
		t.Helper()
		var r authenticationv1.TokenRequest
		if err := json.Unmarshal(s.mustAs(t, "admin-token", "POST", path+"/robot/token", `{"spec":{`+spec+`}}`), &r); err != nil {
			t.Fatal(err)
		}
		return r.Status.Token
	}
	own, other := issue(""), issue(`"audiences":["x","y"],"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"p"}`)
	const unknown = "invalid bearer token"
	for _, c := range []struct {
		token     string
		asked     []string
		audiences []string
		err       string
	}{
		{own, nil, []string{"https://kubernetes.default.svc"}, ""},
		{own, []string{"x"}, nil, `[invalid bearer token, token audiences ["https://kubernetes.default.svc"] is invalid for the target audiences ["x"]]`},
		{other, []string{"y", "z"}, []string{"y"}, ""},
		{own + "A", nil, nil, "[invalid bearer token, go-jose/go-jose: error in cryptographic primitive]"},
		{"x", nil, nil, unknown}, {"a.b.c", nil, nil, unknown}, {"admin-token", []string{"x", "y"}, nil, unknown},
		{"admin-token", nil, []string{"https://kubernetes.default.svc"}, ""},
	} {
		review := &authenticationv1.TokenReview{TypeMeta: metav1.TypeMeta{APIVersion: "authentication.k8s.io/v1", Kind: "TokenReview"}, Spec: authenticationv1.TokenReviewSpec{Token: c.token, Audiences: c.asked}}
		var out authenticationv1.TokenReview
		if err := json.Unmarshal(s.mustAs(t, "admin-token", "POST", "/apis/authentication.k8s.io/v1/tokenreviews", review), &out); err != nil {
			t.Fatal(err)
		}
		st := out.Status
		if st.Error != c.err || st.Authenticated != (c.err == "") || !slices.Equal(st.Audiences, c.audiences) {
			t.Errorf("%s for %q: %+v, want %q", c.token, c.asked, st, c.err)
		}
		if groups := st.User.Groups; st.Authenticated && groups[len(groups)-1] != "system:authenticated" {
			t.Errorf("%s has the groups %q", c.token, groups)
		}
		if extra := st.User.Extra; len(c.asked) > 0 && st.Authenticated && (extra["authentication.kubernetes.io/pod-name"][0] != "p" || !strings.HasPrefix(extra["authentication.kubernetes.io/credential-id"][0], "JTI=")) {
			t.Errorf("%s has %v", c.token, extra)
		}
	}
	if a := s.as(t, other, "GET", "/version", nil); a.code != 401 {
		t.Errorf("a token for others gets %d", a.code)
	}
	s.mustAs(t, "admin-token", "DELETE", "/api/v1/namespaces/default/pods/p", `{"gracePeriodSeconds":0}`)
	s.mustAs(t, "admin-token", "DELETE", path+"/robot", nil)
	if a := s.as(t, own, "GET", "/version", nil); a.code != 401 {
		t.Errorf("the token of an account that is gone gets %d", a.code)
	}
}
