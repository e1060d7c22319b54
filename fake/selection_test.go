package fake_test

import (
	"encoding/json"
	"errors"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/reflector"
)

func podNode(p *pod) string { return p.Spec.Node }

// onNode creates a pod.
func onNode(t testing.TB, s *fake.Server, name, node string) {
	t.Helper()
	p := newPod("a", name)
	p.Spec.Node = node
	must(fake.Create(s, p))(t)
}

func TestFieldSelectors(t *testing.T) {
	s := newServer(t, fake.Options{})
	check(t, fake.AddField(s, "spec.nodeName", podNode))
	onNode(t, s, "one", "n1")
	onNode(t, s, "two", "n2")
	onNode(t, s, "none", "")
	for selector, want := range map[string][]string{
		"spec.nodeName=n1":                   {"one"},
		"spec.nodeName!=n1":                  {"none", "two"},
		"spec.nodeName=":                     {"none"},
		"spec.nodeName==n1,metadata.name=q":  nil,
		"metadata.name!=one":                 {"none", "two"},
		"metadata.name=two":                  {"two"},
		"metadata.namespace=b":               nil,
		"metadata.namespace=a,spec.nodeName": nil, // refused, below
	} {
		list, err := fake.List[*pod](s, fake.Selection{FieldSelector: selector})
		code, body := request(t, s, "GET", "/api/v1/pods?fieldSelector="+url.QueryEscape(selector), "", "")
		if selector == "metadata.namespace=a,spec.nodeName" {
			st := wantStatus(t, err, 400, metav1.StatusReasonBadRequest)
			if st.Message != "invalid selector: 'metadata.namespace=a,spec.nodeName'; can't understand 'spec.nodeName'" || code != 400 {
				t.Errorf("%d %q", code, st.Message)
			}
			continue
		}
		check(t, err)
		var over struct{ Items []*pod }
		check(t, json.Unmarshal(body, &over))
		var got, remote []string
		for _, p := range list {
			got = append(got, p.Name)
		}
		for _, p := range over.Items {
			remote = append(remote, p.Name)
		}
		if d := cmp.Diff(want, got); d != "" || code != 200 {
			t.Errorf("%s: %d (-want +got):\n%s", selector, code, d)
		}
		if d := cmp.Diff(got, remote); d != "" {
			t.Errorf("%s (-list +HTTP):\n%s", selector, d)
		}
	}
}

// TestFieldSelectorWatch: an object that leaves a selection is DELETED, one that comes in
// is ADDED.
func TestFieldSelectorWatch(t *testing.T) {
	s := newServer(t, fake.Options{})
	check(t, fake.AddField(s, "spec.nodeName", podNode))
	onNode(t, s, "p", "n1")
	for _, node := range []string{"n2", "n1", "n3"} {
		must(fake.Patch[*pod](s, key("a", "p"), []byte(`{"spec":{"node":"`+node+`"}}`)))(t)
	}
	src := must(fake.NewSource[*pod](s, fake.Selection{FieldSelector: "spec.nodeName=n1"}))(t)
	want := []reflector.Event[*pod]{{Type: reflector.Added, ResourceVersion: "2"}, {Type: reflector.Deleted, ResourceVersion: "3"}, {Type: reflector.Added, ResourceVersion: "4"}, {Type: reflector.Deleted, ResourceVersion: "5"}}
	for ev, err := range src.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "1"}) {
		check(t, err)
		if ev.Object.Spec.Node != "n1" {
			t.Errorf("%s carries the state %q", ev.Type, ev.Object.Spec.Node)
		}
		if ev.Object, ev.Idle, ev.Sum = nil, false, 0; ev != want[0] {
			t.Fatalf("%+v, want %+v", ev, want[0])
		}
		if want = want[1:]; len(want) == 0 {
			break
		}
	}
}

func TestFieldSelectorRefusals(t *testing.T) {
	s := newServer(t, fake.Options{})
	bad := func(list error, want string) {
		t.Helper()
		if st := wantStatus(t, list, 400, metav1.StatusReasonBadRequest); st.Message != want {
			t.Errorf("message %q, want %q", st.Message, want)
		}
	}
	nodes := fake.Selection{FieldSelector: "spec.nodeName=a"}
	bad(second(fake.List[*pod](s, nodes)), `"spec.nodeName" is not a known field selector: only "metadata.name", "metadata.namespace"`)
	bad(second(fake.List[*widget](s, nodes)), "field label not supported: spec.nodeName")
	bad(second(fake.List[*pod](s, fake.Selection{LabelSelector: "a in"})), "unable to parse requirement: found '' expected: '('")
	check(t, fake.AddField(s, "status.phase", func(p *pod) string { return p.Status.Phase }))
	bad(second(fake.List[*pod](s, nodes)), "field label not supported: spec.nodeName")
	for name, c := range map[string]struct{ got, want error }{
		"no name":     {fake.AddField(s, "", podNode), fake.ErrResource},
		"no function": {fake.AddField[*pod](s, "x", nil), fake.ErrResource},
		"no resource": {fake.AddField(fake.New(fake.Options{}), "x", podNode), fake.ErrNotRegistered},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
}
