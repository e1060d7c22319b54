package fake_test

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
)

// Requests count, and the test's own writes do not.
func TestRequests(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *fake.Server, c *client.Resource[*pod]) {
		var seen []string
		ctx, p := t.Context(), key("a", "p")
		note := func() { seen = append(seen, fmt.Sprint(s.Requests())) }
		must(fake.Create(s, newPod("a", "other")))(t)
		note()
		for range 2 {
			_, _ = c.Create(ctx, newPod("a", "p"), metav1.CreateOptions{}) // the second is refused
		}
		must(c.Get(ctx, p, metav1.GetOptions{}))(t)
		must(c.List(ctx, metav1.ListOptions{}, func(reflector.Event[*pod], error) bool { return true }))(t)
		note()
		before := s.Requests()
		obj := newPod("a", "p")
		must(c.Update(ctx, obj, metav1.UpdateOptions{}))(t)
		must(c.UpdateStatus(ctx, obj, metav1.UpdateOptions{}))(t)
		must(c.Patch(ctx, p, types.MergePatchType, []byte(`{}`), metav1.PatchOptions{}))(t)
		must(c.Subresource("status").Patch(ctx, p, types.MergePatchType, []byte(`{}`), metav1.PatchOptions{}))(t)
		must(c.Subresource("status").Get(ctx, p, metav1.GetOptions{}))(t)
		must(c.Apply(ctx, map[string]any{"metadata": map[string]any{"name": "p", "namespace": "a"}}, metav1.ApplyOptions{FieldManager: "m"}))(t)
		check(t, c.Delete(ctx, p, metav1.DeleteOptions{}))
		check(t, c.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
		check(t, s.Inject(faults.Fault{Verb: faults.VerbWatch, Status: faults.Refusal(429, metav1.StatusReasonTooManyRequests, 0)}))
		for range c.Watch(ctx, metav1.ListOptions{}) {
		}
		note()
		since := s.Requests().Since(before)
		seen = append(seen, fmt.Sprint(since, since.Writes(), since.Count("", schema.GroupResource{}), since.Count(faults.VerbPatch, schema.GroupResource{Resource: "pods"}),
			since.Count(faults.VerbPatch, schema.GroupResource{Resource: "nodes"})))
		want := "map[delete pods:1 deletecollection pods:1 get pods/status:1 patch pods:2 patch pods/status:1 update pods:1 update pods/status:1 watch pods:1] 7 9 3 0"
		if got := seen[len(seen)-1]; got != want {
			t.Errorf("requests\n%s, want\n%s", got, want)
		}
	})
}

// Requests that were never sent, or that nobody answers for, do not count, and the result is the
// caller's own.
func TestRequestsCopied(t *testing.T) {
	s := statusServer(t, fake.Options{})
	call(t, s, "GET", "/api/v1/nodes", "")
	call(t, s, "PUT", "/api/v1/pods", "")
	got := s.Requests()
	if len(got) > 0 || got.Writes() != 0 {
		t.Errorf("requests %v", got)
	}
	call(t, s, "GET", "/api/v1/pods", "")
	got = s.Requests()
	clear(got)
	if n := s.Requests().Count(faults.VerbList, schema.GroupResource{}); n != 1 {
		t.Errorf("%d lists", n)
	}
}

// As the documentation of package faults says, the answer to a write is lost if its body is cut.
func TestLostAnswer(t *testing.T) {
	s := fake.New(fake.Options{})
	check(t, fake.Register(s, kind.Of[*pod](v1, "pods").Named("Pod"), fake.Rules{}))
	c := clientOf(t, s, podKind, "")
	ctx, p := t.Context(), key("a", "p")
	for _, test := range []struct {
		verb  faults.Verb
		write func() error
	}{
		{faults.VerbCreate, func() error { return second(c.Create(ctx, newPod("a", "p"), metav1.CreateOptions{})) }},
		{faults.VerbUpdate, func() error {
			obj := must(fake.Get[*pod](s, p))(t)
			obj.Labels = map[string]string{"a": "b"}
			return second(c.Update(ctx, obj, metav1.UpdateOptions{}))
		}},
		{faults.VerbPatch, func() error {
			return second(c.Patch(ctx, p, types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"c"}}}`), metav1.PatchOptions{}))
		}},
		{faults.VerbDelete, func() error { return c.Delete(ctx, p, metav1.DeleteOptions{}) }},
	} {
		before := s.ResourceVersion()
		check(t, s.Inject(must(faults.Parse("truncate "+string(test.verb)+" pods bytes=1"))(t)...))
		var status apierrors.APIStatus
		if err := test.write(); err == nil || errors.As(err, &status) {
			t.Errorf("%s: the answer came: %v", test.verb, err)
		}
		if s.ResourceVersion() == before {
			t.Errorf("%s: nothing was written", test.verb)
		}
	}
}
