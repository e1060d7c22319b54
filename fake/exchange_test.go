package fake_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/reflector"
)

// TestSeen sends each request, and notes how the server sees it.
func TestSeen(t *testing.T) {
	want := []string{
		"create pods a/p: 201",
		`create pods a/p: 409 pods "p" already exists`,
		"create pods a/g-tx98t: 201",
		"get pods a/p: 200",
		`get pods a/none: 404 pods "none" not found`,
		"list pods in a: 200",
		`list pods in a: 400 "spec.none" is not a known field selector: only "metadata.name", "metadata.namespace"`,
		"update pods a/p: 200",
		"update pods/status a/p: 200",
		"patch pods a/p: 200",
		"patch pods a/applied: 201",
		"watch pods in a: 200",
		"get pods a/p: 429 refused by a fault: Too Many Requests",
		"delete pods a/p: no answer",
		"get pods a/p: no answer",
		"delete pods a/p: 200",
		"deletecollection pods in a: 200",
	}
	synctest.Test(t, func(t *testing.T) {
		var seen []fake.Exchange
		s := statusServer(t, fake.Options{Seen: func(x fake.Exchange) { seen = append(seen, x) }})
		start := time.Now()
		sendAll(t, s, clientOf(t, s, podKind, "a"))
		var got []string
		for _, x := range seen {
			if x.UserAgent != "kinform" || x.Time.Before(start) {
				t.Errorf("user agent %q, time %v", x.UserAgent, x.Time)
			}
			x.UserAgent = ""
			got = append(got, x.String())
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	})
}

func sendAll(t *testing.T, s *fake.Server, c *client.Resource[*pod]) {
	ctx, p := t.Context(), key("", "p")
	obj := must(c.Create(ctx, newPod("", "p"), metav1.CreateOptions{}))(t)
	_, _ = c.Create(ctx, newPod("", "p"), metav1.CreateOptions{})
	named := newPod("", "")
	named.GenerateName = "g-"
	must(c.Create(ctx, named, metav1.CreateOptions{}))(t)
	must(c.Get(ctx, p, metav1.GetOptions{}))(t)
	_, _ = c.Get(ctx, key("", "none"), metav1.GetOptions{})
	each := func(reflector.Event[*pod], error) bool { return true }
	must(c.List(ctx, metav1.ListOptions{}, each))(t)
	_, _ = c.List(ctx, metav1.ListOptions{FieldSelector: "spec.none=a"}, each)
	obj.Spec.Node = "n"
	must(c.Update(ctx, obj, metav1.UpdateOptions{}))(t)
	must(c.UpdateStatus(ctx, must(fake.Get[*pod](s, key("a", "p")))(t), metav1.UpdateOptions{}))(t)
	must(c.Patch(ctx, p, types.MergePatchType, []byte(`{}`), metav1.PatchOptions{}))(t)
	must(c.Apply(ctx, map[string]any{"metadata": map[string]any{"name": "applied", "namespace": "a"}}, metav1.ApplyOptions{FieldManager: "m"}))(t)
	watching, end := context.WithTimeout(ctx, time.Second)
	defer end()
	for range c.Watch(watching, metav1.ListOptions{}) {
	}
	check(t, s.Inject(faults.Fault{Verb: faults.VerbGet, Times: 1, Status: faults.Refusal(429, metav1.StatusReasonTooManyRequests, 0)}))
	_, _ = c.Get(ctx, p, metav1.GetOptions{})
	check(t, s.Inject(faults.Fault{Verb: faults.VerbDelete, Times: 1, Restart: faults.RestartKeep}))
	_ = c.Delete(ctx, p, metav1.DeleteOptions{})
	check(t, s.Inject(faults.Fault{Verb: faults.VerbGet, Times: 1, Delay: time.Hour}))
	late, stop := context.WithTimeout(ctx, time.Second)
	defer stop()
	_, _ = c.Get(late, p, metav1.GetOptions{})
	check(t, c.Delete(ctx, p, metav1.DeleteOptions{}))
	check(t, c.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
}
