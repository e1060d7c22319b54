package fake_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faketest"
	"github.com/kinform/kinform/reflector"
)

// model is a server so dumb that it is right: it keeps the whole state of every
// resourceVersion.
type model struct {
	states    []map[types.NamespacedName]*pod // by resourceVersion
	compacted uint64
}

func newModel() *model { return &model{states: make([]map[types.NamespacedName]*pod, 2), compacted: 1} }

func (m *model) now() uint64 { return uint64(len(m.states) - 1) }

// set notes the state after a write; a nil p is a deletion.
func (m *model) set(k types.NamespacedName, p *pod) {
	next := maps.Clone(m.states[m.now()])
	if next == nil {
		next = map[types.NamespacedName]*pod{}
	}
	if p == nil {
		delete(next, k)
	} else {
		next[k] = p
	}
	m.states = append(m.states, next)
}

// selected is the dumb form of a Selection.
type selected struct {
	fake.Selection
	namespace, app, name string
}

func randomSelection(r *rand.Rand) selected {
	var s selected
	if r.IntN(2) == 0 {
		s.namespace = namespaces[r.IntN(len(namespaces))]
		s.Namespace = s.namespace
	}
	if r.IntN(2) == 0 {
		s.app = apps[r.IntN(len(apps))]
		s.LabelSelector = "app=" + s.app
	}
	if r.IntN(4) == 0 {
		s.name = names[r.IntN(len(names))]
		s.FieldSelector = "metadata.name=" + s.name
	}
	s.ReadOnly = r.IntN(2) == 0
	return s
}

func (s selected) matches(p *pod) bool {
	return (s.namespace == "" || s.namespace == p.Namespace) && (s.app == "" || s.app == p.Labels["app"]) && (s.name == "" || s.name == p.Name)
}

// list is the selection at a resourceVersion, in the order of "namespace/name".
func (m *model) list(rv uint64, s selected) []*pod {
	out := []*pod{}
	for _, p := range m.states[rv] {
		if s.matches(p) {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *pod) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return out
}

// The namespaces begin alike, so that their order with the slash matters.
var (
	namespaces = []string{"a", "a-b", "a0", "b"}
	names      = []string{"p", "p-1", "p.1", "q"}
	apps       = []string{"web", "db"}
)

// world is a server with its model.
type world struct {
	*model
	t *testing.T
	r *rand.Rand
	s *fake.Server
}

func (w *world) step() {
	k := key(namespaces[w.r.IntN(len(namespaces))], names[w.r.IntN(len(names))])
	old := w.states[w.now()][k]
	p := newPod(k.Namespace, k.Name)
	p.Spec.Node = strconv.Itoa(w.r.IntN(3))
	if w.r.IntN(3) > 0 {
		p.Labels = map[string]string{"app": apps[w.r.IntN(len(apps))]}
	}
	switch op := w.r.IntN(20); {
	case op == 0:
		w.compacted += uint64(w.r.IntN(int(w.now()-w.compacted)/2 + 1))
		check(w.t, w.s.Compact(strconv.FormatUint(w.compacted, 10)))
	case op == 1:
		w.s.Bookmark()
	case op == 2: // a write of another resource takes a resourceVersion too
		must(fake.Create(w.s, &widget{ObjectMeta: metav1.ObjectMeta{Namespace: "a", GenerateName: "w-"}}))(w.t)
		w.states = append(w.states, w.states[w.now()])
	case old == nil:
		w.set(k, must(fake.Create(w.s, p))(w.t))
	case op < 7:
		marked := must(fake.Delete[*pod](w.s, k))(w.t)
		marked.ResourceVersion = strconv.FormatUint(w.now()+1, 10) // a pod is marked first
		w.set(k, marked)
		w.set(k, nil)
	case op < 10:
		patch := fmt.Sprintf(`{"spec":{"node":"%d"},"metadata":{"labels":{"app":null}}}`, w.r.IntN(3))
		w.wrote(k, old, must(fake.Patch[*pod](w.s, k, []byte(patch)))(w.t))
	default:
		w.wrote(k, old, must(fake.Update(w.s, p))(w.t))
	}
	if got := w.s.ResourceVersion(); got != strconv.FormatUint(w.now(), 10) {
		w.t.Fatalf("server at %s, model at %d", got, w.now())
	}
}

// wrote notes an update, which may have changed nothing.
func (w *world) wrote(k types.NamespacedName, old, p *pod) {
	if p.ResourceVersion != old.ResourceVersion {
		w.set(k, p)
	}
}

// checkList compares an exact list, paged at random and with writes between the pages.
func (w *world) checkList(sel selected) {
	rv := w.compacted + w.r.Uint64N(w.now()-w.compacted+1)
	src := must(fake.NewSource[*pod](w.s, sel.Selection))(w.t)
	opts := metav1.ListOptions{ResourceVersion: strconv.FormatUint(rv, 10), ResourceVersionMatch: metav1.ResourceVersionMatchExact}
	opts.Limit = int64(w.r.IntN(4))
	got := []*pod{}
	want := w.list(rv, sel)
	for {
		meta, err := src.List(w.t.Context(), opts, func(ev reflector.Event[*pod], err error) bool {
			check(w.t, err)
			got = append(got, ev.Object)
			return true
		})
		if rv < w.compacted {
			wantStatus(w.t, err, 410, metav1.StatusReasonExpired)
			return
		}
		check(w.t, err)
		if meta.ResourceVersion != strconv.FormatUint(rv, 10) {
			w.t.Fatalf("list at %s, want %d", meta.ResourceVersion, rv)
		}
		if opts.Continue = meta.Continue; opts.Continue == "" {
			break
		}
		opts.ResourceVersion, opts.ResourceVersionMatch = "", ""
		w.step()
	}
	if d := cmp.Diff(want, got); d != "" {
		w.t.Fatalf("list of %+v at %d (-model +server):\n%s", sel.Selection, rv, d)
	}
}

// checkWatch resumes from a random resourceVersion and replays the events on the model's
// state there: the result must be the model's state now, through legal steps alone.
func (w *world) checkWatch(sel selected) {
	if w.now() == 1 {
		return
	}
	rv := 1 + w.r.Uint64N(w.now()-1) // at now there is nothing to wait for
	src := must(fake.NewSource[*pod](w.s, sel.Selection))(w.t)
	w.s.Bookmark()
	have := map[types.NamespacedName]*pod{}
	for _, p := range w.list(rv, sel) {
		have[key(p.Namespace, p.Name)] = p
	}
	at := rv
	for ev, err := range src.Watch(w.t.Context(), metav1.ListOptions{ResourceVersion: strconv.FormatUint(rv, 10), AllowWatchBookmarks: true}) {
		if rv < w.compacted {
			status := wantStatus(w.t, err, 410, metav1.StatusReasonExpired)
			if want := fmt.Sprintf("too old resource version: %d (%d)", rv, w.compacted); status.Message != want {
				w.t.Fatalf("%q, want %q", status.Message, want)
			}
			return
		}
		check(w.t, err)
		at = w.replay(have, at, ev, sel)
		if ev.Type == reflector.Bookmark && at == w.now() {
			break
		}
	}
	got := slices.SortedFunc(maps.Values(have), func(a, b *pod) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	if d := cmp.Diff(w.list(w.now(), sel), append([]*pod{}, got...)); d != "" {
		w.t.Fatalf("watch of %+v from %d (-model +replayed):\n%s", sel.Selection, rv, d)
	}
}

func (w *world) replay(have map[types.NamespacedName]*pod, at uint64, ev reflector.Event[*pod], sel selected) uint64 {
	rv := must(strconv.ParseUint(ev.ResourceVersion, 10, 64))(w.t)
	if ev.Type == reflector.Bookmark {
		if rv < at {
			w.t.Fatalf("bookmark %d after %d", rv, at)
		}
		return rv
	}
	if rv <= at || ev.Object.ResourceVersion != ev.ResourceVersion {
		w.t.Fatalf("%s at %d after %d, object at %s", ev.Type, rv, at, ev.Object.ResourceVersion)
	}
	k := key(ev.Object.Namespace, ev.Object.Name)
	last, present := have[k]
	if present == (ev.Type == reflector.Added) {
		w.t.Fatalf("%s of %s, present before: %t", ev.Type, k, present)
	}
	if ev.Type != reflector.Deleted {
		have[k] = ev.Object
		return rv
	}
	before := *last
	before.ResourceVersion = ev.ResourceVersion
	if d := cmp.Diff(&before, ev.Object); d != "" {
		w.t.Fatalf("DELETED of %s is not the state before (-want +got):\n%s", k, d)
	}
	delete(have, k)
	return rv
}

func TestAgainstModel(t *testing.T) {
	for seed := range uint64(40) {
		w := &world{model: newModel(), t: t, r: rand.New(rand.NewPCG(seed, 1)), s: newServer(t, fake.Options{})}
		for range 250 {
			w.step()
			switch w.r.IntN(4) {
			case 0:
				w.checkWatch(randomSelection(w.r))
			case 1:
				w.checkList(randomSelection(w.r))
			}
		}
		d := must(faketest.Diff(w.s, fake.Selection{}, maps.Values(w.states[w.now()])))(t)
		if d != "" {
			t.Fatalf("seed %d: model and server differ:\n%s", seed, d)
		}
	}
}
