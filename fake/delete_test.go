package fake_test

//lint:file-ignore SA1019 OrphanDependents is still sent by clients

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
)

func podClient(t testing.TB, s *fake.Server) *client.Resource[*pod] {
	t.Helper()
	return clientOf(t, s, podKind, "")
}

func TestDeletePreconditions(t *testing.T) {
	s := newServer(t, fake.Options{})
	p := must(fake.Create(s, newPod("a", "p")))(t)
	c, uid, rv := podClient(t, s), types.UID("other"), "1"
	for _, d := range []struct {
		pre  metav1.Preconditions
		want string
	}{
		{metav1.Preconditions{UID: &uid}, `Operation cannot be fulfilled on Pod "p": the UID in the precondition (other) does not match the UID in record (` +
			string(p.UID) + `). The object might have been deleted and then recreated`},
		{metav1.Preconditions{ResourceVersion: &rv}, `Operation cannot be fulfilled on Pod "p": the ResourceVersion in the precondition (1) does not match ` +
			`the ResourceVersion in record (2). The object might have been modified`},
	} {
		st := wantStatus(t, c.Delete(t.Context(), key("a", "p"), metav1.DeleteOptions{Preconditions: &d.pre}), 409, metav1.StatusReasonConflict)
		if st.Message != d.want {
			t.Errorf("message %q\nwant    %q", st.Message, d.want)
		}
	}
	check(t, c.Delete(t.Context(), key("a", "p"), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &p.UID, ResourceVersion: &p.ResourceVersion}}))
	wantStatus(t, second(fake.Get[*pod](s, key("a", "p"))), 404, metav1.StatusReasonNotFound)
}

// TestDeletePreconditionAndPolicy: as by an API server, the version of an object cannot be a precondition of a
// deletion that takes the last finalizer away. A dry run does not notice.
func TestDeletePreconditionAndPolicy(t *testing.T) {
	s, c := appServer(t, fake.Options{})
	p := must(fake.Create(s, &app{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p", Finalizers: []string{metav1.FinalizerOrphanDependents}}}))(t)
	background := metav1.DeletePropagationBackground
	opts := metav1.DeleteOptions{PropagationPolicy: &background, Preconditions: &metav1.Preconditions{ResourceVersion: &p.ResourceVersion}}
	st := wantStatus(t, c.Delete(t.Context(), key("", "p"), opts), 409, metav1.StatusReasonConflict)
	if want := "Precondition failed: ResourceVersion in precondition: , ResourceVersion in object meta: " + p.ResourceVersion; !strings.HasSuffix(st.Message, want) {
		t.Errorf("%s, want %s", st.Message, want)
	}
	must(fake.Get[*app](s, key("a", "p")))(t)
	dry := opts
	dry.DryRun = []string{metav1.DryRunAll}
	check(t, c.Delete(t.Context(), key("", "p"), dry))
	opts.Preconditions = &metav1.Preconditions{UID: &p.UID}
	check(t, c.Delete(t.Context(), key("", "p"), opts))
	wantStatus(t, second(fake.Get[*app](s, key("a", "p"))), 404, metav1.StatusReasonNotFound)
}

// TestDryRunOfPolicies: a dry run of a deletion that only takes the finalizers of policies away is answered with an
// empty object of the kind, and any other one as the deletion itself.
func TestDryRunOfPolicies(t *testing.T) {
	s, _ := appServer(t, fake.Options{})
	check(t, fake.Register(s, kindOf("example.com", "Tool"), fake.Rules{}))
	const background, orphan, old = `"propagationPolicy":"Background"`, `"propagationPolicy":"Orphan"`, `"orphanDependents":false`
	for n, c := range []struct {
		had, options string
		code         int
		want         string // of the Tool; "" for a Status, "held" for its marked state
	}{
		{`[]`, background, 200, ""},
		{`[]`, orphan, 200, "held"},
		{`["orphan"]`, background, 200, "empty"},
		{`["orphan"]`, old, 200, "empty"},
		{`["orphan"]`, old + `,"gracePeriodSeconds":0`, 200, "empty"},
		{`["foregroundDeletion"]`, background, 200, "empty"},
		{`["foregroundDeletion"]`, old, 200, "empty"},
		{`["orphan"]`, orphan, 200, "held"},
		{`["orphan","example.com/x"]`, background, 200, "held"},
		{`["orphan","example.com/x"]`, old, 202, "held"},
	} {
		name := fmt.Sprintf("o%d", n)
		for path, head := range map[string]string{
			"/apis/example.com/v1/namespaces/a/tools": `"kind":"Tool","apiVersion":"example.com/v1"`,
			"/apis/apps/v1/namespaces/a/apps":         `"kind":"App","apiVersion":"apps/v1"`,
		} {
			object := fmt.Sprintf(`{%s,"metadata":{"name":%q,"finalizers":%s}}`, head, name, c.had)
			if code, body := request(t, s, "POST", path, jsonType, object); code != 201 {
				t.Fatalf("%d %s", code, body)
			}
			before := s.ResourceVersion()
			code, body := request(t, s, "DELETE", path+"/"+name, jsonType, `{"kind":"DeleteOptions","apiVersion":"v1","dryRun":["All"],`+c.options+`}`)
			var got struct {
				metav1.TypeMeta   `json:",inline"`
				metav1.ObjectMeta `json:"metadata"`
			}
			check(t, json.Unmarshal(body, &got))
			answer := "held"
			switch {
			case got.Kind == "Status":
				answer = ""
			case got.Name == "" && got.ResourceVersion == "" && got.Finalizers == nil:
				answer = "empty"
			case got.DeletionTimestamp == nil:
				answer = "not marked"
			}
			if code != c.code || answer != c.want || s.ResourceVersion() != before {
				t.Errorf("%s %s with %s: %d %s, want %d %q", path, c.had, c.options, code, body, c.code, c.want)
			}
		}
	}
}

// TestDryRunOfPods: the dry run of a deletion by which a pod would go at once says that it would be gone.
func TestDryRunOfPods(t *testing.T) {
	s := newServer(t, fake.Options{})
	must(fake.Create(s, newPod("a", "waits")))(t)
	code, body := request(t, s, "DELETE", "/api/v1/namespaces/a/pods/waits", jsonType, `{"dryRun":["All"],"orphanDependents":false}`)
	if code != 200 || !strings.Contains(string(body), `"deletionGracePeriodSeconds":0`) {
		t.Errorf("%d %s", code, body)
	}
}

func TestPropagation(t *testing.T) {
	yes, no := true, false
	policy := func(p metav1.DeletionPropagation) metav1.DeleteOptions {
		return metav1.DeleteOptions{PropagationPolicy: &p}
	}
	for name, c := range map[string]struct {
		had  []string
		opts metav1.DeleteOptions
		want []string // nil: it is gone
	}{
		"none":                     {nil, metav1.DeleteOptions{}, nil},
		"background":               {nil, policy(metav1.DeletePropagationBackground), nil},
		"foreground":               {nil, policy(metav1.DeletePropagationForeground), []string{"foregroundDeletion"}},
		"orphan":                   {nil, policy(metav1.DeletePropagationOrphan), []string{"orphan"}},
		"the old way to orphan":    {nil, metav1.DeleteOptions{OrphanDependents: &yes}, []string{"orphan"}},
		"the old way not to":       {[]string{"orphan"}, metav1.DeleteOptions{OrphanDependents: &no}, nil},
		"stands without a policy":  {[]string{"orphan"}, metav1.DeleteOptions{}, []string{"orphan"}},
		"another policy":           {[]string{"orphan", "a/b"}, policy(metav1.DeletePropagationForeground), []string{"a/b", "foregroundDeletion"}},
		"background over a policy": {[]string{"foregroundDeletion"}, policy(metav1.DeletePropagationBackground), nil},
		"beside others":            {[]string{"a/b"}, policy(metav1.DeletePropagationOrphan), []string{"a/b", "orphan"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, fake.Options{})
			p := newPod("a", "p")
			p.Finalizers = c.had
			must(fake.Create(s, p))(t)
			check(t, podClient(t, s).Delete(t.Context(), key("a", "p"), c.opts))
			got, err := fake.Get[*pod](s, key("a", "p"))
			if c.want == nil {
				wantStatus(t, err, 404, metav1.StatusReasonNotFound)
				return
			}
			check(t, err)
			if !slices.Equal(got.Finalizers, c.want) || got.DeletionTimestamp == nil || got.Generation != 2 {
				t.Errorf("left %+v", got.ObjectMeta)
			}
			// A later deletion may still change the policy; the rest is done once.
			check(t, podClient(t, s).Delete(t.Context(), key("a", "p"), c.opts))
			if again := must(fake.Get[*pod](s, key("a", "p")))(t); again.ResourceVersion != got.ResourceVersion {
				t.Errorf("a second deletion wrote %+v", again.ObjectMeta)
			}
		})
	}
}

func TestDryRun(t *testing.T) {
	s := newServer(t, fake.Options{})
	c, all := podClient(t, s), []string{metav1.DryRunAll}
	must(fake.Create(s, newPod("a", "p")))(t)
	held := newPod("a", "held")
	held.Finalizers = []string{"a/b"}
	must(fake.Create(s, held))(t)
	before, state := s.ResourceVersion(), must(fake.List[*pod](s, fake.Selection{}))(t)

	generated := &pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", GenerateName: "g-"}}
	dry := must(c.Create(t.Context(), generated, metav1.CreateOptions{DryRun: all}))(t)
	if again := must(c.Create(t.Context(), generated, metav1.CreateOptions{DryRun: all}))(t); again.Name != dry.Name || len(dry.Name) != 7 {
		t.Errorf("a dry run makes %s the name after %s", again.Name, dry.Name)
	}
	made := must(c.Create(t.Context(), newPod("a", "q"), metav1.CreateOptions{DryRun: all}))(t)
	if made.UID == "" || made.CreationTimestamp.IsZero() || made.ResourceVersion != "" || made.Kind != "Pod" {
		t.Errorf("create answered %+v", made)
	}
	wantStatus(t, second(c.Create(t.Context(), newPod("a", "p"), metav1.CreateOptions{DryRun: all})), 409, metav1.StatusReasonAlreadyExists)
	p := newPod("a", "p")
	p.Spec.Node = "n1"
	if got := must(c.Update(t.Context(), p, metav1.UpdateOptions{DryRun: all}))(t); got.Spec.Node != "n1" || got.Generation != 2 || got.ResourceVersion != "2" {
		t.Errorf("update answered %+v", got)
	}
	if got := must(c.Patch(t.Context(), key("a", "p"), types.MergePatchType, []byte(`{"spec":{"node":"n1"}}`), metav1.PatchOptions{DryRun: all}))(t); got.Spec.Node != "n1" {
		t.Errorf("patch answered %+v", got)
	}
	for _, name := range []string{"p", "held"} {
		check(t, c.Delete(t.Context(), key("a", name), metav1.DeleteOptions{DryRun: all}))
	}
	check(t, clientOf(t, s, podKind, "a").DeleteCollection(t.Context(), metav1.DeleteOptions{DryRun: all}, metav1.ListOptions{}))
	if code, body := request(t, s, "POST", "/api/v1/namespaces/a/pods?dryRun=All", jsonType, `{"metadata":{"name":"q"}}`); code != 201 {
		t.Errorf("%d %s", code, body)
	}
	if code, body := request(t, s, "DELETE", "/api/v1/namespaces/a/pods/p?dryRun=All", "", ""); code != 200 {
		t.Errorf("%d %s", code, body)
	}
	if code, body := request(t, s, "PATCH", "/api/v1/namespaces/a/pods/p?dryRun=All", mergeType, `{"spec":{"node":"n1"}}`); code != 200 {
		t.Errorf("%d %s", code, body)
	}
	if d := cmp.Diff(state, must(fake.List[*pod](s, fake.Selection{}))(t)); d != "" || s.ResourceVersion() != before {
		t.Errorf("dry runs were stored, now at %s:\n%s", s.ResourceVersion(), d)
	}
}

func TestInvalidOptions(t *testing.T) {
	s := newServer(t, fake.Options{})
	must(fake.Create(s, newPod("a", "p")))(t)
	c, bad, yes, policy := podClient(t, s), []string{"Some"}, true, metav1.DeletionPropagation("Later")
	for name, d := range map[string]struct {
		err  error
		want string
	}{
		"create": {second(c.Create(t.Context(), newPod("a", "q"), metav1.CreateOptions{DryRun: bad})), `CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Some"]: supported values: "All"`},
		"update": {second(c.Update(t.Context(), newPod("a", "p"), metav1.UpdateOptions{FieldValidation: "Much"})), `UpdateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "Much"`},
		"patch":  {second(c.Patch(t.Context(), key("a", "p"), types.MergePatchType, []byte("{}"), metav1.PatchOptions{Force: &yes})), `force: Forbidden: may not be specified for non-apply patch`},
		"apply":  {second(c.Patch(t.Context(), key("a", "p"), types.ApplyYAMLPatchType, []byte("{}"), metav1.PatchOptions{})), `fieldManager: Required value: is required for apply patch`},
		"delete": {c.Delete(t.Context(), key("a", "p"), metav1.DeleteOptions{PropagationPolicy: &policy}), `propagationPolicy: Unsupported value: "Later"`},
		"both":   {c.Delete(t.Context(), key("a", "p"), metav1.DeleteOptions{PropagationPolicy: &policy, OrphanDependents: &yes}), `orphanDependents and deletionPropagation cannot be both set`},
		"all":    {clientOf(t, s, podKind, "a").DeleteCollection(t.Context(), metav1.DeleteOptions{DryRun: bad}, metav1.ListOptions{}), `DeleteOptions.meta.k8s.io "" is invalid: dryRun`},
	} {
		if st := wantStatus(t, d.err, 422, metav1.StatusReasonInvalid); !strings.Contains(st.Message, d.want) {
			t.Errorf("%s: message %q, want %q in it", name, st.Message, d.want)
		}
	}
}

func TestDeleteCollection(t *testing.T) {
	s := newServer(t, fake.Options{})
	for _, ns := range []string{"a", "b"} {
		for _, app := range []string{"web", "db"} {
			p := newPod(ns, app)
			p.Labels = map[string]string{"app": app}
			must(fake.Create(s, p))(t)
		}
	}
	left := func() (out []string) {
		for _, p := range must(fake.List[*pod](s, fake.Selection{}))(t) {
			out = append(out, p.Namespace+"/"+p.Name)
		}
		return out
	}
	code, body := request(t, s, "DELETE", "/api/v1/namespaces/a/pods?labelSelector=app%3Dweb", "", "")
	var list struct {
		Kind  string `json:"kind"`
		Items []*pod `json:"items"`
	}
	check(t, json.Unmarshal(body, &list))
	if code != 200 || list.Kind != "PodList" || len(list.Items) != 1 || list.Items[0].Name != "web" {
		t.Errorf("answer %d %s", code, body)
	}
	if d := cmp.Diff([]string{"a/db", "b/db", "b/web"}, left()); d != "" {
		t.Error(d)
	}
	if code, _ := request(t, s, "DELETE", "/api/v1/pods", "", ""); code != 405 {
		t.Errorf("a collection of all namespaces was deleted: %d", code)
	}
	b := clientOf(t, s, podKind, "b")
	check(t, b.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "metadata.name=web"}))
	if d := cmp.Diff([]string{"a/db", "b/db"}, left()); d != "" {
		t.Error(d)
	}
	check(t, b.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	if d := cmp.Diff([]string{"a/db"}, left()); d != "" {
		t.Error(d)
	}
	wantStatus(t, b.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "a in"}), 400, metav1.StatusReasonBadRequest)
}
