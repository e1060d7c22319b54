package index_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/internal/usercode"
	"github.com/kinform/kinform/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type pod struct {
	metav1.ObjectMeta
	node string
}

type pods = store.Store[types.NamespacedName, *pod]

func newPods(t testing.TB, onError func(error), defs ...index.Definition[*pod]) *pods {
	t.Helper()
	s, err := store.New(store.ObjectKey, store.Options[*pod]{Indexes: defs, OnError: onError})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newPod(ns, name, node string, lbls map[string]string) *pod {
	return &pod{metav1.ObjectMeta{Namespace: ns, Name: name, Labels: lbls}, node}
}

func names(objs []*pod) []string {
	out := []string{}
	for _, p := range objs {
		out = append(out, p.Namespace+"/"+p.Name)
	}
	slices.Sort(out)
	return out
}

func byNode() *index.Index[*pod, string] {
	return index.New("node", func(dst []string, p *pod) []string {
		if p.node == "" {
			return dst
		}
		return append(dst, p.node)
	})
}

// TestOneHandleManyStores reads two stores, one by its Reader, with the same handle.
func TestOneHandleManyStores(t *testing.T) {
	node := byNode()
	a, b := newPods(t, nil, node), newPods(t, nil, node)
	for i := range 300 {
		if err := a.Set(newPod("ns", fmt.Sprint(i), "n1", nil)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Set(newPod("ns", "b", "n1", nil)); err != nil {
		t.Fatal(err)
	}
	if n := node.Count(a, "n1"); n != 300 {
		t.Errorf("%d in the first", n)
	}
	if got := names(node.Get(b.Reader(), "n1")); !slices.Equal(got, []string{"ns/b"}) {
		t.Errorf("%v in the second", got)
	}
	if got := node.Get(b.Indexer(), "n1"); len(got) != 1 {
		t.Errorf("%v by the Indexer", got)
	}
	if got := len(slices.Collect(node.All(a, "n1"))); got != 300 {
		t.Errorf("%d iterated", got)
	}
	if got := node.Get(a, "nowhere"); got != nil {
		t.Errorf("%v under a value that nothing has", got)
	}
}

// TestHandleIsIdentity checks that another handle of the same name does not read an
// index that it does not define.
func TestHandleIsIdentity(t *testing.T) {
	node, other := byNode(), byNode()
	zone := index.New("zone", func(dst []string, p *pod) []string { return dst })
	var told []error
	s := newPods(t, func(err error) { told = append(told, err) }, node)
	p := newPod("a", "b", "n1", nil)
	if err := s.Set(p); err != nil {
		t.Fatal(err)
	}
	if err := node.Check(s); err != nil {
		t.Error(err)
	}
	if err := other.Check(s); !errors.Is(err, index.ErrUnknownIndex) || !strings.Contains(err.Error(), "another index has this name") {
		t.Errorf("Check: %v", err)
	}
	if err := zone.Check(s); !errors.Is(err, index.ErrUnknownIndex) || !strings.Contains(err.Error(), `the store has ["node"]`) {
		t.Errorf("Check: %v", err)
	}
	if err := zone.Check(newPods(t, nil)); !errors.Is(err, index.ErrUnknownIndex) || !strings.Contains(err.Error(), "the store has none") {
		t.Errorf("Check: %v", err)
	}
	if len(told) != 0 {
		t.Errorf("Check told the handler: %v", told)
	}
	for range other.All(s, "n1") {
		t.Error("All found something")
	}
	for range other.Values(s) {
		t.Error("Values found something")
	}
	if len(other.Get(s, "n1")) != 0 || other.Count(s, "n1") != 0 || len(other.Index(s, p)) != 0 {
		t.Error("a read found something")
	}
	if len(told) == 0 || !errors.Is(told[0], index.ErrUnknownIndex) {
		t.Errorf("the handler was told %v", told)
	}
}

func TestSharing(t *testing.T) {
	tags := index.New("tags", func(dst []string, p *pod) []string {
		for k := range p.Labels {
			dst = append(dst, k)
		}
		return dst
	})
	s := newPods(t, nil, tags)
	set := func(tags ...string) map[string]string {
		m := map[string]string{}
		for _, tag := range tags {
			m[tag] = ""
		}
		return m
	}
	x := newPod("a", "x", "", set("1", "2"))
	for _, p := range []*pod{x, newPod("a", "y", "", set("2", "3", "1")), newPod("a", "z", "", set("3")), newPod("a", "w", "", nil)} {
		if err := s.Set(p); err != nil {
			t.Fatal(err)
		}
	}
	for want, obj := range map[string]*pod{
		"[a/x a/y]": x, "[a/y a/z]": newPod("", "", "", set("3")), "[]": newPod("", "", "", nil),
		"[a/x a/y a/z]": newPod("", "", "", set("1", "3", "9")),
	} {
		if got := fmt.Sprint(names(tags.Index(s, obj))); got != want {
			t.Errorf("sharing with %v: %s, want %s", obj.Labels, got, want)
		}
	}
	if got := slices.Sorted(tags.Values(s)); !slices.Equal(got, []string{"1", "2", "3"}) {
		t.Errorf("values %v", got)
	}
	for range tags.Values(s) {
		break
	}
}

// TestValuesWhileWritten has the loop's body write: with the read lock it would wait for itself.
// The loop sees the values from its beginning.
func TestValuesWhileWritten(t *testing.T) {
	node := byNode()
	s := newPods(t, nil, node)
	var want []string
	for i := range 200 {
		n := fmt.Sprintf("node-%03d", i)
		want = append(want, n)
		if err := s.Set(newPod("a", fmt.Sprint(i), n, nil)); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for v := range node.Values(s) {
		i := len(got)
		got = append(got, v)
		if err := s.Set(newPod("a", fmt.Sprint(i), fmt.Sprintf("other-%d", i), nil)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Delete(types.NamespacedName{Namespace: "a", Name: fmt.Sprint(199 - i)}); err != nil {
			t.Fatal(err)
		}
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("%d values, want the %d of the beginning", len(got), len(want))
	}
	if left := slices.Collect(node.Values(s)); len(left) != 100 { // the second half came back
		t.Errorf("%d values afterwards", len(left))
	}
}

func TestIndexFunctionPanicsInARead(t *testing.T) {
	node := index.New("node", func(dst []string, p *pod) []string { return append(dst, p.node) })
	var told []error
	s := newPods(t, func(err error) { told = append(told, err) }, node)
	var p *usercode.PanicError
	if got, err := s.Index("node", nil); !errors.As(err, &p) || got != nil || p.Where != "index function" || p.Name != "node" || p.Key != "" {
		t.Errorf("by name: %v %v", got, err)
	}
	if p.Error() == "" || p.Unwrap() == nil { // a nil dereference is a runtime.Error
		t.Errorf("%v wraps %v", p, p.Unwrap())
	}
	if got := node.Index(s, nil); got != nil || len(told) != 1 || !errors.As(told[0], &p) {
		t.Errorf("by handle: %v, told %v", got, told)
	}
}

// TestNamedStrings looks up, by name, values of a type that is a string underneath.
func TestNamedStrings(t *testing.T) {
	type node string
	ix := index.New("node", func(dst []node, p *pod) []node { return append(dst, node(p.node)) })
	s := newPods(t, nil, ix)
	if err := s.Set(newPod("a", "b", "n1", nil)); err != nil {
		t.Fatal(err)
	}
	if got, err := s.ByIndex("node", "n1"); err != nil || len(got) != 1 {
		t.Errorf("%v %v", got, err)
	}
	if got, err := s.IndexValues("node"); err != nil || !slices.Equal(got, []string{"n1"}) {
		t.Errorf("%v %v", got, err)
	}
}

// TestManyDuplicates returns each value many times, which takes the set of seen values.
func TestManyDuplicates(t *testing.T) {
	ix := index.New("many", func(dst []int, _ *pod) []int {
		for i := range 300 {
			dst = append(dst, i%70)
		}
		return dst
	})
	s := newPods(t, nil, ix)
	for i := range 3 {
		if err := s.Set(newPod("a", fmt.Sprint(i), "", nil)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(slices.Collect(ix.Values(s))); n != 70 {
		t.Errorf("%d values", n)
	}
	if n := len(ix.Get(s, 69)); n != 3 {
		t.Errorf("%d objects", n)
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}

// TestLongPostings reads values that more objects have than are copied under the lock.
func TestLongPostings(t *testing.T) {
	parity := index.New("parity", func(dst []int, p *pod) []int { return append(dst, len(p.Name)%2) })
	s := newPods(t, nil, parity)
	for i := range 5000 {
		if err := s.Set(newPod("a", fmt.Sprintf("%04d", i), "", nil)); err != nil {
			t.Fatal(err)
		}
	}
	prefix := []*pod{newPod("x", "y", "", nil)}
	got := parity.Append(prefix, s, 0)
	if len(got) != 5001 || got[0] != prefix[0] || len(parity.Index(s, got[1])) != 5000 {
		t.Errorf("%d objects", len(got))
	}
	n := 0
	for range parity.All(s, 0) {
		if n++; n == 10 {
			break
		}
	}
}

// TestSelect compares Select on stores with different indexes with the selector itself.
func TestSelect(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	stores := map[string]*pods{
		"no index":   newPods(t, nil),
		"namespace":  newPods(t, nil, index.Namespace[*pod]()),
		"all labels": newPods(t, nil, index.Labels[*pod]("labels")),
		"some":       newPods(t, nil, index.Namespace[*pod](), index.Labels[*pod]("labels", "app", "zone")),
		"unrelated":  newPods(t, nil, byNode(), index.New("namespace-of-node", func(dst []index.Label, p *pod) []index.Label { return dst })),
	}
	all := map[types.NamespacedName]*pod{}
	for step := range 600 {
		p := newPod(fmt.Sprintf("ns%d", r.IntN(4)), fmt.Sprint(r.IntN(60)), "", map[string]string{})
		for _, k := range []string{"app", "zone", "tier"} {
			if r.IntN(3) > 0 {
				p.Labels[k] = []string{"v0", "v1", "v2", "v3", ""}[r.IntN(5)]
			}
		}
		key := types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
		remove := r.IntN(4) == 0
		for _, s := range stores {
			if remove {
				if _, _, err := s.Delete(key); err != nil {
					t.Fatal(err)
				}
			} else if err := s.Set(p); err != nil {
				t.Fatal(err)
			}
		}
		if all[key] = p; remove {
			delete(all, key)
		}
		if step%3 == 0 {
			compareSelect(t, r, stores, all)
		}
	}
}

func compareSelect(t *testing.T, r *rand.Rand, stores map[string]*pods, all map[types.NamespacedName]*pod) {
	t.Helper()
	selectors := []string{
		"", "app=v1", "app==v2,zone=v0", "app in (v1,v2)", "tier=v1", "tier=v1,app=v1", "app!=v1",
		"zone notin (v1)", "app", "!zone", "app=nothing", "tier in (v0,v3),zone in (v1,v2,v3)", "app=v1,app=v2",
		"app=", "app in (v1,),zone!=v1",
	}
	ns := []string{"", "ns1", "ns2", "elsewhere"}[r.IntN(4)]
	sel, err := labels.Parse(selectors[r.IntN(len(selectors))])
	if err != nil {
		t.Fatal(err)
	}
	var want []*pod
	for p := range maps.Values(all) {
		if (ns == "" || p.Namespace == ns) && sel.Matches(labels.Set(p.Labels)) {
			want = append(want, p)
		}
	}
	for name, s := range stores {
		if got := index.Select(s, ns, sel); !slices.Equal(names(got), names(want)) {
			t.Fatalf("%s: %q in %q: %v, want %v", name, sel, ns, names(got), names(want))
		}
	}
}

// A value that a selector names twice does not give an object twice.
func TestSelectRepeatedValues(t *testing.T) {
	sel, err := labels.Parse("app in (web,db)")
	if err != nil {
		t.Fatal(err)
	}
	twice, err := labels.NewRequirement("app", selection.In, []string{"web", "db", "web", "web"})
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*pods{
		"scan":       newPods(t, nil),
		"all labels": newPods(t, nil, index.Labels[*pod]("labels")),
		"one label":  newPods(t, nil, index.Labels[*pod]("app", "app"), index.Namespace[*pod]()),
	} {
		for i, app := range []string{"web", "db", "cache", "web"} {
			if err := s.Set(newPod("ns", fmt.Sprint("pod-", i), "", map[string]string{"app": app, "tier": "x"})); err != nil {
				t.Fatal(err)
			}
		}
		want := names(index.Select(s, "", sel))
		if got := names(index.Select(s, "", labels.NewSelector().Add(*twice))); !slices.Equal(got, want) || len(got) != 3 {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// seen is a pod that counts how often its namespace and its labels are read.
type seen struct {
	*pod
	reads *int
}

func (s *seen) GetNamespace() string         { *s.reads++; return s.pod.GetNamespace() }
func (s *seen) GetLabels() map[string]string { *s.reads++; return s.pod.GetLabels() }

// What an index answers is not read again from the objects.
func TestSelectReadsNothingTwice(t *testing.T) {
	s, err := store.New(func(s *seen) (types.NamespacedName, error) {
		return types.NamespacedName{Namespace: s.pod.Namespace, Name: s.pod.Name}, nil
	}, store.Options[*seen]{Indexes: []index.Definition[*seen]{index.Namespace[*seen](), index.Labels[*seen]("app", "app")}})
	if err != nil {
		t.Fatal(err)
	}
	reads := 0
	for i := range 30 {
		p := newPod([]string{"a", "b", "c"}[i%3], fmt.Sprint(i), "", map[string]string{"app": []string{"web", "db"}[i%2], "tier": "x"})
		if err := s.Set(&seen{p, &reads}); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		namespace, selector string
		found, reads        int
	}{
		{"a", "", 10, 0},
		{"", "app=web", 15, 0},
		{"", "app in (web,db)", 30, 0},
		{"", "app in (web,db),app=db", 15, 15}, // the labels of those under app=db
		{"a", "app=web", 5, 10},                // the labels of those in the namespace
		{"a", "tier=x", 10, 10},
		{"elsewhere", "app=web", 0, 0},
	} {
		sel, err := labels.Parse(test.selector)
		if err != nil {
			t.Fatal(err)
		}
		reads = 0
		if got := len(index.Select(s, test.namespace, sel)); got != test.found || reads != test.reads {
			t.Errorf("%q in %q: %d objects after %d reads, want %d after %d", test.selector, test.namespace, got, reads, test.found, test.reads)
		}
	}
}

// A panic of an index function is reported once per index, however often and wherever it is called,
// and what is kept of it does not grow.
func TestPanicReportedOnce(t *testing.T) {
	bad := newPod("ns", "bad", "", nil)
	byName := func(name string) *index.Index[*pod, string] {
		return index.New(name, func(dst []string, p *pod) []string {
			if p == bad {
				panic("bad pod")
			}
			return append(dst, p.Name)
		})
	}
	a, b := byName("a"), byName("b")
	var told []error
	s := newPods(t, func(err error) { told = append(told, err) }, a, b)
	for range 5 {
		done := make(chan struct{})
		go func() { // the stack of each panic is another
			defer close(done)
			a.Index(s, bad)
			a.Index(s.Freeze(), bad)
			b.Index(s.Freeze(), bad)
		}()
		<-done
	}
	other := byName("other")
	other.Count(s.Freeze(), "x")
	other.Count(s, "x")
	other.Index(s, newPod("ns", "good", "", nil)) // the same topic as Count
	var panicked *usercode.PanicError
	if len(told) != 3 || !errors.As(told[0], &panicked) || panicked.Name != "a" ||
		!errors.As(told[1], &panicked) || panicked.Name != "b" || !errors.Is(told[2], index.ErrUnknownIndex) {
		t.Errorf("reported: %v", told)
	}
}

func TestSelectorExtremes(t *testing.T) {
	s := newPods(t, nil, index.Labels[*pod]("labels"))
	for i := range 3 {
		if err := s.Set(newPod("a", fmt.Sprint(i), "", map[string]string{"k": "v"})); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(index.Select(s, "", nil)); n != 3 {
		t.Errorf("nil selects %d", n)
	}
	if n := len(index.Select(s, "", labels.Everything())); n != 3 {
		t.Errorf("everything selects %d", n)
	}
	if n := len(index.Select(s, "", labels.Nothing())); n != 0 {
		t.Errorf("nothing selects %d", n)
	}
	if n := len(index.Select(s, "b", labels.Everything())); n != 0 {
		t.Errorf("another namespace has %d", n)
	}
}
