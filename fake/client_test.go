package fake_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
)

// pods is an interface as a controller may declare it: the real client and the fake
// satisfy it alike.
type pods interface {
	reflector.Source[*pod]
	Get(context.Context, types.NamespacedName, metav1.GetOptions) (*pod, error)
	Items(context.Context, metav1.ListOptions) iter.Seq2[*pod, error]
	Create(context.Context, *pod, metav1.CreateOptions) (*pod, error)
	Update(context.Context, *pod, metav1.UpdateOptions) (*pod, error)
	UpdateStatus(context.Context, *pod, metav1.UpdateOptions) (*pod, error)
	Patch(context.Context, types.NamespacedName, types.PatchType, []byte, metav1.PatchOptions) (*pod, error)
	Apply(context.Context, any, metav1.ApplyOptions) (*pod, error)
	DeleteCollection(context.Context, metav1.DeleteOptions, metav1.ListOptions) error
	Delete(context.Context, types.NamespacedName, metav1.DeleteOptions) error
}

var (
	_ pods = (*client.Resource[*pod])(nil)
	_ pods = (*fake.Client[*pod])(nil)
)

// podPart is the part that both types of a subresource have.
type podPart interface {
	Get(context.Context, types.NamespacedName, metav1.GetOptions) (*pod, error)
	Create(context.Context, *pod, metav1.CreateOptions) (*pod, error)
	Update(context.Context, *pod, metav1.UpdateOptions) (*pod, error)
	Patch(context.Context, types.NamespacedName, types.PatchType, []byte, metav1.PatchOptions) (*pod, error)
	Apply(context.Context, any, metav1.ApplyOptions) (*pod, error)
}

func subresourceOf(c pods, name string, more ...string) podPart {
	if f, ok := c.(*fake.Client[*pod]); ok {
		return f.Subresource(name, more...)
	}
	return c.(*client.Resource[*pod]).Subresource(name, more...)
}

// bothClients runs f with each client on a server of its own in virtual time, and expects f to
// see the same.
func bothClients(t *testing.T, f func(t *testing.T, s *fake.Server, c pods) []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { compareClients(t, f) })
}

func compareClients(t *testing.T, f func(t *testing.T, s *fake.Server, c pods) []string) {
	direct, remote := statusServer(t, fake.Options{}), statusServer(t, fake.Options{})
	a := f(t, direct, must(fake.NewClient[*pod](direct, fake.Selection{Namespace: "a"}))(t))
	b := f(t, remote, must(client.New(client.Connection{URL: fake.URL, HTTP: remote.Client()},
		kind.OfResource[*pod](schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Named("Pod"), client.Options{Namespace: "a"}))(t))
	if d := cmp.Diff(a, b); d != "" {
		t.Errorf("the clients differ (-fake.Client +client.Resource):\n%s", d)
	}
}

func TestClientWrites(t *testing.T) {
	bothClients(t, func(t *testing.T, _ *fake.Server, c pods) (seen []string) {
		ctx := t.Context()
		p := must(c.Create(ctx, newPod("", "p"), metav1.CreateOptions{}))(t)
		seen = append(seen, p.Namespace, p.ResourceVersion, string(p.UID))
		p.Status.Phase, p.Spec.Node = "Running", "n1"
		p = must(c.UpdateStatus(ctx, p, metav1.UpdateOptions{}))(t)
		seen = append(seen, p.Status.Phase, p.Spec.Node)
		p.Status.Phase, p.Spec.Node = "", "n1"
		p = must(c.Update(ctx, p, metav1.UpdateOptions{}))(t)
		seen = append(seen, p.Status.Phase, p.Spec.Node)
		p = must(c.Patch(ctx, key("", "p"), types.JSONPatchType, []byte(`[{"op":"replace","path":"/spec/node","value":"n2"}]`), metav1.PatchOptions{}))(t)
		seen = append(seen, p.Spec.Node, p.ResourceVersion)
		for got, err := range c.Items(ctx, metav1.ListOptions{Limit: 1}) {
			check(t, err)
			seen = append(seen, got.Name)
		}
		check(t, c.Delete(ctx, key("", "p"), metav1.DeleteOptions{}))
		_, err := c.Get(ctx, key("", "p"), metav1.GetOptions{})
		seen = append(seen, wantStatus(t, err, 404, metav1.StatusReasonNotFound).Message)
		if d := cmp.Diff("Running", seen[3]); d != "" || seen[4] != "" || seen[5] != "Running" || seen[6] != "n1" || seen[7] != "n2" {
			t.Errorf("saw %q", seen)
		}
		return seen
	})
}

// answer returns the result of a call in one line.
func answer(p *pod, err error) string {
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &status):
		st := status.Status()
		return fmt.Sprint(st.Code, st.Reason, st.Message, " ", st.Details != nil && len(st.Details.Causes) > 0)
	case err != nil:
		return "no Status"
	}
	return fmt.Sprint(p.Namespace, p.Name, " ", p.ResourceVersion, p.Generation, p.Labels, p.Spec, p.Status, owners(p))
}

// applyOf is a config for an apply.
func applyOf(name string, members map[string]any) map[string]any {
	out := map[string]any{"metadata": map[string]any{"name": name}}
	maps.Copy(out, members)
	return out
}

func TestClientApplies(t *testing.T) {
	bothClients(t, func(t *testing.T, _ *fake.Server, c pods) (seen []string) {
		ctx, node := t.Context(), func(n string) map[string]any { return map[string]any{"spec": map[string]any{"node": n}} }
		apply := func(config any, opts metav1.ApplyOptions) { seen = append(seen, answer(c.Apply(ctx, config, opts))) }
		one, two := metav1.ApplyOptions{FieldManager: "one"}, metav1.ApplyOptions{FieldManager: "two"}
		apply(applyOf("p", node("n1")), one)
		apply(applyOf("p", node("n1")), one)
		apply(applyOf("p", node("n2")), two)
		apply(applyOf("p", node("n2")), metav1.ApplyOptions{FieldManager: "two", Force: true})
		apply(applyOf("p", node("n3")), metav1.ApplyOptions{FieldManager: "one", Force: true, DryRun: []string{"All"}})
		apply(applyOf("p", node("n2")), metav1.ApplyOptions{})
		apply(applyOf("p", map[string]any{"bogus": 1}), one)
		apply(applyOf("", node("n1")), one)
		apply([]int{1}, one)
		apply(nil, one)
		apply(&unstructured.Unstructured{Object: applyOf("u", node("n1"))}, one)
		apply(struct {
			metav1.ObjectMeta `json:"metadata"`
		}{metav1.ObjectMeta{Name: "far", Labels: map[string]string{"l": "1"}}}, two)
		if len(seen) != 12 || !strings.Contains(seen[0], "ap 21 map[] {n1") || !strings.Contains(seen[2], `conflict with "one"`) || !strings.HasPrefix(seen[11], "afar ") {
			t.Errorf("saw %q", seen)
		}
		return seen
	})
}

func TestClientSubresources(t *testing.T) {
	bothClients(t, func(t *testing.T, s *fake.Server, c pods) (seen []string) {
		ctx, status, p := t.Context(), subresourceOf(c, "status"), newPod("a", "p")
		phase := map[string]any{"status": map[string]any{"phase": "Running"}, "spec": map[string]any{"node": "n1"}}
		opts := metav1.ApplyOptions{FieldManager: "m"}
		note := func(p *pod, err error) { seen = append(seen, answer(p, err)) }
		note(status.Get(ctx, key("", "p"), metav1.GetOptions{}))
		note(status.Apply(ctx, applyOf("p", phase), opts))
		note(status.Update(ctx, p, metav1.UpdateOptions{}))
		must(fake.Create(s, p))(t)
		note(status.Get(ctx, key("", "p"), metav1.GetOptions{}))
		note(status.Create(ctx, p, metav1.CreateOptions{}))
		note(status.Patch(ctx, key("", "p"), types.MergePatchType, []byte(`{"spec":{"node":"n1"},"status":{"phase":"Pending"}}`), metav1.PatchOptions{}))
		note(status.Apply(ctx, applyOf("p", phase), metav1.ApplyOptions{FieldManager: "m", Force: true}))
		p.Status.Phase, p.Spec.Node = "Failed", "n2"
		note(status.Update(ctx, p, metav1.UpdateOptions{}))
		check(t, s.Inject(faults.Fault{Status: faults.Refusal(503, "Busy", 0)}))
		for _, other := range []podPart{subresourceOf(c, "scale"), subresourceOf(c, "status", "more")} {
			note(other.Get(ctx, key("", "p"), metav1.GetOptions{}))
			note(other.Create(ctx, p, metav1.CreateOptions{}))
			note(other.Update(ctx, p, metav1.UpdateOptions{}))
			note(other.Patch(ctx, key("", "p"), types.MergePatchType, []byte(`{}`), metav1.PatchOptions{}))
			note(other.Apply(ctx, applyOf("p", nil), opts))
		}
		note(status.Get(ctx, key("", "p"), metav1.GetOptions{})) // struck by the fault
		if len(seen) != 19 || !strings.Contains(seen[7], "{Failed") || strings.Contains(seen[7], "n2") || !strings.HasPrefix(seen[4], "405") || !strings.HasPrefix(seen[18], "503") {
			t.Errorf("saw %q", seen)
		}
		return seen
	})
}

func TestClientRefusals(t *testing.T) {
	bothClients(t, func(t *testing.T, s *fake.Server, c pods) (seen []string) {
		ctx := t.Context()
		must(fake.Create(s, newPod("a", "p")))(t)
		stale, foreign, wrong := newPod("a", "p"), newPod("a", "p"), newPod("a", "No_Good")
		stale.ResourceVersion, foreign.UID = "1", "other"
		note := func(err error) {
			t.Helper()
			st := wantStatus(t, err, statusOf(err).Code, statusOf(err).Reason)
			seen = append(seen, st.Message)
		}
		note(second(c.Create(ctx, newPod("a", "p"), metav1.CreateOptions{})))
		note(second(c.Create(ctx, wrong, metav1.CreateOptions{})))
		note(second(c.Update(ctx, stale, metav1.UpdateOptions{})))
		note(second(c.UpdateStatus(ctx, stale, metav1.UpdateOptions{})))
		note(second(c.Update(ctx, foreign, metav1.UpdateOptions{})))
		note(second(c.Update(ctx, newPod("a", "q"), metav1.UpdateOptions{})))
		note(second(c.Get(ctx, key("a", "p"), metav1.GetOptions{ResourceVersion: "junk"})))
		note(second(c.Get(ctx, key("a", "p"), metav1.GetOptions{ResourceVersion: "99"})))
		note(second(c.Patch(ctx, key("a", "p"), "application/xml", []byte("{}"), metav1.PatchOptions{})))
		note(second(c.Patch(ctx, key("a", "p"), types.MergePatchType, []byte("{"), metav1.PatchOptions{})))
		note(second(c.Patch(ctx, key("a", "p"), types.JSONPatchType, []byte(`{}`), metav1.PatchOptions{})))
		note(second(c.Patch(ctx, key("a", "p"), types.JSONPatchType, []byte(`[{"op":"test","path":"/spec/node","value":"x"}]`), metav1.PatchOptions{})))
		note(c.Delete(ctx, key("a", "q"), metav1.DeleteOptions{}))
		return seen
	})
}

func TestClientIsStruck(t *testing.T) {
	s := statusServer(t, fake.Options{})
	c := podClient(t, s)
	for _, verb := range []faults.Verb{faults.VerbCreate, faults.VerbGet, faults.VerbUpdate, faults.VerbPatch, faults.VerbDelete, faults.VerbDeleteCollection} {
		check(t, s.Inject(faults.Fault{Verb: verb, Times: -1, Status: faults.Refusal(429, metav1.StatusReasonTooManyRequests, 1)}))
	}
	ctx := t.Context()
	for name, err := range map[string]error{
		"create":        second(c.Create(ctx, newPod("a", "p"), metav1.CreateOptions{})),
		"get":           second(c.Get(ctx, key("a", "p"), metav1.GetOptions{})),
		"update":        second(c.Update(ctx, newPod("a", "p"), metav1.UpdateOptions{})),
		"update status": second(c.UpdateStatus(ctx, newPod("a", "p"), metav1.UpdateOptions{})),
		"patch":         second(c.Patch(ctx, key("a", "p"), types.MergePatchType, []byte("{}"), metav1.PatchOptions{})),
		"delete":        c.Delete(ctx, key("a", "p"), metav1.DeleteOptions{}),
		"delete all":    c.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}),
	} {
		t.Run(name, func(t *testing.T) { wantStatus(t, err, 429, metav1.StatusReasonTooManyRequests) })
	}
	must(fake.Create(s, newPod("a", "p")))(t) // the test's own hand is free
}

func TestClientStopsWithItsContext(t *testing.T) {
	s := statusServer(t, fake.Options{})
	c := podClient(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range []error{
		second(c.Create(ctx, newPod("a", "p"), metav1.CreateOptions{})),
		second(c.Get(ctx, key("a", "p"), metav1.GetOptions{})),
		c.Delete(ctx, key("a", "p"), metav1.DeleteOptions{}),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want context.Canceled", err)
		}
	}
	if s.ResourceVersion() != "1" {
		t.Error("something was written")
	}
}

func TestNewClientErrors(t *testing.T) {
	s := fake.New(fake.Options{})
	if _, err := fake.NewClient[*pod](s, fake.Selection{}); !errors.Is(err, fake.ErrNotRegistered) {
		t.Errorf("error %v, want ErrNotRegistered", err)
	}
}

func TestItemsStops(t *testing.T) {
	s := newServer(t, fake.Options{})
	for _, n := range names {
		must(fake.Create(s, newPod("a", n)))(t)
	}
	c, n := podClient(t, s), 0
	for range c.Items(t.Context(), metav1.ListOptions{Limit: 2}) {
		if n++; n == 3 {
			break
		}
	}
	if n != 3 {
		t.Errorf("%d items", n)
	}
	for _, err := range c.Items(t.Context(), metav1.ListOptions{LabelSelector: "a in"}) {
		wantStatus(t, err, 400, metav1.StatusReasonBadRequest)
		n = -1
	}
	if n != -1 {
		t.Error("no error")
	}
}

// A namespace for a cluster-scoped resource is a mistake of the code under test: a client.Resource
// refuses it as well.
func TestClientScope(t *testing.T) {
	s := fake.New(fake.Options{})
	check(t, fake.Register(s, kind.Of[*pod](v1, "nodes").Named("Node").Cluster().WithSubresources("status"), fake.Rules{}))
	must(fake.Create(s, newPod("", "p")))(t)
	c := must(fake.NewClient[*pod](s, fake.Selection{}))(t)
	ctx, version := t.Context(), s.ResourceVersion()
	wrong := newPod("a", "p")
	for name, err := range map[string]error{
		"create":        second(c.Create(ctx, newPod("a", "q"), metav1.CreateOptions{})),
		"get":           second(c.Get(ctx, key("a", "p"), metav1.GetOptions{})),
		"update":        second(c.Update(ctx, wrong, metav1.UpdateOptions{})),
		"update status": second(c.UpdateStatus(ctx, wrong, metav1.UpdateOptions{})),
		"patch":         second(c.Patch(ctx, key("a", "p"), types.MergePatchType, []byte("{}"), metav1.PatchOptions{})),
		"delete":        c.Delete(ctx, key("a", "p"), metav1.DeleteOptions{}),
		"client":        second(fake.NewClient[*pod](s, fake.Selection{Namespace: "a"})),
		"source":        second(fake.NewSource[*pod](s, fake.Selection{Namespace: "a"})),
	} {
		if !errors.Is(err, fake.ErrScope) || !strings.Contains(err.Error(), `nodes: wrong scope: namespace "a"`) {
			t.Errorf("%s: error %v, want ErrScope", name, err)
		}
	}
	if s.ResourceVersion() != version {
		t.Error("something was written")
	}
	must(c.Get(ctx, key("", "p"), metav1.GetOptions{}))(t)
	check(t, c.Delete(ctx, key("", "p"), metav1.DeleteOptions{}))
}
