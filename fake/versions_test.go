package fake_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
)

// host is a pod in another group and of another Go type: the spec has other names.
type host struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              hostSpec `json:"spec"`
}

type hostSpec struct {
	Place string   `json:"place,omitempty"`
	Words []string `json:"words,omitempty"`
}

var (
	hostsName = schema.GroupResource{Group: "example.com", Resource: "pods"}
	sharedPod = fake.Definition[*pod]{Kind: kind.Of[*pod](v1, "pods"), Hooks: fake.Hooks[*pod]{Convert: func(obj metav1.Object) (*pod, error) {
		h := obj.(*host)
		out := &pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: h.ObjectMeta}
		out.Spec.Node, out.Spec.Args = h.Spec.Place, h.Spec.Words
		return out, nil
	}}}
)

// sharedHost is the same resource in a version.
func sharedHost(gv schema.GroupVersion) fake.Definition[*host] {
	return fake.Definition[*host]{Kind: kind.Of[*host](gv, "pods").Named("Pod"), Hooks: fake.Hooks[*host]{
		Convert: func(obj metav1.Object) (*host, error) {
			p := obj.(*pod)
			if p.Spec.Node == "nowhere" {
				return nil, errors.New("no place")
			}
			out := &host{TypeMeta: metav1.TypeMeta{APIVersion: gv.String(), Kind: "Pod"}, ObjectMeta: p.ObjectMeta}
			out.Spec.Place, out.Spec.Words = p.Spec.Node, p.Spec.Args
			return out, nil
		},
		Fields: map[string]func(*host) string{"spec.place": func(h *host) string { return h.Spec.Place }},
	}}
}

// hostKind is sharedHost's kind in another group.
var hostKind = sharedHost(exampleV1).Kind

func placed(name, place string) *host {
	return &host{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}, Spec: hostSpec{Place: place}}
}

// TestVersionsOfTwoTypes: one resource in two groups, with two Go types. What is written in one is
// read, listed, selected and watched in the other.
func TestVersionsOfTwoTypes(t *testing.T) {
	s := fake.New(fake.Options{})
	check(t, fake.Define(s, sharedPod, sharedHost(exampleV1)))
	hosts := clientOf(t, s, hostKind, "a")
	resp := must(s.Client().Get(fake.URL + "/apis/example.com/v1/namespaces/a/pods?watch=1&resourceVersion=1"))(t)
	defer resp.Body.Close()

	p := newPod("a", "one")
	p.Spec.Node = "n"
	p = must(fake.Create(s, p))(t)
	h := must(hosts.Get(t.Context(), key("a", "one"), metav1.GetOptions{}))(t)
	if h.Spec.Place != "n" || h.UID != p.UID || h.ResourceVersion != p.ResourceVersion || h.APIVersion != "example.com/v1" {
		t.Errorf("read as a host: %+v", h)
	}
	must(hosts.Create(t.Context(), placed("two", "m"), metav1.CreateOptions{}))(t)
	must(fake.Create(s, placed("three", "m")))(t)
	h.Spec.Place = "o"
	h = must(hosts.Update(t.Context(), h, metav1.UpdateOptions{}))(t)
	if p := must(fake.Get[*pod](s, key("a", "one")))(t); p.Spec.Node != "o" || p.ResourceVersion != h.ResourceVersion || p.APIVersion != "v1" {
		t.Errorf("read as a pod: %+v", p)
	}
	if again := must(hosts.Update(t.Context(), h, metav1.UpdateOptions{}))(t); again.ResourceVersion != h.ResourceVersion {
		t.Error("an update that changes nothing was written")
	}
	if all := must(fake.List[*host](s, fake.Selection{FieldSelector: "spec.place=m"}))(t); len(all) != 2 {
		t.Errorf("%d hosts of the place", len(all))
	}
	if all := must(fake.List[*host](s.Resource(hostsName), fake.Selection{}))(t); len(all) != 3 {
		t.Errorf("%d hosts", len(all))
	}
	check(t, hosts.Delete(t.Context(), key("a", "one"), metav1.DeleteOptions{}))
	wantStatus(t, errorOf(fake.Get[*pod](s, key("a", "one"))), 404, metav1.StatusReasonNotFound)
	if code, body, _ := call(t, s, "POST", "/apis/example.com/v1/namespaces/a/pods", `{"apiVersion":"example.com/v1","kind":"Pod","metadata":{"name":"two"}}`); code != 409 || !strings.Contains(body, `pods.example.com \"two\" already exists`) {
		t.Errorf("%d %s", code, body)
	}
	check(t, s.Unregister(hostsName))
	if got, want := events(t, resp.Body), "ADDED one n;ADDED two m;ADDED three m;MODIFIED one o;DELETED one o;DELETED three m;DELETED two m;"; got != want {
		t.Errorf("watch: %s, want %s", got, want)
	}
	if _, err := fake.Get[*pod](s, key("a", "two")); !errors.Is(err, fake.ErrNotRegistered) {
		t.Errorf("the resource is still there: %v", err)
	}
}

func errorOf[T any](_ T, err error) error { return err }

// events reads a watch of hosts to its end.
func events(t *testing.T, body io.Reader) (out string) {
	t.Helper()
	for d := json.NewDecoder(body); ; {
		var ev struct {
			Type   string
			Object host
		}
		err := d.Decode(&ev)
		if err == io.EOF {
			return out
		}
		check(t, err)
		out += fmt.Sprintf("%s %s %s;", ev.Type, ev.Object.Name, ev.Object.Spec.Place)
	}
}

// TestVersionsEnd: a further version can go, and its name is not to be had meanwhile.
func TestVersionsRefused(t *testing.T) {
	s := fake.New(fake.Options{})
	first := fake.Definition[*widget]{Kind: kind.Of[*widget](v1, "widgets")}
	for want, more := range map[string][]fake.Version{
		"the version another one":  {fake.Definition[*widget]{Kind: kind.Of[*widget](exampleV1, "widgets")}, fake.Definition[*widget]{Kind: kind.Of[*widget](exampleV1, "widgets")}},
		"the kind (Widget)":        {fake.Definition[*host]{Kind: kind.Of[*host](exampleV1, "widgets")}},
		"both need Hooks.Convert":  {fake.Definition[*host]{Kind: kind.Of[*host](exampleV1, "widgets").Named("Widget")}},
		"further version 1 is nil": {nil},
	} {
		if err := fake.Define(s, first, more...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestVersionsEnd(t *testing.T) {
	s := fake.New(fake.Options{})
	check(t, fake.Define(s, sharedPod, sharedHost(exampleV1)))
	for name, err := range map[string]error{
		"Register": fake.Register(s, kind.Of[*widget](exampleV1, "pods"), fake.Rules{}),
		"Define":   fake.Define(s, sharedHost(exampleV1)),
		"the kind": fake.Register(s, kind.Of[*widget](exampleV1, "pots").Named("Pod"), fake.Rules{}),
	} {
		if !errors.Is(err, fake.ErrDuplicate) {
			t.Errorf("%s: %v", name, err)
		}
	}
	hosts := clientOf(t, s, hostKind, "")
	must(fake.Create(s, newPod("a", "one")))(t)
	check(t, fake.Define(s, sharedPod))
	wantStatus(t, errorOf(hosts.Get(t.Context(), key("a", "one"), metav1.GetOptions{})), 404, metav1.StatusReasonNotFound)
	_, err := hosts.List(t.Context(), metav1.ListOptions{}, func(reflector.Event[*host], error) bool { return true })
	wantStatus(t, err, 404, metav1.StatusReasonNotFound)
	wantStatus(t, errorOf(hosts.Create(t.Context(), placed("two", "m"), metav1.CreateOptions{})), 404, metav1.StatusReasonNotFound)
	if code, _, _ := call(t, s, "GET", "/apis/example.com/v1/pods", ""); code != 404 {
		t.Error(code)
	}
	check(t, fake.Register(s, kind.Of[*widget](exampleV1, "pods"), fake.Rules{}))
	wantStatus(t, errorOf(hosts.Get(t.Context(), key("a", "one"), metav1.GetOptions{})), 404, metav1.StatusReasonNotFound)
}

// TestVersionsManageFields: managers in two versions of a group see each other's fields; the
// failure of a conversion is the request's failure.
func TestVersionsManageFields(t *testing.T) {
	s := fake.New(fake.Options{})
	beta := schema.GroupVersion{Version: "v1beta1"}
	check(t, fake.Define(s, sharedPod, sharedHost(beta)))
	const pods, hosts = "/api/v1/namespaces/a/pods/one", "/api/v1beta1/namespaces/a/pods/one"
	apply := func(path, query, body string, code int) string {
		t.Helper()
		got, answer, _ := call(t, s, "PATCH", path+"?fieldManager="+query, body, "Content-Type", string(types.ApplyPatchType))
		if got != code {
			t.Errorf("%d %s", got, answer)
		}
		return answer
	}
	call(t, s, "POST", "/api/v1/namespaces/a/pods", `{"metadata":{"name":"one"},"spec":{"node":"n"}}`, "User-Agent", "poster/1")
	call(t, s, "PATCH", hosts, `{"spec":{"words":["w"]}}`, "Content-Type", string(types.MergePatchType), "User-Agent", "patcher/1")
	answer := apply(hosts, "one", `{"apiVersion":"v1beta1","kind":"Pod","metadata":{"name":"one"},"spec":{"place":"m"}}`, 409)
	if want := `conflict with \"poster\" using v1: .spec.node`; !strings.Contains(answer, want) {
		t.Errorf("%s, want %s", answer, want)
	}
	answer = apply(pods, "one", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"one"},"spec":{"args":["x"]}}`, 409)
	if want := `conflict with \"patcher\" using v1beta1: .spec.words`; !strings.Contains(answer, want) {
		t.Errorf("%s, want %s", answer, want)
	}
	apply(hosts, "one&force=true", `{"apiVersion":"v1beta1","kind":"Pod","metadata":{"name":"one"},"spec":{"place":"m"}}`, 200)
	answer = apply(pods, "two", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"one"},"spec":{"node":"o"}}`, 409)
	if want := `conflict with \"one\": .spec.place`; !strings.Contains(answer, want) {
		t.Errorf("%s, want %s", answer, want)
	}
	apply(pods, "two", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"one"},"spec":{"node":"nowhere"}}`, 500)
	p := newPod("a", "two")
	p.Spec.Node = "nowhere"
	must(fake.Create(s, p))(t)
	if code, body, _ := call(t, s, "GET", "/api/v1beta1/namespaces/a/pods/two", ""); code != 500 || !strings.Contains(body, "no place") {
		t.Errorf("%d %s", code, body)
	}
}

// TestListKind: the kind says the version, and so the Go type.
func TestListKind(t *testing.T) {
	s := fake.New(fake.Options{})
	check(t, fake.Define(s, sharedPod, sharedHost(exampleV1)))
	must(fake.Create(s, placed("a", "n")))(t)
	must(fake.Create(s, placed("b", "m")))(t)
	list, scope, err := s.ListKind(exampleV1.WithKind("Pod"), fake.Selection{FieldSelector: "spec.place=n"})
	if check(t, err); len(list) != 1 || scope != kind.Namespaced || list[0].(*host).Spec.Place != "n" {
		t.Errorf("%v %v", list, scope)
	}
	if list, _, err := s.ListKind(v1.WithKind("Pod"), fake.Selection{}); len(list) != 2 || err != nil || list[1].(*pod).Spec.Node != "m" {
		t.Errorf("%v %v", list, err)
	}
	if _, _, err := s.ListKind(v1.WithKind("None"), fake.Selection{}); !errors.Is(err, fake.ErrNotRegistered) {
		t.Error(err)
	}
	if _, _, err := s.ListKind(v1.WithKind("Pod"), fake.Selection{LabelSelector: "!!"}); err == nil {
		t.Error("a selector that does not parse passes")
	}
}

// TestThreeVersionsManageFields: writes in one further version, then an apply in another one, and
// in one that is left.
func TestThreeVersionsManageFields(t *testing.T) {
	s := fake.New(fake.Options{})
	check(t, fake.Define(s, sharedPod, sharedHost(exampleV1), sharedHost(schema.GroupVersion{Version: "v1beta1"})))
	const other, hosts = "/apis/example.com/v1/namespaces/a/pods/one", "/api/v1beta1/namespaces/a/pods/one"
	patch := func(path string, contentType types.PatchType, body string) string {
		t.Helper()
		code, answer, _ := call(t, s, "PATCH", path, body, "Content-Type", string(contentType))
		if code != 200 {
			t.Errorf("%d %s", code, answer)
		}
		return answer
	}
	must(fake.Create(s, newPod("a", "one")))(t)
	patch(other+"?fieldManager=one", types.MergePatchType, `{"spec":{"place":"m"}}`)
	patch(hosts+"?fieldManager=two", types.MergePatchType, `{"spec":{"words":["w"]}}`)
	check(t, fake.Define(s, sharedPod, sharedHost(schema.GroupVersion{Version: "v1beta1"})))
	patch(hosts+"?fieldManager=m&force=true", types.ApplyPatchType, `{"apiVersion":"v1beta1","kind":"Pod","metadata":{"name":"one"},"spec":{"place":"o"}}`)
	answer := patch("/api/v1/namespaces/a/pods/one?fieldManager=m&force=true", types.ApplyPatchType, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"one"},"spec":{"node":"p"}}`)
	if !strings.Contains(answer, `"node":"p"`) || !strings.Contains(answer, `"args":["w"]`) {
		t.Error(answer)
	}
}

// TestConversionsKeepIdentity: an object that a conversion renames could not be found again.
func TestConversionsKeepIdentity(t *testing.T) {
	for want, change := range map[string]func(*host){
		`metadata.name: it was \"one\" and is \"two\"`:  func(h *host) { h.Name = "two" },
		`metadata.namespace: it was \"a\" and is \"b\"`: func(h *host) { h.Namespace = "b" },
		`metadata.uid: it was \"`:                       func(h *host) { h.UID = "other" },
	} {
		shared := sharedHost(exampleV1)
		to := shared.Hooks.Convert
		shared.Hooks.Convert = func(obj metav1.Object) (*host, error) {
			h, err := to(obj)
			change(h)
			return h, err
		}
		s := fake.New(fake.Options{})
		check(t, fake.Define(s, sharedPod, shared))
		must(fake.Create(s, newPod("a", "one")))(t)
		code, body, _ := call(t, s, "GET", "/apis/example.com/v1/namespaces/a/pods/one", "")
		if want = `conversion of pods.example.com \"a/one\" to example.com/v1: Hooks.Convert must not change ` + want; code != 500 || !strings.Contains(body, want) {
			t.Errorf("%d %s, want %s", code, body, want)
		}
		must(fake.Get[*pod](s, key("a", "one")))(t)
	}
}

// TestConversionsOfStorageKeepIdentity: nothing is written if the conversion for the storage renames the object.
func TestConversionsOfStorageKeepIdentity(t *testing.T) {
	shared := sharedPod
	shared.Hooks.Convert = func(obj metav1.Object) (*pod, error) {
		p, err := sharedPod.Hooks.Convert(obj)
		p.Name = "two"
		return p, err
	}
	s := fake.New(fake.Options{})
	check(t, fake.Define(s, shared, sharedHost(exampleV1)))
	const want = `conversion of pods "a/one" to v1: Hooks.Convert must not change metadata.name: it was "one" and is "two"`
	if _, err := fake.Create(s, placed("one", "n")); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	if all := must(fake.List[*pod](s, fake.Selection{}))(t); len(all) > 0 {
		t.Errorf("stored: %v", all)
	}
}
