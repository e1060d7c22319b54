package fake_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
)

// asked notes what the hooks of a server see.
type asked struct {
	mu    sync.Mutex
	seen  []string
	err   error
	write func(*fake.Admission)
}

func (h *asked) note(phase string) func(context.Context, *fake.Admission) error {
	return func(_ context.Context, a *fake.Admission) error {
		h.mu.Lock()
		defer h.mu.Unlock()
		state := func(o metav1.Object) string {
			if p, ok := o.(*pod); ok && p != nil {
				return p.Spec.Node + "," + p.Status.Phase
			}
			return "-"
		}
		h.seen = append(h.seen, strings.TrimSpace(fmt.Sprintf("%s %s %s %s %t %s>%s", phase, a.Verb, a.Key, a.Subresource, a.DryRun, state(a.Old), state(a.Object))))
		if phase == "mutate" && h.write != nil && a.Object != nil {
			h.write(a)
		}
		return h.err
	}
}

func (h *asked) take() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	seen := h.seen
	h.seen = nil
	return seen
}

func admitted(t *testing.T) (*fake.Server, *client.Resource[*pod], *asked) {
	t.Helper()
	h := &asked{}
	s := fake.New(fake.Options{Mutate: h.note("mutate"), Validate: h.note("validate")})
	check(t, fake.Register(s, podKind, fake.Rules{}))
	return s, clientOf(t, s, podKind, "a"), h
}

func withNode(p *pod, node string) *pod {
	p.Spec.Node = node
	return p
}

// TestAdmission shows what the hooks are asked about, by a client and over HTTP.
func TestAdmission(t *testing.T) {
	s, c, h := admitted(t)
	ctx := t.Context()
	expect := func(what string, want ...string) {
		t.Helper()
		if got := h.take(); !slices.Equal(got, want) {
			t.Errorf("%s asks\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	must(fake.Create(s, newPod("a", "staged")))(t)
	must(fake.Patch[*pod](s, key("a", "staged"), []byte(`{"spec":{"node":"n0"}}`)))(t)
	expect("a test's own write")

	p := must(c.Create(ctx, withNode(newPod("a", "x"), "n1"), metav1.CreateOptions{}))(t)
	expect("create", "mutate create a/x  false ->n1,", "validate create a/x  false ->n1,")
	p = must(c.Update(ctx, withNode(p, "n2"), metav1.UpdateOptions{DryRun: []string{"All"}}))(t)
	expect("dry run", "mutate update a/x  true n1,>n2,", "validate update a/x  true n1,>n2,")
	p.Status.Phase = "Running"
	must(c.UpdateStatus(ctx, p, metav1.UpdateOptions{}))(t)
	expect("status", "mutate update a/x status false n1,>n2,Running", "validate update a/x status false n1,>n1,Running")
	must(c.Patch(ctx, key("a", "x"), types.MergePatchType, []byte(`{"spec":{"node":"n3"}}`), metav1.PatchOptions{}))(t)
	expect("patch", "mutate update a/x  false n1,Running>n3,Running", "validate update a/x  false n1,Running>n3,Running")
	must(c.Apply(ctx, map[string]any{"metadata": map[string]any{"name": "y"}, "spec": map[string]any{"node": "n4"}}, metav1.ApplyOptions{FieldManager: "me"}))(t)
	expect("apply", "mutate create a/y  false ->n4,", "validate create a/y  false ->n4,")
	check(t, c.Delete(ctx, key("a", "y"), metav1.DeleteOptions{}))
	expect("delete", "mutate delete a/y  false n4,>-", "validate delete a/y  false n4,>-")

	send := func(method, path, body string) {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, method, fake.URL+path, strings.NewReader(body))
		check(t, err)
		resp, err := s.Client().Do(r)
		check(t, err)
		defer func() { _ = resp.Body.Close() }()
		if b, _ := io.ReadAll(resp.Body); resp.StatusCode/100 != 2 {
			t.Fatalf("%s %s: %d %s", method, path, resp.StatusCode, b)
		}
	}
	send("POST", "/api/v1/namespaces/a/pods", `{"kind":"Pod","metadata":{"generateName":"g-"}}`)
	if got := h.take(); len(got) != 2 || got[0] != "mutate create a/  false ->," {
		t.Errorf("a generated name asks %q", got)
	} else if _, err := fake.Get[*pod](s, key("a", strings.TrimPrefix(strings.Fields(got[1])[2], "a/"))); err != nil {
		t.Errorf("Validate sees a name that is not the stored one: %q", got[1])
	}
	send("DELETE", "/api/v1/namespaces/a/pods?dryRun=All", "")
	if got := h.take(); len(got) != 6 || !strings.Contains(got[0], "delete") || !strings.Contains(got[0], "true") {
		t.Errorf("the deletion of three objects asks %q", got)
	}
}

// TestMutate: the change of the hook is stored, and the other hook sees it.
func TestMutate(t *testing.T) {
	s, c, h := admitted(t)
	h.write = func(a *fake.Admission) {
		a.Object.(*pod).Spec.Node = "chosen"
		a.Object.SetLabels(map[string]string{"by": "hook"})
	}
	must(c.Create(t.Context(), newPod("a", "x"), metav1.CreateOptions{}))(t)
	must(c.Patch(t.Context(), key("a", "x"), types.MergePatchType, []byte(`{"spec":{"node":"mine"}}`), metav1.PatchOptions{}))(t)
	p := must(fake.Get[*pod](s, key("a", "x")))(t)
	if p.Spec.Node != "chosen" || p.Labels["by"] != "hook" || p.Generation != 1 {
		t.Errorf("stored %q %v, generation %d", p.Spec.Node, p.Labels, p.Generation)
	}
	if seen := h.take(); seen[1] != "validate create a/x  false ->chosen," {
		t.Errorf("the hooks saw %q", seen)
	}
}

// TestAdmissionRefuses: an error of a hook refuses the write and changes nothing.
func TestAdmissionRefuses(t *testing.T) {
	for _, c := range []struct {
		err  error
		is   func(error) bool
		text string
	}{
		{errors.New("not today"), apierrors.IsForbidden, `pods "x" is forbidden: not today`},
		{apierrors.NewBadRequest("wrong"), apierrors.IsBadRequest, "wrong"},
		{fmt.Errorf("wrapped: %w", apierrors.NewUnauthorized("who")), apierrors.IsUnauthorized, "who"},
	} {
		s, client, h := admitted(t)
		must(fake.Create(s, newPod("a", "x")))(t)
		before := s.ResourceVersion()
		h.err = c.err
		ctx := t.Context()
		_, created := client.Create(ctx, newPod("a", "x"), metav1.CreateOptions{})
		_, patched := client.Patch(ctx, key("a", "x"), types.MergePatchType, []byte(`{"spec":{"node":"n"}}`), metav1.PatchOptions{})
		deleted := client.Delete(ctx, key("a", "x"), metav1.DeleteOptions{})
		for what, err := range map[string]error{"create": created, "patch": patched, "delete": deleted} {
			if !c.is(err) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%s: %v, want %s", what, err, c.text)
			}
		}
		if rv := s.ResourceVersion(); rv != before {
			t.Errorf("%v: something was written", c.err)
		}
	}
}

// TestMutateNames: the hook can choose the name of a new object, or the start of a generated one.
func TestMutateNames(t *testing.T) {
	for _, c := range []struct{ name, base, toName, toBase, want string }{
		{base: "g-", toName: "abc", want: "abc"},
		{base: "g-", toName: "longer-name", want: "longer-name"},
		{name: "", base: "", toBase: "h-", want: "h-?"},
		{base: "g-", toBase: "h-", want: "h-?"},
	} {
		s, _, h := admitted(t)
		h.write = func(a *fake.Admission) {
			if c.toName != "" {
				a.Object.SetName(c.toName)
			}
			if c.toBase != "" {
				a.Object.SetGenerateName(c.toBase)
			}
		}
		p := newPod("a", c.name)
		p.GenerateName = c.base
		if code, body := request(t, s, "POST", "/api/v1/namespaces/a/pods", jsonType, string(must(json.Marshal(p))(t))); code != 201 {
			t.Errorf("%d %s", code, body)
		}
		got := must(fake.List[*pod](s, fake.Selection{}))(t)[0].Name
		base, generated := strings.CutSuffix(c.want, "?")
		switch {
		case !generated && got != c.want, generated && (!strings.HasPrefix(got, base) || len(got) != len(base)+5 || strings.HasSuffix(got, "xxxxx")):
			t.Errorf("%+v: stored as %q", c, got)
		}
	}
}

// TestGeneratedNameRefused: Validate is not asked about one name after the other until it likes
// one.
func TestGeneratedNameRefused(t *testing.T) {
	n := 0
	s := fake.New(fake.Options{Validate: func(context.Context, *fake.Admission) error {
		if n++; n > 10 {
			panic("asked again and again")
		}
		return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "pods"}, "g")
	}})
	check(t, fake.Register(s, podKind, fake.Rules{}))
	client := clientOf(t, s, podKind, "a")
	p := newPod("a", "")
	p.GenerateName = "g-"
	if _, err := client.Create(t.Context(), p, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) || n != 1 {
		t.Errorf("asked %d times: %v", n, err)
	}
}

// TestUpsertEnds: updates and applies that may create an object are refused if a hook renames it or says, for
// its own reasons, that it exists or does not. The hook is not asked again and again.
func TestUpsertEnds(t *testing.T) {
	asked := 0
	var hook func(a *fake.Admission) error
	s := fake.New(fake.Options{Mutate: func(_ context.Context, a *fake.Admission) error {
		if asked++; asked > 10 {
			panic("asked again and again")
		}
		return hook(a)
	}})
	check(t, fake.Register(s, kindOf("coordination.k8s.io", "Lease"), fake.Rules{}))
	lease := func(name string) *unstructured.Unstructured {
		l := newKind("coordination.k8s.io", "Lease", name)
		l.SetNamespace("a")
		return l
	}
	other := must(fake.Create(s, lease("other")))(t)
	client := clientOf(t, s, kindOf("coordination.k8s.io", "Lease"), "a")
	for _, c := range []struct {
		what, name string
		hook       func(a *fake.Admission) error
		is         func(error) bool
	}{
		{"renamed", "x", func(a *fake.Admission) error { a.Object.SetName("other"); return nil }, apierrors.IsInternalError},
		{"exists", "x", func(*fake.Admission) error { return apierrors.NewAlreadyExists(schema.GroupResource{}, "x") }, apierrors.IsAlreadyExists},
		{"another object exists", "x", func(*fake.Admission) error { return second(fake.Create(s, lease("other"))) }, apierrors.IsAlreadyExists},
		{"is not there", "other", func(*fake.Admission) error { return apierrors.NewNotFound(schema.GroupResource{}, "x") }, apierrors.IsNotFound},
	} {
		asked, hook = 0, c.hook
		changed := lease(c.name)
		if c.name == "other" {
			changed.SetResourceVersion(other.GetResourceVersion())
		}
		_, updated := client.Update(t.Context(), changed, metav1.UpdateOptions{})
		_, applied := client.Apply(t.Context(), lease(c.name).Object, metav1.ApplyOptions{FieldManager: "me"})
		for what, err := range map[string]error{"update": updated, "apply": applied} {
			if !c.is(err) {
				t.Errorf("%s: %s: %T %v", c.what, what, err, err)
			}
		}
		if asked != 2 {
			t.Errorf("%s: asked %d times", c.what, asked)
		}
	}
	if err := second(fake.Create(s, lease("other"))); !apierrors.IsAlreadyExists(err) {
		t.Error(err)
	} else if _, ok := err.(*apierrors.StatusError); !ok {
		t.Errorf("a refused create is a %T", err)
	}
}

// TestMutateNamespace: the hook cannot move a new object to another namespace.
func TestMutateNamespace(t *testing.T) {
	s, client, h := admitted(t)
	h.write = func(a *fake.Admission) { a.Object.SetNamespace("b") }
	if _, err := client.Create(t.Context(), newPod("a", "x"), metav1.CreateOptions{}); !apierrors.IsBadRequest(err) {
		t.Errorf("create: %v", err)
	}
	if n := len(must(fake.List[*pod](s, fake.Selection{}))(t)); n != 0 {
		t.Errorf("%d objects", n)
	}
}

// TestMutateTwice: a write that is tried again begins with what the client sent, not with what the
// hook made of it.
func TestMutateTwice(t *testing.T) {
	s, client, h := admitted(t)
	must(fake.Create(s, newPod("a", "x")))(t)
	other := 0
	h.write = func(a *fake.Admission) {
		p := a.Object.(*pod)
		p.Spec.Ports = append(p.Spec.Ports, 1)
		if other++; other < 3 {
			must(fake.Patch[*pod](s, key("a", "x"), fmt.Appendf(nil, `{"metadata":{"labels":{"n":"%d"}}}`, other)))(t)
		}
	}
	update := withNode(newPod("a", "x"), "n")
	got := must(client.Update(t.Context(), update, metav1.UpdateOptions{}))(t)
	if other != 3 || len(got.Spec.Ports) != 1 {
		t.Errorf("asked %d times, %d ports", other, len(got.Spec.Ports))
	}
}

// TestMutateForever: a hook that writes to the object itself, each time, holds a request no longer
// than its context.
func TestMutateForever(t *testing.T) {
	s, client, h := admitted(t)
	must(fake.Create(s, newPod("a", "x")))(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	h.write = func(*fake.Admission) {
		if n++; n == 10 {
			cancel()
		}
		must(fake.Patch[*pod](s, key("a", "x"), fmt.Appendf(nil, `{"metadata":{"labels":{"n":"%d"}}}`, n)))(t)
		if n > 20 {
			runtime.Goexit()
		}
	}
	_, err := client.Update(ctx, withNode(newPod("a", "x"), "n"), metav1.UpdateOptions{})
	if n != 10 || !errors.Is(err, context.Canceled) {
		t.Errorf("asked %d times: %v", n, err)
	}
}

// TestGeneratedNamesAtOnce: of objects with generated names that are created at once, each is
// stored under the name that Validate has admitted last.
func TestGeneratedNamesAtOnce(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]bool{}
	s := fake.New(fake.Options{Validate: func(_ context.Context, a *fake.Admission) error {
		mu.Lock()
		defer mu.Unlock()
		seen[a.Key.Name] = true
		return nil
	}})
	check(t, fake.Register(s, podKind, fake.Rules{}))
	client := clientOf(t, s, podKind, "a")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				p := newPod("a", "")
				p.GenerateName = "g-"
				if _, err := client.Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	pods := must(fake.List[*pod](s, fake.Selection{}))(t)
	for _, p := range pods {
		if !seen[p.Name] {
			t.Errorf("%s was not admitted", p.Name)
		}
	}
	if len(pods) != 400 {
		t.Errorf("%d pods", len(pods))
	}
}
