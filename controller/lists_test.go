package controller_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/internal/longtest"
	"github.com/kinform/kinform/kind"
)

// newerServer has sites with more than the type site shows, and the requests of its client.
type newerServer struct {
	t      testing.TB
	server *fake.Server
	sites  *client.Resource[*site]
	sent   []string
	before func(verb string) error
}

// RoundTrip implements http.RoundTripper.
func (s *newerServer) RoundTrip(r *http.Request) (*http.Response, error) {
	verb := strings.ToLower(r.Method)
	s.sent = append(s.sent, verb)
	if s.before != nil {
		if err := s.before(verb); err != nil {
			return nil, err
		}
	}
	return s.server.Client().Transport.RoundTrip(r)
}

func newNewerServer(t testing.TB) *newerServer {
	t.Helper()
	s := &newerServer{t: t, server: fake.New(fake.Options{})}
	if err := fake.Register(s.server, kind.As[*unstructured.Unstructured](siteKinds), fake.Rules{}); err != nil {
		t.Fatal(err)
	}
	s.sites = must(client.New(client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: s}}, siteKinds, client.Options{}))(t)
	return s
}

// create makes the site "one" with a spec and a status.
func (s *newerServer) create(spec, status string) {
	s.t.Helper()
	obj := &unstructured.Unstructured{}
	text := fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Site","metadata":{"namespace":"a","name":"one"},"spec":%s}`, spec)
	if err := obj.UnmarshalJSON([]byte(text)); err != nil {
		s.t.Fatal(err)
	}
	obj = must(fake.Create(s.server, obj))(s.t)
	if status != "" {
		if err := json.Unmarshal([]byte(`{"status":`+status+`}`), &obj.Object); err != nil {
			s.t.Fatal(err)
		}
		must(fake.UpdateStatus(s.server, obj))(s.t)
	}
}

// change changes the site as another client would.
func (s *newerServer) change(edit func(spec map[string]any)) {
	s.t.Helper()
	obj := must(fake.Get[*unstructured.Unstructured](s.server, key{Namespace: "a", Name: "one"}))(s.t).DeepCopy()
	edit(obj.Object["spec"].(map[string]any))
	must(fake.Update(s.server, obj))(s.t)
}

func (s *newerServer) part(name string) string {
	s.t.Helper()
	obj := must(fake.Get[*unstructured.Unstructured](s.server, key{Namespace: "a", Name: "one"}))(s.t)
	return string(must(json.Marshal(obj.Object[name]))(s.t))
}

func (s *newerServer) edit(edit func(*site)) (controller.Outcome, error) {
	_, what, err := controller.CreateOrUpdate(s.t.Context(), s.sites, newSite("one"), func(o *site) error { edit(o); return nil })
	return what, err
}

// resize sets the size of the rule with a name.
func resize(name string, size int64) func(*site) {
	return func(o *site) {
		for n := range o.Spec.Rules {
			if o.Spec.Rules[n].Name == name {
				o.Spec.Rules[n].Size = size
			}
		}
	}
}

const rules = `{"more":1,"rules":[{"name":"a","note":"x","size":1},{"limits":{"memory":1},"name":"b","note":"y"}]}`

// What the author's type does not show of the elements of a list stays, and goes with its element.
func TestListsKeepWhatTheTypeLacks(t *testing.T) {
	for _, c := range []struct {
		name, spec, requests string
		edit                 func(*site)
	}{
		{"nothing", rules, "get", resize("z", 1)},
		{"one field", `{"more":1,"rules":[{"name":"a","note":"x","size":1},{"limits":{"memory":1},"name":"b","note":"y","size":2}]}`,
			"get patch", resize("b", 2)},
		{"a rule of a new list", `{"more":1,"rules":[{"limits":{},"name":"a","note":"x","size":3}]}`, "get patch", func(o *site) {
			o.Spec.Rules = []siteRule{{Name: "a", Size: 3}} // and b is gone
		}},
		{"turned", `{"more":1,"rules":[{"limits":{"memory":1},"name":"b","note":"y"},{"name":"a","note":"x","size":1}]}`, "get patch", func(o *site) {
			slices.Reverse(o.Spec.Rules)
		}},
		{"one more", `{"more":1,"rules":[{"name":"a","note":"x","size":1},{"limits":{},"name":"c"},{"limits":{"memory":1},"name":"b","note":"y"}]}`,
			"get patch", func(o *site) { o.Spec.Rules = slices.Insert(o.Spec.Rules, 1, siteRule{Name: "c"}) }},
		// Nobody can see in the type whether the server has limits.
		{"limits that the server has", `{"more":1,"rules":[{"name":"a","note":"x","size":1},{"limits":{"cpu":2,"memory":1},"name":"b","note":"y"}]}`,
			"get patch", func(o *site) { o.Spec.Rules[1].Limits.CPU = 2 }},
		{"limits that the server lacks", `{"more":1,"rules":[{"limits":{"cpu":1},"name":"a","note":"x","size":1},{"limits":{"cpu":2,"memory":1},"name":"b","note":"y"}]}`,
			"get patch get patch patch patch", func(o *site) { o.Spec.Rules[0].Limits.CPU, o.Spec.Rules[1].Limits.CPU = 1, 2 }},
	} {
		s := newNewerServer(t)
		s.create(rules, "")
		what, err := s.edit(c.edit)
		if want := must(json.Marshal(json.RawMessage(strings.Replace(c.spec, `"limits":{},`, "", 1))))(t); err != nil ||
			strings.Replace(s.part("spec"), `"limits":{},`, "", 1) != string(want) || strings.Join(s.sent, " ") != c.requests {
			t.Errorf("%s: %v, %v by %q, the spec is %s", c.name, what, err, s.sent, s.part("spec"))
		}
	}
}

func TestConditionsOfOthersStay(t *testing.T) {
	s := newNewerServer(t)
	foreign := `{"lastTransitionTime":"2026-01-01T00:00:00Z","lastUpdateTime":"2026-01-01T00:00:00Z","message":"","reason":"R","status":"True","type":"Available"}`
	s.create(`{}`, `{"conditions":[`+foreign+`],"phase":"P"}`)
	one := must(s.sites.Get(t.Context(), key{Namespace: "a", Name: "one"}, metav1.GetOptions{}))(t)
	for _, reason := range []string{"One", "Two"} {
		one = must(controller.PatchStatus(t.Context(), s.sites, one, func(o *site) {
			controller.SetCondition(&o.Status.Conditions, 1, metav1.Condition{Type: "Ready", Status: "True", Reason: reason})
		}))(t)
		if now := s.part("status"); !strings.Contains(now, `"conditions":[`+foreign+`,{"`) || !strings.Contains(now, `"phase":"P"`) || !strings.Contains(now, `"reason":"`+reason) {
			t.Errorf("the status is %s", now)
		}
	}
	if want := []string{"get", "patch", "patch"}; !slices.Equal(s.sent, want) {
		t.Errorf("sent %q", s.sent)
	}
}

// A change that comes in between is seen, although the server applies a JSON patch to what there is
// now.
func TestListsAndOtherWriters(t *testing.T) {
	insert := func() func(spec map[string]any) {
		return func(spec map[string]any) {
			spec["rules"] = slices.Insert(spec["rules"].([]any), 0, any(map[string]any{"name": "new", "note": "z"}))
		}
	}
	for _, c := range []struct {
		name     string
		change   func(spec map[string]any)
		spec     string
		requests string
	}{
		{"an element in front", insert(), `{"more":1,"rules":[{"name":"new","note":"z"},{"name":"a","note":"x","size":1},{"limits":{"memory":1},"name":"b","note":"y","size":7}]}`,
			"get patch get patch"},
		{"the element is gone", func(spec map[string]any) { spec["rules"] = spec["rules"].([]any)[:1] }, `{"more":1,"rules":[{"name":"a","note":"x","size":1}]}`,
			"get patch get"},
		{"another field", func(spec map[string]any) { spec["more"] = int64(2) }, strings.Replace(strings.Replace(rules, `1`, `2`, 1), `"note":"y"`, `"note":"y","size":7`, 1),
			"get patch get patch"},
	} {
		s := newNewerServer(t)
		s.create(rules, "")
		s.before = once("patch", func() { s.change(c.change) })
		what, err := s.edit(resize("b", 7))
		if err != nil || s.part("spec") != c.spec || strings.Join(s.sent, " ") != c.requests {
			t.Errorf("%s: %v, %v by %q, the spec is %s", c.name, what, err, s.sent, s.part("spec"))
		}
	}
	s := newNewerServer(t)
	s.create(rules, "")
	s.before = func(verb string) error {
		if verb == "patch" {
			s.change(insert())
		}
		return nil
	}
	if _, err := s.edit(resize("b", 7)); !apierrors.IsConflict(err) || !strings.Contains(err.Error(), `"one"`) || len(s.sent) != 11 {
		t.Errorf("changes without end: %v by %q", err, s.sent)
	}
}

// Random edits of named rules, while another client changes the same list.
func TestListsAreNeverUndone(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	s := newNewerServer(t)
	s.create(rules, "")
	want := map[string]string{"a": "x/1", "b": "y/0"} // the note and the size of each rule
	names := 0
	for range longtest.N(30, 10_000) {
		var foreign, lost string
		s.before = once("patch", func() {
			if random.IntN(2) == 0 {
				return
			}
			s.change(func(spec map[string]any) {
				all, _ := spec["rules"].([]any)
				if n := random.IntN(len(all) + 1); len(all) > 5 && n < len(all) {
					lost = all[n].(map[string]any)["name"].(string)
					spec["rules"] = slices.Delete(all, n, n+1)
					return
				}
				names++
				foreign = fmt.Sprintf("their-%d", names)
				spec["rules"] = slices.Insert(all, random.IntN(len(all)+1), any(map[string]any{"name": foreign, "note": foreign}))
			})
		})
		names++
		mine, move, size := fmt.Sprintf("my-%d", names), random.IntN(3), int64(names)
		var resized, gone string
		_, err := s.edit(func(o *site) {
			all := o.Spec.Rules
			if resized == "" && len(all) > 0 { // for a second state the same
				resized, gone = all[random.IntN(len(all))].Name, all[random.IntN(len(all))].Name
			}
			resize(resized, size)(o)
			switch move {
			case 0:
				o.Spec.Rules = append(all, siteRule{Name: mine})
			case 1:
				o.Spec.Rules = slices.DeleteFunc(all, func(r siteRule) bool { return r.Name == gone })
			default:
				slices.Reverse(all)
			}
		})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if foreign != "" {
			want[foreign] = foreign + "/0"
		}
		delete(want, lost)
		if note, _, ok := strings.Cut(want[resized], "/"); ok {
			want[resized] = fmt.Sprintf("%s/%d", note, size)
		}
		switch move {
		case 0:
			want[mine] = "/0"
		case 1:
			delete(want, gone)
		}
		if now := s.rules(); fmt.Sprint(now) != fmt.Sprint(want) {
			t.Fatalf("seed %d: the rules are %v, want %v", seed, now, want)
		}
	}
}

// twin is a rule that shares its name with others. Sizes and notes are not repeated.
type twin struct {
	Name, Note string
	Size       int64
}

// Random edits of rules that share two names, while another client inserts one at a random place. What
// the type does not show stays with the rule, in the order that both have made.
func TestListsWithRepeatedNames(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	s := newNewerServer(t)
	s.create(`{"rules":[{"name":"a","note":"x","size":1},{"name":"a","note":"y","size":2}]}`, "")
	want := []twin{{"a", "x", 1}, {"a", "y", 2}}
	size := int64(2)
	rule := func(note string) twin {
		size++
		return twin{[]string{"a", "b"}[random.IntN(2)], note, size}
	}
	for range longtest.N(30, 10_000) {
		s.before = once("patch", func() {
			if random.IntN(2) == 0 {
				return
			}
			theirs := rule(fmt.Sprint("after ", size))
			at := random.IntN(len(want) + 1)
			want = slices.Insert(want, at, theirs)
			s.change(func(spec map[string]any) {
				all, _ := spec["rules"].([]any)
				spec["rules"] = slices.Insert(all, at, any(map[string]any{"name": theirs.Name, "note": theirs.Note, "size": theirs.Size}))
			})
		})
		mine, move, at, one := rule(""), random.IntN(4), random.IntN(len(want)+1), int64(0)
		if len(want) > 0 {
			one = want[random.IntN(len(want))].Size
		}
		if len(want) > 8 {
			move = 0
		}
		_, err := s.edit(func(o *site) {
			o.Spec.Rules = moved(o.Spec.Rules, move, min(at, len(o.Spec.Rules)), siteRule{Name: mine.Name, Size: mine.Size}, func(r *siteRule) *int64 { return &r.Size }, one)
		})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		want = moved(want, move, min(at, len(want)), mine, func(r *twin) *int64 { return &r.Size }, one)
		var now struct{ Rules []twin }
		if err := json.Unmarshal([]byte(s.part("spec")), &now); err != nil || !slices.Equal(now.Rules, want) {
			t.Fatalf("seed %d, move %d: the rules are %v, want %v; %v", seed, move, now.Rules, want, err)
		}
	}
}

// moved makes an edit in a list: it removes the rule of a size, gives it the size of another rule, inserts that
// rule at a place, or turns the list.
func moved[T any](all []T, move, at int, other T, sizeOf func(*T) *int64, size int64) []T {
	all = slices.Clone(all)
	n := slices.IndexFunc(all, func(r T) bool { return *sizeOf(&r) == size })
	switch {
	case move == 2:
		return slices.Insert(all, at, other)
	case move == 3:
		slices.Reverse(all)
	case n < 0:
	case move == 0:
		return slices.Delete(all, n, n+1)
	default:
		*sizeOf(&all[n]) = *sizeOf(&other)
	}
	return all
}

// rules returns the note and the size of each rule.
func (s *newerServer) rules() map[string]string {
	s.t.Helper()
	var spec struct {
		Rules []struct {
			Name, Note string
			Size       int
		}
	}
	if err := json.Unmarshal([]byte(s.part("spec")), &spec); err != nil {
		s.t.Fatal(err)
	}
	all := map[string]string{}
	for _, r := range spec.Rules {
		all[r.Name] = fmt.Sprintf("%s/%d", r.Note, r.Size)
	}
	return all
}

// So do the helpers that only change metadata: they send finalizers and owners, and no spec.
func TestMetadataChangesKeepWhatTheTypeLacks(t *testing.T) {
	s := newNewerServer(t)
	s.create(rules, "")
	get := func() *site {
		return must(s.sites.Get(t.Context(), key{Namespace: "a", Name: "one"}, metav1.GetOptions{}))(t)
	}
	finalize := func(finalizer string) (done bool, err error) {
		_, done, err = controller.Finalize(t.Context(), s.sites, get(), finalizer, func(context.Context, *site) error { return nil })
		return done, err
	}
	owner := newSite("owner")
	owner.UID = "1"
	for _, step := range []struct {
		name             string
		do               func() error
		finalizers, refs int
	}{
		{"a finalizer", func() error { return only(finalize(hold)) }, 1, 0},
		{"another one", func() error { return only(finalize("example.com/other")) }, 2, 0},
		{"an owner", func() error {
			return only(s.edit(func(o *site) {
				if err := controller.Adopt(o, owner, siteKinds); err != nil {
					t.Error(err)
				}
			}))
		}, 2, 1},
		{"no finalizer any more", func() error {
			must(fake.Delete[*unstructured.Unstructured](s.server, key{Namespace: "a", Name: "one"}))(t)
			return only(finalize(hold))
		}, 1, 1},
	} {
		err := step.do()
		if now := get(); err != nil || s.part("spec") != rules || len(now.Finalizers) != step.finalizers || len(now.OwnerReferences) != step.refs {
			t.Errorf("%s: %v, %q and %d owners, the spec is %s", step.name, err, now.Finalizers, len(now.OwnerReferences), s.part("spec"))
		}
	}
}
