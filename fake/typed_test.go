package fake_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
)

func TestCreateFillsMetadata(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, fake.Options{})
		in := newPod("prod", "web")
		in.UID, in.Generation, in.CreationTimestamp = "mine", 7, metav1.NewTime(time.Unix(1, 0))
		out := must(fake.Create(s, in))(t)
		want := newPod("prod", "web")
		want.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
		want.UID, want.Generation, want.ResourceVersion = "6e789e6a-a1b9-45f4-8000-000000000002", 1, "2"
		want.CreationTimestamp = metav1.NewTime(time.Now()).Rfc3339Copy()
		if d := cmp.Diff(want, out); d != "" {
			t.Errorf("created (-want +got):\n%s", d)
		}
		if in.UID != "mine" || in.ResourceVersion != "" || in.Kind != "" {
			t.Errorf("the argument was changed: %+v", in)
		}
		if got := s.ResourceVersion(); got != "2" {
			t.Errorf("server at %s, want 2", got)
		}
	})
}

func TestNothingIsAliased(t *testing.T) {
	s := newServer(t, fake.Options{})
	in := newPod("a", "p")
	in.Labels, in.Spec.Args = map[string]string{"app": "web"}, []string{"x"}
	in.Kind, in.APIVersion = "Pod", "v1"
	want := must(fake.Create(s, in))(t)
	spoil := func(p *pod) { p.Labels["app"], p.Spec.Args[0], p.ResourceVersion = "spoiled", "spoiled", "99" }
	reads := map[string]func() *pod{
		"create": func() *pod { return in },
		"get":    func() *pod { return must(fake.Get[*pod](s, key("a", "p")))(t) },
		"list":   func() *pod { return must(fake.List[*pod](s, fake.Selection{}))(t)[0] },
		"update": func() *pod { return must(fake.Update(s, want.DeepCopyObject().(*pod)))(t) },
		"patch":  func() *pod { return must(fake.Patch[*pod](s, key("a", "p"), []byte(`{}`)))(t) },
	}
	for name, read := range reads {
		spoil(read())
		if d := cmp.Diff(want, must(fake.Get[*pod](s, key("a", "p")))(t)); d != "" {
			t.Fatalf("spoiling what %s returned reached the server:\n%s", name, d)
		}
	}
	shared := must(fake.List[*pod](s, fake.Selection{ReadOnly: true}))(t)
	again := must(fake.List[*pod](s, fake.Selection{ReadOnly: true}))(t)
	if shared[0] != again[0] {
		t.Error("ReadOnly made copies")
	}
}

func TestRefusals(t *testing.T) {
	s := newServer(t, fake.Options{})
	stale := must(fake.Create(s, newPod("a", "p")))(t)
	must(fake.Patch[*pod](s, key("a", "p"), []byte(`{"spec":{"node":"n1"}}`)))(t)
	foreign := newPod("a", "p")
	foreign.UID = "other"
	withRV := newPod("a", "q")
	withRV.ResourceVersion = "1"
	wrongKind := newPod("a", "q")
	wrongKind.Kind = "Widget"
	wrongVersion := newPod("a", "q")
	wrongVersion.APIVersion = "v2"
	badLabel := newPod("a", "q")
	badLabel.Labels = map[string]string{"a b": "c"}
	before := s.ResourceVersion()
	for _, c := range []struct {
		name   string
		call   func() error
		code   int32
		reason metav1.StatusReason
		text   string
	}{
		{"create again", func() error { return second(fake.Create(s, newPod("a", "p"))) }, 409, metav1.StatusReasonAlreadyExists, `pods "p" already exists`},
		{"create with RV", func() error { return second(fake.Create(s, withRV)) }, 400, metav1.StatusReasonBadRequest, "resourceVersion should not be set on objects to be created"},
		{"create without name", func() error { return second(fake.Create(s, newPod("a", ""))) }, 422, metav1.StatusReasonInvalid, "name or generateName is required"},
		{"create without namespace", func() error { return second(fake.Create(s, newPod("", "p"))) }, 422, metav1.StatusReasonInvalid, "metadata.namespace: Required value"},
		{"create with bad name", func() error { return second(fake.Create(s, newPod("a", "No_Good"))) }, 422, metav1.StatusReasonInvalid, "RFC 1123 subdomain"},
		{"create with bad label", func() error { return second(fake.Create(s, badLabel)) }, 422, metav1.StatusReasonInvalid, "metadata.labels"},
		{"create wrong kind", func() error { return second(fake.Create(s, wrongKind)) }, 400, metav1.StatusReasonBadRequest, "does not match the expected kind (Pod)"},
		{"create wrong version", func() error { return second(fake.Create(s, wrongVersion)) }, 400, metav1.StatusReasonBadRequest, "does not match the expected API version (v1)"},
		{"create nil", func() error { return second(fake.Create[*pod](s, nil)) }, 400, metav1.StatusReasonBadRequest, "nil"},
		{"get nothing", func() error { return second(fake.Get[*pod](s, key("a", "q"))) }, 404, metav1.StatusReasonNotFound, `pods "q" not found`},
		{"update nothing", func() error { return second(fake.Update(s, newPod("a", "q"))) }, 404, metav1.StatusReasonNotFound, ""},
		{"update stale", func() error { return second(fake.Update(s, stale)) }, 409, metav1.StatusReasonConflict, "the object has been modified; please apply your changes"},
		{"update foreign", func() error { return second(fake.Update(s, foreign)) }, 409, metav1.StatusReasonConflict, "Precondition failed: UID in precondition: other"},
		{"patch nothing", func() error { return second(fake.Patch[*pod](s, key("a", "q"), []byte(`{}`))) }, 404, metav1.StatusReasonNotFound, ""},
		{"patch no JSON", func() error { return second(fake.Patch[*pod](s, key("a", "p"), []byte(`{`))) }, 400, metav1.StatusReasonBadRequest, "invalid JSON patch"},
		{"patch wrong type", func() error { return second(fake.Patch[*pod](s, key("a", "p"), []byte(`{"spec":1}`))) }, 422, metav1.StatusReasonInvalid, " \"\" is invalid: patch: Invalid value: "},
		{"patch name", func() error {
			return second(fake.Patch[*pod](s, key("a", "p"), []byte(`{"metadata":{"name":"x"}}`)))
		}, 400, metav1.StatusReasonBadRequest, "the name of the object (x) does not match the name on the URL (p)"},
		{"patch stale", func() error {
			return second(fake.Patch[*pod](s, key("a", "p"), []byte(`{"metadata":{"resourceVersion":"2"}}`)))
		}, 409, metav1.StatusReasonConflict, ""},
		{"delete nothing", func() error { return second(fake.Delete[*pod](s, key("a", "q"))) }, 404, metav1.StatusReasonNotFound, ""},
		{"list bad labels", func() error { return second(fake.List[*pod](s, fake.Selection{LabelSelector: "a in"})) }, 400, metav1.StatusReasonBadRequest, ""},
		{"list bad field", func() error { return second(fake.List[*pod](s, fake.Selection{FieldSelector: "spec.node=a"})) }, 400, metav1.StatusReasonBadRequest, `"spec.node" is not a known field selector`},
	} {
		t.Run(c.name, func(t *testing.T) {
			status := wantStatus(t, c.call(), c.code, c.reason)
			if !strings.Contains(status.Message, c.text) {
				t.Errorf("message %q, want %q in it", status.Message, c.text)
			}
		})
	}
	if got := s.ResourceVersion(); got != before {
		t.Errorf("refused calls moved the server from %s to %s", before, got)
	}
}

func second[T any](_ T, err error) error { return err }

func TestUpdateAndGeneration(t *testing.T) {
	s := newServer(t, fake.Options{})
	p := must(fake.Create(s, newPod("a", "p")))(t)
	same := must(fake.Update(s, p))(t)
	if same.ResourceVersion != p.ResourceVersion {
		t.Errorf("an update of nothing moved from %s to %s", p.ResourceVersion, same.ResourceVersion)
	}
	p.Status.Phase, p.CreationTimestamp = "Running", metav1.Time{}
	next := must(fake.Update(s, p))(t)
	if next.Generation != 1 || next.ResourceVersion == p.ResourceVersion || next.CreationTimestamp.IsZero() {
		t.Errorf("after a status change: generation %d, RV %s, created %v", next.Generation, next.ResourceVersion, next.CreationTimestamp)
	}
	blind := newPod("a", "p")
	blind.Spec.Node = "n1"
	last := must(fake.Update(s, blind))(t)
	if last.Generation != 2 || last.UID != p.UID {
		t.Errorf("after a spec change without RV: generation %d, uid %s", last.Generation, last.UID)
	}
}

func TestGenerationOfUnstructured(t *testing.T) {
	s := fake.New(fake.Options{})
	check(t, fake.Register(s, kind.Of[*unstructured.Unstructured](exampleV1, "jobs").Named("Job").WithSubresources("status"), fake.Rules{}))
	obj := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"namespace": "a", "name": "j"}}}
	for _, c := range []struct {
		patch string
		want  int64
	}{{`{}`, 1}, {`{"status":{"n":1}}`, 1}, {`{"metadata":{"labels":{"a":"b"}}}`, 1}, {`{"spec":{"n":1}}`, 2}, {`{"data":1}`, 3}, {`{"data":1}`, 3}} {
		if s.ResourceVersion() == "1" {
			must(fake.Create(s, obj))(t)
		}
		got := must(fake.Patch[*unstructured.Unstructured](s, key("a", "j"), []byte(c.patch)))(t)
		if got.GetGeneration() != c.want {
			t.Errorf("after %s: generation %d, want %d", c.patch, got.GetGeneration(), c.want)
		}
	}
	obj.Object["metadata"].(map[string]any)["labels"] = "none"
	wantStatus(t, second(fake.Update(s, obj)), 400, metav1.StatusReasonBadRequest)
}

func TestGenerateName(t *testing.T) {
	names := func() []string {
		s := newServer(t, fake.Options{})
		var out []string
		for range 50 {
			p := newPod("a", "")
			p.GenerateName = "job-"
			out = append(out, must(fake.Create(s, p))(t).Name)
		}
		long := newPod("a", "")
		long.GenerateName = strings.Repeat("x", 80)
		if got := must(fake.Create(s, long))(t).Name; len(got) != 63 {
			t.Errorf("generated name of %d bytes: %s", len(got), got)
		}
		return out
	}
	first := names()
	if d := cmp.Diff(first, names()); d != "" {
		t.Errorf("two servers generate different names:\n%s", d)
	}
	for _, n := range first {
		if !strings.HasPrefix(n, "job-") || len(n) != len("job-")+5 {
			t.Errorf("generated name %q", n)
		}
	}
}

func TestFinalizers(t *testing.T) {
	s := newServer(t, fake.Options{})
	p := newPod("a", "p")
	p.Finalizers = []string{"example.com/hold"}
	must(fake.Create(s, p))(t)
	marked := must(fake.Delete[*pod](s, key("a", "p")))(t)
	if marked.DeletionTimestamp == nil {
		t.Fatal("no deletionTimestamp")
	}
	again := must(fake.Delete[*pod](s, key("a", "p")))(t)
	if again.ResourceVersion != marked.ResourceVersion {
		t.Errorf("a second delete wrote: %s, %s", marked.ResourceVersion, again.ResourceVersion)
	}
	more := marked.DeepCopyObject().(*pod)
	more.Finalizers = append(more.Finalizers, "example.com/more")
	wantStatus(t, second(fake.Update(s, more)), 422, metav1.StatusReasonInvalid)
	marked.Finalizers, marked.DeletionTimestamp = nil, nil
	must(fake.Update(s, marked))(t)
	wantStatus(t, second(fake.Get[*pod](s, key("a", "p"))), 404, metav1.StatusReasonNotFound)
}

func TestTargets(t *testing.T) {
	s := newServer(t, fake.Options{})
	type U = *unstructured.Unstructured
	check(t, fake.Register(s, kind.Of[U](schema.GroupVersion{Group: "apps", Version: "v1"}, "deployments").Named("Deployment"), fake.Rules{}))
	check(t, fake.Register(s, kind.Of[U](schema.GroupVersion{Group: "batch", Version: "v1"}, "jobs").Named("Job"), fake.Rules{}))
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "batch/v1", "kind": "Job",
		"metadata": map[string]any{"namespace": "a", "name": "j"}, "spec": map[string]any{"n": int64(1)}}}
	got := must(fake.Create(s, obj))(t)
	if got.GetGeneration() != 1 || got.GetUID() == "" {
		t.Errorf("created %v", got)
	}
	jobs, deployments := schema.GroupResource{Group: "batch", Resource: "jobs"}, schema.GroupResource{Group: "apps", Resource: "deployments"}
	must(fake.Get[U](s.Resource(jobs), key("a", "j")))(t)
	wantStatus(t, second(fake.Get[U](s.Resource(deployments), key("a", "j"))), 404, metav1.StatusReasonNotFound)
	obj.Object["spec"] = map[string]any{"n": 1} // an int is no JSON value
	wantStatus(t, second(fake.Update(s, obj)), 400, metav1.StatusReasonBadRequest)
	obj.Object["kind"], obj.Object["spec"] = "CronJob", nil
	for name, c := range map[string]struct{ got, want error }{
		"ambiguous":          {second(fake.Get[U](s, key("a", "j"))), fake.ErrAmbiguous},
		"kind not there":     {second(fake.Create(s, obj)), fake.ErrNotRegistered},
		"type not there":     {second(fake.Get[*struct{ metav1.ObjectMeta }](s, key("a", "j"))), fake.ErrNotRegistered},
		"resource not there": {second(fake.Get[U](s.Resource(schema.GroupResource{Resource: "x"}), key("a", "j"))), fake.ErrNotRegistered},
		"another type":       {second(fake.Get[*pod](s.Resource(jobs), key("a", "j"))), fake.ErrType},
		"twice":              {fake.Register(s, kind.Of[*pod](v1, "pods"), fake.Rules{}), fake.ErrDuplicate},
		"kind twice":         {fake.Register(s, kind.Of[*pod](v1, "pods2"), fake.Rules{}), fake.ErrDuplicate},
		"no struct":          {fake.Register(s, kind.Of[metav1.Object](v1, "objects"), fake.Rules{}), fake.ErrType},
		"no kind":            {fake.Register(s, kind.Of[U](v1, "us"), fake.Rules{}), fake.ErrResource},
		"bad name":           {fake.Register(s, kind.Of[*pod](schema.GroupVersion{Group: "-", Version: "v1"}, "a/b"), fake.Rules{}), fake.ErrResource},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
	if err := fake.Register(s, kind.Of[*widget](v1, "pods"), fake.Rules{}); err == nil || !strings.Contains(err.Error(), "its kind is Pod") {
		t.Errorf("two kinds of one resource: %v", err)
	}
}

func TestTypeWithoutDeepCopy(t *testing.T) {
	s := newServer(t, fake.Options{})
	w := &widget{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "w"}, Size: 1 << 60, Extra: map[string]any{"n": int64(1<<53 + 1)}}
	got := must(fake.Create(s, w))(t)
	if got.Size != w.Size || got.Extra["n"] != w.Extra["n"] {
		t.Errorf("numbers changed: %+v", got)
	}
	got.Extra["n"] = "spoiled"
	if again := must(fake.Get[*widget](s, key("a", "w")))(t); again.Extra["n"] != w.Extra["n"] {
		t.Error("the server's map was handed out")
	}
	bad := &widget{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "bad"}, Extra: map[string]any{"f": func() {}}}
	wantStatus(t, second(fake.Create(s, bad)), 400, metav1.StatusReasonBadRequest)
}

func TestClusterScoped(t *testing.T) {
	s := newServer(t, fake.Options{})
	n := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "n1", Namespace: "ignored"}}
	if got := must(fake.Create(s, n))(t); got.Namespace != "" || got.Kind != "Node" || got.Generation != 0 {
		t.Errorf("created %+v", got)
	}
	n.Labels = map[string]string{"zone": "a"}
	must(fake.Update(s, n))(t)
	if got := must(fake.List[*metav1.PartialObjectMetadata](s, fake.Selection{LabelSelector: "zone=a"}))(t); len(got) != 1 {
		t.Errorf("listed %v", got)
	}
}
