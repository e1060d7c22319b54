package fake_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/kind"
)

// TestStrategy has one for pods: it decides about statuses and generations, and a test's own
// functions get its defaults alone.
func TestStrategy(t *testing.T) {
	var saw []string
	sum := uint64(1)
	strategy := &fake.Strategy{
		Default: func(obj metav1.Object) {
			if p := obj.(*pod); p.Spec.Node == "" {
				p.Spec.Node = "default"
			}
		},
		Prepare: func(_ context.Context, a *fake.Admission) (uint64, error) {
			p := a.Object.(*pod)
			saw = append(saw, string(a.Verb)+" "+a.Subresource)
			switch {
			case a.Server == nil || p.UID == "" || p.CreationTimestamp.IsZero() || (a.Verb == faults.VerbCreate) != (a.Old == nil):
				t.Errorf("%s of %+v", a.Verb, p)
			case p.Spec.Node == "bad":
				return 0, apierrors.NewBadRequest("bad")
			case p.Spec.Node == "worse":
				return 0, errors.New("worse")
			}
			p.Generation = 7
			return sum, nil
		},
		Printer: fake.Printer{
			Columns: []metav1.TableColumnDefinition{{Name: "Node", Type: "string"}},
			Row: func(obj metav1.Object) (metav1.TableRow, error) {
				return metav1.TableRow{Cells: []any{obj.(*pod).Spec.Node}}, nil
			},
		},
	}
	s := statusServer(t, fake.Options{Strategy: func(of schema.GroupVersionResource, kind schema.GroupVersionKind) *fake.Strategy {
		if of.Resource != "pods" || kind.Kind != "Pod" {
			return nil
		}
		return strategy
	}})
	own := newPod("a", "own")
	own.Status.Phase = "Running"
	if own = must(fake.Create(s, own))(t); own.Spec.Node != "default" || own.Status.Phase != "" || own.Generation != 1 || len(saw) > 0 {
		t.Errorf("by a test: %+v, saw %q", own, saw)
	}
	c := clientOf(t, s, podKind, "a")
	sent := newPod("", "p")
	sent.Status.Phase = "Running"
	got := must(c.Create(t.Context(), sent, metav1.CreateOptions{}))(t)
	if got.Spec.Node != "default" || got.Status.Phase != "Running" || got.Generation != 7 {
		t.Errorf("by a client: %+v", got)
	}
	got.Status.Phase = "Failed"
	must(c.UpdateStatus(t.Context(), got, metav1.UpdateOptions{}))(t)
	for node, code := range map[string]int32{"bad": http.StatusBadRequest, "worse": http.StatusInternalServerError} {
		_, err := c.Patch(t.Context(), key("", "p"), types.MergePatchType, []byte(`{"spec":{"node":"`+node+`"}}`), metav1.PatchOptions{})
		if st := statusOf(err); st.Code != code || !strings.HasSuffix(st.Message, node) {
			t.Errorf("%s: %v, want %d", node, err, code)
		}
	}
	for want := range 3 { // a write of nothing is one if what is stored changes
		sum = 1 + uint64(min(want, 1))
		was := must(c.Get(t.Context(), key("", "p"), metav1.GetOptions{}))(t)
		got := must(c.Patch(t.Context(), key("", "p"), types.MergePatchType, []byte(`{}`), metav1.PatchOptions{}))(t)
		if wrote := got.ResourceVersion != was.ResourceVersion; wrote != (want == 1) {
			t.Errorf("sum %d: wrote %v", sum, wrote)
		}
	}
	saw = slices.Delete(saw, len(saw)-3, len(saw))
	if d := strings.Join(saw, ","); d != "create ,update status,update ,update " {
		t.Errorf("saw %q", d)
	}
	req := must(http.NewRequestWithContext(t.Context(), http.MethodGet, fake.URL+"/api/v1/namespaces/a/pods/p", http.NoBody))(t)
	req.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	resp := must(s.Client().Do(req))(t)
	b := new(strings.Builder)
	check(t, resp.Write(b))
	if text := b.String(); !strings.Contains(text, `"cells":["default"]`) || !strings.Contains(text, `"name":"Node"`) {
		t.Errorf("table %s", text)
	}
}

// TestPrinterMetadata: a table shows the metadata that the printer returns.
func TestPrinterMetadata(t *testing.T) {
	s := fake.New(fake.Options{})
	check(t, fake.Define(s, fake.Definition[*pod]{Kind: kind.Of[*pod](v1, "pods"), Hooks: fake.Hooks[*pod]{Printer: fake.Printer{
		Columns: []metav1.TableColumnDefinition{{Name: "Name", Type: "string"}},
		Row: func(obj metav1.Object) (metav1.TableRow, error) {
			own := *obj.(*pod)
			own.Annotations = map[string]string{"shown": "yes"}
			return metav1.TableRow{Cells: []any{own.Name}, Object: runtime.RawExtension{Object: &own}}, nil
		},
	}}}))
	p := newPod("a", "p")
	p.Annotations = map[string]string{"stored": "yes"}
	must(fake.Create(s, p))(t)
	for include, want := range map[string]string{"": `"annotations":{"shown":"yes"}`, "?includeObject=Object": `"annotations":{"stored":"yes"}`} {
		code, body, _ := call(t, s, "GET", "/api/v1/namespaces/a/pods/p"+include, "", "Accept", "application/json;as=Table;g=meta.k8s.io;v=v1")
		if code != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s, want %s", include, code, body, want)
		}
	}
}

// TestTimesOfManagersAreNoChange: with a strategy, too, a write that changes nothing but the times of managers is none,
// whatever the group of the resource.
func TestTimesOfManagersAreNoChange(t *testing.T) {
	for _, group := range []string{"wardle.example.com", "wardle.k8s.io"} {
		now := time.Unix(1e9, 0)
		s := fake.New(fake.Options{
			Now: func() time.Time { now = now.Add(time.Minute); return now },
			Strategy: func(schema.GroupVersionResource, schema.GroupVersionKind) *fake.Strategy {
				return &fake.Strategy{Prepare: func(context.Context, *fake.Admission) (uint64, error) { return 42, nil }}
			},
		})
		check(t, fake.Register(s, kindOf(group, "Flunder"), fake.Rules{}))
		client := clientOf(t, s, kindOf(group, "Flunder"), "a")
		changed := must(client.Apply(t.Context(), newKind(group, "Flunder", "x").Object, metav1.ApplyOptions{FieldManager: "me"}))(t).DeepCopy()
		changed.SetLabels(map[string]string{"a": "b"})
		before := must(client.Update(t.Context(), changed, metav1.UpdateOptions{FieldManager: "other"}))(t)
		changed = before.DeepCopy()
		managers := changed.GetManagedFields()
		for n := range managers {
			managers[n].Time = &metav1.Time{Time: managers[n].Time.Add(time.Hour)}
		}
		changed.SetManagedFields(managers)
		after := must(client.Update(t.Context(), changed, metav1.UpdateOptions{FieldManager: "other"}))(t)
		if after.GetResourceVersion() != before.GetResourceVersion() {
			t.Errorf("%s: written at %s, and again at %s", group, before.GetResourceVersion(), after.GetResourceVersion())
		}
	}
}
