package fake_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
)

var (
	podKind     = kind.Of[*pod](v1, "pods").WithSubresources("status")
	jobKind     = kind.Of[*unstructured.Unstructured](exampleV1, "jobs").Named("Job").WithSubresources("status")
	gadgetsName = schema.GroupResource{Group: "example.com", Resource: "gadgets"}
)

// gadgets is a version of a resource without a Go type.
func gadgets(version string) fake.Definition[*unstructured.Unstructured] {
	return fake.Definition[*unstructured.Unstructured]{
		Kind: kind.Of[*unstructured.Unstructured](schema.GroupVersion{Group: "example.com", Version: version}, "gadgets").Named("Gadget").WithSubresources("status"),
	}
}

func gadget(version, name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/" + version, "kind": "Gadget", "metadata": map[string]any{"name": name, "namespace": "a"}, "spec": spec,
	}}
}

// TestHooks: defaults and checks apply to every kind of write, by both surfaces, with the words of
// a 422.
func TestHooks(t *testing.T) {
	s := fake.New(fake.Options{})
	stored := 0
	check(t, fake.Define(s, fake.Definition[*pod]{Kind: podKind, Hooks: fake.Hooks[*pod]{
		Default: func(p *pod) {
			if p.Spec.Node == "" {
				p.Spec.Node = "any"
			}
		},
		Validate: func(p, old *pod) field.ErrorList {
			at := field.NewPath("spec", "node")
			switch {
			case p.Spec.Node == "bad":
				return field.ErrorList{field.Invalid(at, p.Spec.Node, "no such node")}
			case old != nil && old.Spec.Node != p.Spec.Node:
				return field.ErrorList{field.Forbidden(at, "is immutable")}
			}
			return nil
		},
		ValidateStatus: func(p, _ *pod) field.ErrorList {
			if p.Status.Phase == "" {
				return field.ErrorList{field.Required(field.NewPath("status", "phase"), "")}
			}
			return nil
		},
		Stored: func() { stored++ },
	}}))
	p := must(fake.Create(s, newPod("a", "x")))(t)
	if p.Spec.Node != "any" || stored != 1 {
		t.Errorf("node %q, stored %d times", p.Spec.Node, stored)
	}
	bad := newPod("a", "y")
	bad.Spec.Node = "bad"
	_, err := fake.Create(s, bad)
	st := wantStatus(t, err, 422, metav1.StatusReasonInvalid)
	if st.Message != `Pod "y" is invalid: spec.node: Invalid value: "bad": no such node` || len(st.Details.Causes) != 1 || st.Details.Causes[0].Field != "spec.node" {
		t.Errorf("%+v", st)
	}
	// A PUT without the field gets the default, and so stays as it is.
	if code, body, _ := call(t, s, "PUT", "/api/v1/namespaces/a/pods/x", `{"metadata":{"name":"x"}}`); code != 200 || !strings.Contains(body, `"node":"any"`) {
		t.Errorf("PUT: %d %s", code, body)
	}
	for contentType, patch := range map[string]string{
		"application/merge-patch+json": `{"spec":{"node":"other"}}`,
		"application/json-patch+json":  `[{"op":"replace","path":"/spec/node","value":"other"}]`,
		"application/apply-patch+yaml": `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"node":"other"}}`,
	} {
		code, body, _ := call(t, s, "PATCH", "/api/v1/namespaces/a/pods/x?fieldManager=m&force=true", patch, "Content-Type", contentType)
		if contentType == "application/merge-patch+json" {
			code, body, _ = call(t, s, "PATCH", "/api/v1/namespaces/a/pods/x", patch, "Content-Type", contentType)
		}
		if contentType == "application/json-patch+json" {
			code, body, _ = call(t, s, "PATCH", "/api/v1/namespaces/a/pods/x", patch, "Content-Type", contentType)
		}
		if code != 422 || !strings.Contains(body, "spec.node: Forbidden: is immutable") {
			t.Errorf("%s: %d %s", contentType, code, body)
		}
	}
	_, err = fake.UpdateStatus(s, p)
	wantStatus(t, err, 422, metav1.StatusReasonInvalid)
	if stored != 1 {
		t.Errorf("%d writes stored, want 1: refusals and writes that change nothing are none", stored)
	}
	p.Status.Phase = "Running"
	must(fake.UpdateStatus(s, p))(t)
	must(fake.Delete[*pod](s, key("a", "x")))(t)
	if stored < 3 {
		t.Errorf("%d writes stored, want 3", stored)
	}
}

// TestPrune: what a kind cannot hold goes, and is an unknown field of a strict request.
func TestPrune(t *testing.T) {
	s := fake.New(fake.Options{})
	d := gadgets("v1")
	d.Hooks.Prune = func(u *unstructured.Unstructured) ([]string, error) {
		spec, ok := u.Object["spec"].(map[string]any)
		if !ok {
			return nil, errors.New("no spec")
		}
		if _, has := spec["wrong"]; !has {
			return nil, nil
		}
		delete(spec, "wrong")
		return []string{"spec.wrong"}, nil
	}
	check(t, fake.Define(s, d))
	const path, body = "/apis/example.com/v1/namespaces/a/gadgets", `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"g"},"spec":{"n":1,"wrong":2}}`
	code, answer, _ := call(t, s, "POST", path+"?fieldValidation=Strict", body)
	if code != 400 || !strings.Contains(answer, `strict decoding error: unknown field \"spec.wrong\"`) {
		t.Errorf("strict: %d %s", code, answer)
	}
	if code, answer, _ = call(t, s, "POST", path, body); code != 201 || strings.Contains(answer, "wrong") {
		t.Errorf("%d %s", code, answer)
	}
	patch := []string{"PATCH", path + "/g?fieldValidation=Strict", `{"spec":{"wrong":2}}`}
	if code, answer, _ = call(t, s, patch[0], patch[1], patch[2], "Content-Type", "application/merge-patch+json"); code != 422 || !strings.Contains(answer, "spec.wrong") {
		t.Errorf("strict patch: %d %s", code, answer)
	}
	if code, answer, _ = call(t, s, "PUT", path+"/g", `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"g","resourceVersion":"2"}}`); code != 400 || !strings.Contains(answer, "no spec") {
		t.Errorf("error: %d %s", code, answer)
	}
}

// TestRedefine: another definition ends watches, applies to the objects that are there, and to the
// sources that are.
func TestRedefine(t *testing.T) {
	s := fake.New(fake.Options{})
	check(t, fake.Register(s, podKind, fake.Rules{}))
	source := must(fake.NewSource[*pod](s, fake.Selection{}))(t)
	created := must(fake.Create(s, newPod("a", "x")))(t)
	resp := must(s.Client().Get(fake.URL + "/api/v1/pods?watch=1&resourceVersion=1"))(t)
	defer resp.Body.Close()
	d := fake.Definition[*pod]{Kind: podKind.WithShortNames("po"), Hooks: fake.Hooks[*pod]{Default: func(p *pod) { p.Spec.Node = "any" }}}
	check(t, fake.Define(s, d))
	if events := string(must(io.ReadAll(resp.Body))(t)); strings.Count(events, "\n") != 1 || strings.Contains(events, "any") {
		t.Errorf("the open watch got %s", events)
	}
	if _, body, _ := call(t, s, "GET", "/api/v1", ""); !strings.Contains(body, `"shortNames":["po"]`) {
		t.Errorf("discovery: %s", body)
	}
	for ev, err := range source.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "0"}) {
		if err != nil || ev.Object.Spec.Node != "any" || ev.Object.ResourceVersion != created.ResourceVersion {
			t.Errorf("%+v, %v", ev, err)
		}
		break
	}
	if p := must(fake.Get[*pod](s, key("a", "x")))(t); p.Spec.Node != "any" || p.ResourceVersion != created.ResourceVersion {
		t.Errorf("%+v", p)
	}
	// The write finds the object that it has read.
	p := must(fake.Patch[*pod](s, key("a", "x"), []byte(`{"spec":{"args":["1"]}}`)))(t)
	if p.Spec.Node != "any" || len(p.Spec.Args) != 1 {
		t.Errorf("%+v", p)
	}
	for name, err := range map[string]error{
		"another type":  fake.Define(s, fake.Definition[*widget]{Kind: kind.Of[*widget](v1, "pods")}),
		"another kind":  fake.Define(s, fake.Definition[*pod]{Kind: podKind.Named("Pot")}),
		"another scope": fake.Define(s, fake.Definition[*pod]{Kind: podKind.Cluster()}),
		"a kind twice":  fake.Define(s, fake.Definition[*pod]{Kind: kind.Of[*pod](v1, "pots").Named("Pod")}),
		"no sibling":    fake.Define(s, d, fake.Definition[*pod]{Kind: kind.Of[*pod](exampleV1, "pots").Named("Pod")}),
		"no Convert":    fake.Define(s, d, fake.Definition[*widget]{Kind: kind.Of[*widget](exampleV1, "pods").Named("Pod")}),
		"twice":         fake.Register(s, podKind, fake.Rules{}),
	} {
		if !errors.Is(err, fake.ErrType) && !errors.Is(err, fake.ErrResource) && !errors.Is(err, fake.ErrDuplicate) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRedefinitionExpires: nobody resumes a watch from before another definition. A watch that
// follows a list goes on, even after a restore to a time before that definition.
func TestRedefinitionExpires(t *testing.T) {
	s := fake.New(fake.Options{})
	check(t, fake.Register(s, podKind, fake.Rules{}))
	d := fake.Definition[*pod]{Kind: podKind}
	check(t, fake.Define(s, d))
	if rv := s.ResourceVersion(); rv != "1" {
		t.Errorf("a definition without objects is at version %s", rv)
	}
	client := clientOf(t, s, podKind, "")
	list := func() string {
		meta := must(client.List(t.Context(), metav1.ListOptions{}, func(reflector.Event[*pod], error) bool { return true }))(t)
		return meta.ResourceVersion
	}
	watch := func(from, want string) {
		t.Helper()
		_, body, _ := call(t, s, "GET", "/api/v1/pods?watch=1&timeoutSeconds=1&allowWatchBookmarks=true&resourceVersion="+from, "")
		if !strings.Contains(body, want) || strings.Count(body, "\n") != 1 {
			t.Errorf("a watch from %s got %s, want %s", from, body, want)
		}
		for ev, err := range client.Watch(t.Context(), metav1.ListOptions{ResourceVersion: from, AllowWatchBookmarks: true, TimeoutSeconds: new(int64(1))}) {
			if want == "BOOKMARK" && (err != nil || ev.Type != reflector.Bookmark) || want == "Expired" && !apierrors.IsResourceExpired(err) {
				t.Errorf("a watch from %s got %+v, %v, want %s", from, ev, err, want)
			}
		}
	}
	backup := s.Backup()
	for _, name := range []string{"x", "y"} {
		must(fake.Create(s, newPod("a", name)))(t)
	}
	before := list()
	watch(before, "BOOKMARK")
	check(t, fake.Define(s, d))
	watch(before, "Expired")
	watch(list(), "BOOKMARK")
	check(t, s.Restore(backup))
	watch(list(), "BOOKMARK")
}

// TestVersions: each version sees the objects of the others.
func TestVersions(t *testing.T) {
	s := fake.New(fake.Options{})
	storage, beta := gadgets("v1"), gadgets("v1beta1")
	rename := func(from, to, version string) func(metav1.Object) (*unstructured.Unstructured, error) {
		return func(obj metav1.Object) (*unstructured.Unstructured, error) {
			u := obj.(*unstructured.Unstructured)
			u.SetAPIVersion("example.com/" + version)
			spec := u.Object["spec"].(map[string]any)
			if spec[from] == "fail" {
				return nil, errors.New("cannot convert")
			}
			spec[to] = spec[from]
			delete(spec, from)
			return u, nil
		}
	}
	storage.Hooks.Convert, beta.Hooks.Convert = rename("size", "width", "v1"), rename("width", "size", "v1beta1")
	check(t, fake.Define(s, storage, beta))
	const old, now = "/apis/example.com/v1beta1/namespaces/a/gadgets", "/apis/example.com/v1/namespaces/a/gadgets"
	resp := must(s.Client().Get(fake.URL + old + "?watch=1&resourceVersion=1"))(t)
	defer resp.Body.Close()
	for path, body := range map[string]string{
		old: `{"apiVersion":"example.com/v1beta1","kind":"Gadget","metadata":{"name":"b"},"spec":{"size":1}}`,
		now: `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"c"},"spec":{"width":1}}`,
	} {
		if code, answer, _ := call(t, s, "POST", path, body); code != 201 || !strings.Contains(answer, strings.TrimPrefix(body, `{"apiVersion":`)[:17]) {
			t.Errorf("%d %s", code, answer)
		}
	}
	for path, want := range map[string]string{
		old: `"spec":{"size":1}`, now: `"spec":{"width":1}`, old + "?labelSelector=!x": `"spec":{"size":1}`,
	} {
		if _, body, _ := call(t, s, "GET", path, ""); strings.Count(body, want) != 2 {
			t.Errorf("%s: %s, want %s twice", path, body, want)
		}
	}
	if code, body, _ := call(t, s, "PATCH", old+"/c", `{"spec":{"size":2}}`, "Content-Type", "application/merge-patch+json"); code != 400 && code != 422 && code != 200 {
		t.Errorf("%d %s", code, body)
	}
	u := must(fake.Get[*unstructured.Unstructured](s.Resource(gadgetsName), key("a", "c")))(t)
	u.SetLabels(map[string]string{"l": "1"})
	must(fake.Update(s.Resource(gadgetsName), u))(t)
	if code, body, _ := call(t, s, "DELETE", old+"/b", ""); code != 200 {
		t.Errorf("%d %s", code, body)
	}
	// An object that the version cannot have is a 500 of that version alone.
	must(fake.Create(s.Resource(gadgetsName), gadget("v1", "f", map[string]any{"width": "fail"})))(t)
	if code, body, _ := call(t, s, "GET", old+"/f", ""); code != 500 || !strings.Contains(body, "cannot convert") {
		t.Errorf("%d %s", code, body)
	}
	if code, _, _ := call(t, s, "GET", now+"/f", ""); code != 200 {
		t.Error(code)
	}
	check(t, s.Unregister(gadgetsName))
	events := string(must(io.ReadAll(resp.Body))(t))
	for _, line := range strings.Split(strings.TrimSpace(events), "\n") {
		if !strings.Contains(line, `"example.com/v1beta1"`) && !strings.Contains(line, "cannot convert") || strings.Contains(line, "width") {
			t.Errorf("event of the wrong version: %s", line)
		}
	}
}

// TestUnregister: the objects go, whatever holds them, and then the resource.
func TestUnregister(t *testing.T) {
	s := fake.New(fake.Options{CollectGarbage: true})
	check(t, fake.Register(s, podKind, fake.Rules{}))
	check(t, fake.Define(s, gadgets("v1")))
	held := gadget("v1", "g", map[string]any{})
	held.SetFinalizers([]string{"example.com/hold"})
	owner := must(fake.Create(s.Resource(gadgetsName), held))(t)
	must(fake.Create(s, fake.Object(&pod{}, "a", "dependent", fake.OwnedBy(owner))))(t)
	client := clientOf(t, s, gadgets("v1").Kind, "a")
	var types []reflector.EventType
	for ev, err := range client.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "1"}) {
		check(t, err)
		if types = append(types, ev.Type); ev.Type == reflector.Added {
			check(t, s.Unregister(gadgetsName))
		}
	}
	if len(types) != 2 || types[1] != reflector.Deleted {
		t.Errorf("events %v, want ADDED, DELETED and the end", types)
	}
	if _, err := fake.Get[*pod](s, key("a", "dependent")); err == nil {
		t.Error("the dependent of an object is still there")
	}
	_, err := client.Create(t.Context(), gadget("v1", "h", nil), metav1.CreateOptions{})
	wantStatus(t, err, http.StatusNotFound, metav1.StatusReasonNotFound)
	_, err = client.List(t.Context(), metav1.ListOptions{}, nil)
	wantStatus(t, err, http.StatusNotFound, metav1.StatusReasonNotFound)
	if code, body, _ := call(t, s, "GET", "/apis/example.com/v1/gadgets", ""); code != 404 || body != "404 page not found\n" {
		t.Errorf("%d %q", code, body)
	}
	if err := s.Unregister(gadgetsName); !errors.Is(err, fake.ErrNotRegistered) {
		t.Error(err)
	}
	// A client comes back with its resource.
	check(t, fake.Define(s, gadgets("v1")))
	must(client.Create(t.Context(), gadget("v1", "h", nil), metav1.CreateOptions{}))(t)
}

// TestDeleting: the hook's finalizers hold an object whose deletion is asked for, and no other.
func TestDeleting(t *testing.T) {
	s := fake.New(fake.Options{})
	check(t, fake.Define(s, fake.Definition[*pod]{Kind: podKind.Named("Pot"), Hooks: fake.Hooks[*pod]{
		Deleting: func(*pod) []string { return []string{"example.com/hold"} },
	}}))
	if p := must(fake.Create(s, newPod("a", "x")))(t); len(p.Finalizers) > 0 {
		t.Errorf("finalizers of a new object: %v", p.Finalizers)
	}
	must(fake.Delete[*pod](s, key("a", "x")))(t)
	must(fake.Delete[*pod](s, key("a", "x")))(t)
	p := must(fake.Get[*pod](s, key("a", "x")))(t)
	if len(p.Finalizers) != 1 || p.DeletionTimestamp == nil {
		t.Errorf("%+v", p.ObjectMeta)
	}
	p.Finalizers = nil
	must(fake.Update(s, p))(t)
	_, err := fake.Get[*pod](s, key("a", "x"))
	wantStatus(t, err, http.StatusNotFound, metav1.StatusReasonNotFound)
}
