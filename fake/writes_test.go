package fake_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
)

// attempt is one random write: what it asks for, and what the model says to it.
type attempt struct {
	w      *world
	c      *client.Resource[*pod]
	k      types.NamespacedName
	old    *pod // nil when there is none
	dryRun []string

	// The object that the write makes, as far as the model knows it.
	node, phase string
	app         string
	generation  int64
}

// write does a random write and holds its answer to the model.
func (w *world) write(c *client.Resource[*pod]) {
	a := attempt{w: w, c: c, k: key(namespaces[w.r.IntN(len(namespaces))], names[w.r.IntN(len(names))])}
	a.old = w.states[w.now()][a.k]
	if w.r.IntN(6) == 0 {
		a.dryRun = []string{metav1.DryRunAll}
	}
	a.node, a.phase, a.app = strconv.Itoa(w.r.IntN(3)), strconv.Itoa(w.r.IntN(3)), apps[w.r.IntN(len(apps))]
	switch op := w.r.IntN(20); {
	case a.old == nil && op < 10:
		a.create()
	case op < 4:
		a.update()
	case op < 8:
		a.updateStatus()
	case op < 13:
		a.patch()
	case op < 15:
		a.apply()
	case op == 15:
		a.deleteCollection()
	default:
		a.delete()
	}
	if got := w.s.ResourceVersion(); got != strconv.FormatUint(w.now(), 10) {
		w.t.Fatalf("server at %s, model at %d after %+v", got, w.now(), a)
	}
}

// object is the body of a PUT or a POST. code is the status of its refusal, or 0.
func (a *attempt) object() (p *pod, code int32) {
	p = newPod(a.k.Namespace, a.k.Name)
	p.Spec.Node, p.Status.Phase, p.Labels = a.node, a.phase, map[string]string{"app": a.app}
	if a.old == nil {
		return p, 404
	}
	switch a.w.r.IntN(4) {
	case 0:
		p.ResourceVersion, code = "1", 409
	case 1:
		p.UID, code = "other", 409
	case 2:
		p.ResourceVersion, p.UID = a.old.ResourceVersion, a.old.UID
	}
	return p, code
}

func (a *attempt) create() {
	p, _ := a.object()
	a.phase, a.generation = "", 1
	got, err := a.c.Create(a.w.t.Context(), p, metav1.CreateOptions{DryRun: a.dryRun})
	a.judge("create", got, err, 0)
}

func (a *attempt) update() {
	p, code := a.object()
	a.keepStatus()
	got, err := a.c.Update(a.w.t.Context(), p, metav1.UpdateOptions{DryRun: a.dryRun})
	a.judge("update", got, err, code)
}

// keepStatus expects a write of all but the status.
func (a *attempt) keepStatus() {
	a.phase = ""
	if a.old != nil {
		a.phase, a.generation = a.old.Status.Phase, a.old.Generation
		if a.old.Spec.Node != a.node {
			a.generation++
		}
	}
}

func (a *attempt) updateStatus() {
	p, code := a.object()
	if a.old != nil {
		a.node, a.generation = a.old.Spec.Node, a.old.Generation
	}
	got, err := a.c.UpdateStatus(a.w.t.Context(), p, metav1.UpdateOptions{DryRun: a.dryRun})
	a.judge("update of the status", got, err, code)
}

func (a *attempt) patch() {
	code := int32(0)
	if a.old == nil {
		code = 404
	}
	kind := []types.PatchType{types.JSONPatchType, types.MergePatchType, types.StrategicMergePatchType}[a.w.r.IntN(3)]
	data := fmt.Sprintf(`{"spec":{"node":%q},"status":{"phase":%q},"metadata":{"labels":{"app":%q}}}`, a.node, a.phase, a.app)
	if kind == types.JSONPatchType {
		data = fmt.Sprintf(`[{"op":"add","path":"/spec/node","value":%q},{"op":"add","path":"/metadata/labels","value":{"app":%q}}]`, a.node, a.app)
	}
	a.keepStatus()
	got, err := a.c.Patch(a.w.t.Context(), a.k, kind, []byte(data), metav1.PatchOptions{DryRun: a.dryRun})
	a.judge(string(kind), got, err, code)
}

func (a *attempt) apply() {
	data := fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s, labels: {app: %q}}\nspec: {node: %q}\nstatus: {phase: %q}", a.k.Name, a.app, a.node, a.phase)
	a.keepStatus()
	if a.old == nil {
		a.generation = 1
	}
	force := true
	got, err := a.c.Patch(a.w.t.Context(), a.k, types.ApplyYAMLPatchType, []byte(data),
		metav1.PatchOptions{DryRun: a.dryRun, FieldManager: apps[a.w.r.IntN(2)], Force: &force})
	a.judge("apply", got, err, 0)
}

func (a *attempt) delete() {
	opts, code := metav1.DeleteOptions{DryRun: a.dryRun}, int32(0)
	switch stale := "1"; {
	case a.old == nil:
		code = 404
	case a.w.r.IntN(3) == 0:
		opts.Preconditions, code = &metav1.Preconditions{ResourceVersion: &stale}, 409
	case a.w.r.IntN(2) == 0:
		opts.Preconditions = &metav1.Preconditions{UID: &a.old.UID, ResourceVersion: &a.old.ResourceVersion}
	}
	err := a.c.Delete(a.w.t.Context(), a.k, opts)
	if got := statusOf(err).Code; got != code {
		a.w.t.Fatalf("delete of %s with %+v: %v, want %d", a.k, opts, err, code)
	}
	if code == 0 && a.dryRun == nil {
		a.gone(a.old)
	}
}

// gone notes the two writes of a deletion of a pod: the mark and the end.
func (a *attempt) gone(old *pod) {
	marked, k, zero := *old, key(old.Namespace, old.Name), int64(0)
	marked.Generation++
	marked.DeletionTimestamp, marked.DeletionGracePeriodSeconds = &metav1.Time{Time: epoch()}, &zero
	marked.ResourceVersion = strconv.FormatUint(a.w.now()+1, 10)
	a.w.set(k, &marked)
	a.w.set(k, nil)
}

// epoch is the clock of the servers of this file.
func epoch() time.Time { return time.Unix(1_000_000_000, 0) }

// deleteCollection deletes an app in a namespace.
func (a *attempt) deleteCollection() {
	t := a.w.t
	in := must(client.InNamespace(a.c, a.k.Namespace))(t)
	check(t, in.DeleteCollection(t.Context(), metav1.DeleteOptions{DryRun: a.dryRun}, metav1.ListOptions{LabelSelector: "app=" + a.app}))
	if a.dryRun != nil {
		return
	}
	for _, p := range a.w.list(a.w.now(), selected{namespace: a.k.Namespace, app: a.app}) {
		a.gone(p)
	}
}

// judge compares an answer with what the model expects, and notes the write.
func (a *attempt) judge(verb string, got *pod, err error, code int32) {
	t := a.w.t
	t.Helper()
	if c := statusOf(err).Code; c != code || (err != nil) != (code != 0) {
		t.Fatalf("%s of %s: %v, want %d", verb, a.k, err, code)
	}
	if code != 0 {
		return
	}
	if got.Spec.Node != a.node || got.Status.Phase != a.phase || got.Labels["app"] != a.app || got.Generation != a.generation {
		t.Fatalf("%s of %s: got %+v\nof %+v\nwant %+v", verb, a.k, got, a.old, *a)
	}
	if a.old != nil && (got.UID != a.old.UID || !got.CreationTimestamp.Equal(&a.old.CreationTimestamp)) {
		t.Fatalf("%s of %s made another object of it: %+v", verb, a.k, got)
	}
	switch {
	case a.dryRun != nil:
	case a.old == nil:
		a.w.set(a.k, got)
	default:
		a.w.wrote(a.k, a.old, got)
	}
}

// TestWritesAgainstModel writes at random.
func TestWritesAgainstModel(t *testing.T) {
	seeds := uint64(30)
	if testing.Short() {
		seeds = 8
	}
	for seed := range seeds {
		w := &world{model: newModel(), t: t, r: rand.New(rand.NewPCG(seed, 3)), s: statusServer(t, fake.Options{Now: epoch})}
		c := clientOf(t, w.s, podKind, "")
		for range 150 {
			w.write(c)
			if w.r.IntN(8) == 0 {
				w.checkWatch(randomSelection(w.r))
				w.checkList(randomSelection(w.r))
			}
		}
		want := slices.Collect(maps.Values(w.states[w.now()]))
		var got []*pod
		for p, err := range c.Items(t.Context(), metav1.ListOptions{Limit: 3}) {
			check(t, err)
			got = append(got, p)
		}
		order := func(p, q *pod) int { return strings.Compare(p.Namespace+"/"+p.Name, q.Namespace+"/"+q.Name) }
		slices.SortFunc(want, order)
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("seed %d (-model +server):\n%s", seed, d)
		}
	}
}

// TestBlindUpdates: where the API server wants a resourceVersion, requests need one, and the
// test itself does not.
func TestBlindUpdates(t *testing.T) {
	for _, c := range []struct {
		kind    *kind.Kind[*unstructured.Unstructured]
		rules   fake.Rules
		refused bool
	}{
		{kindOf("example.com", "Pod"), fake.Rules{}, true},
		{kindOf("example.com", "Pod"), fake.Rules{BlindUpdates: true}, false},
		{kindOf("", "Pod"), fake.Rules{}, false},
		{kindOf("coordination.k8s.io", "Lease"), fake.Rules{}, true},
		{kindOf("storage.k8s.io", "CSINode"), fake.Rules{}, true},
		{kindOf("storage.k8s.io", "StorageClass"), fake.Rules{}, false},
	} {
		s := fake.New(fake.Options{})
		check(t, fake.Register(s, kind.As[*pod](c.kind.WithSubresources("status")), c.rules))
		requests := clientOf(t, s, kind.As[*pod](c.kind.WithSubresources("status")), "a")
		must(fake.Create(s, newPod("a", "p")))(t)
		next := newPod("a", "p")
		next.Spec.Node, next.Status.Phase = "n", "Ready"
		_, update := requests.Update(t.Context(), next, metav1.UpdateOptions{})
		_, status := requests.UpdateStatus(t.Context(), next, metav1.UpdateOptions{})
		_, merge := requests.Patch(t.Context(), key("", "p"), types.MergePatchType, []byte(`{"metadata":{"resourceVersion":null},"spec":{"node":"m"}}`), metav1.PatchOptions{})
		for what, err := range map[string]error{"update": update, "status": status, "patch": merge} {
			if !c.refused {
				check(t, err)
				continue
			}
			st := wantStatus(t, err, 422, metav1.StatusReasonInvalid)
			if !strings.Contains(st.Message, ` "p" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update`) {
				t.Errorf("%s of %v: %q", what, c.kind, st.Message)
			}
		}
		if want := map[bool]string{true: "2", false: "5"}[c.refused]; s.ResourceVersion() != want {
			t.Errorf("%v: written up to %s, want %s", c.kind, s.ResourceVersion(), want)
		}
		must(requests.Patch(t.Context(), key("", "p"), types.MergePatchType, []byte(`{"spec":{"node":"k"}}`), metav1.PatchOptions{}))(t)
		next.Spec.Node = "stage"
		must(fake.Update(s, next))(t)
	}
}

// TestBlindUpdatesAreAdmittedFirst: the API server asks admission before it wants a resourceVersion.
func TestBlindUpdatesAreAdmittedFirst(t *testing.T) {
	refuses := errors.New("closed")
	s := fake.New(fake.Options{Mutate: func(context.Context, *fake.Admission) error { return refuses }})
	check(t, fake.Register(s, kind.As[*pod](kindOf("example.com", "Pod")), fake.Rules{}))
	must(fake.Create(s, newPod("a", "p")))(t)
	const path = "/apis/example.com/v1/namespaces/a/pods/p"
	for _, c := range []struct{ method, contentType, body string }{
		{"PUT", "application/json", `{"apiVersion":"example.com/v1","kind":"Pod","metadata":{"name":"p"}}`},
		{"PATCH", "application/merge-patch+json", `{"metadata":{"resourceVersion":null},"spec":{"node":"m"}}`},
	} {
		refuses = errors.New("closed")
		if code, body := request(t, s, c.method, path, c.contentType, c.body); code != 403 || !bytes.Contains(body, []byte("closed")) {
			t.Errorf("%s: %d %s, want a refusal by admission", c.method, code, body)
		}
		refuses = nil
		if code, body := request(t, s, c.method, path, c.contentType, c.body); code != 422 || !bytes.Contains(body, []byte("must be specified for an update")) {
			t.Errorf("%s: %d %s, want the demand of a version", c.method, code, body)
		}
	}
}
