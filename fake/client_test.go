package fake_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/kind"
)

// inVirtualTime runs f with a client of the pods in namespace a.
func inVirtualTime(t *testing.T, f func(t *testing.T, s *fake.Server, c *client.Resource[*pod])) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := statusServer(t, fake.Options{})
		f(t, s, clientOf(t, s, podKind, "a"))
	})
}

func TestClientWrites(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, _ *fake.Server, c *client.Resource[*pod]) {
		var seen []string
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
	inVirtualTime(t, func(t *testing.T, _ *fake.Server, c *client.Resource[*pod]) {
		var seen []string
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
	})
}

func TestClientSubresources(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *fake.Server, c *client.Resource[*pod]) {
		var seen []string
		ctx, status, p := t.Context(), c.Subresource("status"), newPod("a", "p")
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
		for _, other := range []*client.Subresource[*pod]{c.Subresource("scale"), c.Subresource("status", "more")} {
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
	})
}

func TestClientRefusals(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *fake.Server, c *client.Resource[*pod]) {
		ctx := t.Context()
		must(fake.Create(s, newPod("a", "p")))(t)
		stale, foreign, wrong := newPod("a", "p"), newPod("a", "p"), newPod("a", "No_Good")
		stale.ResourceVersion, foreign.UID = "1", "other"
		for want, err := range map[string]error{
			`409 AlreadyExists pods "p" already exists`:                                            second(c.Create(ctx, newPod("a", "p"), metav1.CreateOptions{})),
			`422 Invalid Pod "No_Good" is invalid: metadata.name: Invalid value: "No_Good"`:        second(c.Create(ctx, wrong, metav1.CreateOptions{})),
			`409 Conflict Operation cannot be fulfilled on pods "p": the object has been modified`: second(c.Update(ctx, stale, metav1.UpdateOptions{})),
			`409 Conflict Operation cannot be fulfilled on pods "p": StorageError: invalid object`: second(c.Update(ctx, foreign, metav1.UpdateOptions{})),
			`404 NotFound pods "q" not found`:                                                      second(c.Update(ctx, newPod("a", "q"), metav1.UpdateOptions{})),
			`400 BadRequest invalid resource version`:                                              second(c.Get(ctx, key("a", "p"), metav1.GetOptions{ResourceVersion: "junk"})),
			`504 Timeout Timeout: Too large resource version: 99, current: 2`:                      second(c.Get(ctx, key("a", "p"), metav1.GetOptions{ResourceVersion: "99"})),
			`415 UnsupportedMediaType 415: Unsupported Media Type`:                                 second(c.Patch(ctx, key("a", "p"), "application/xml", []byte("{}"), metav1.PatchOptions{})),
			`400 BadRequest invalid JSON patch`:                                                    second(c.Patch(ctx, key("a", "p"), types.MergePatchType, []byte("{"), metav1.PatchOptions{})),
			`400 BadRequest json: cannot unmarshal object`:                                         second(c.Patch(ctx, key("a", "p"), types.JSONPatchType, []byte(`{}`), metav1.PatchOptions{})),
			`422 Invalid the server rejected our request due to an error in our request`:           second(c.Patch(ctx, key("a", "p"), types.JSONPatchType, []byte(`[{"op":"test","path":"/spec/node","value":"x"}]`), metav1.PatchOptions{})),
			`404 NotFound pods "r" not found`:                                                      c.Delete(ctx, key("a", "r"), metav1.DeleteOptions{}),
		} {
			st := statusOf(err)
			if got := fmt.Sprint(st.Code, " ", st.Reason, " ", st.Message); !strings.HasPrefix(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		}
	})
}

func TestClientIsStruck(t *testing.T) {
	s := statusServer(t, fake.Options{})
	c := clientOf(t, s, podKind, "a")
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

// A namespace for a cluster-scoped resource is a mistake of the code under test: a client.Resource refuses it as well.
func TestSourceScope(t *testing.T) {
	s := fake.New(fake.Options{})
	check(t, fake.Register(s, kind.Of[*pod](v1, "nodes").Named("Node").Cluster(), fake.Rules{}))
	_, err := fake.NewSource[*pod](s, fake.Selection{Namespace: "a"})
	if !errors.Is(err, fake.ErrScope) || !strings.Contains(err.Error(), `nodes: wrong scope: namespace "a"`) {
		t.Errorf("error %v, want ErrScope", err)
	}
}
