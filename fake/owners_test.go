package fake_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
)

// owned creates a pod that belongs to others.
func owned(t testing.TB, s *fake.Server, name string, block bool, owners ...*pod) *pod {
	t.Helper()
	p := newPod("a", name)
	for _, o := range owners {
		p.OwnerReferences = append(p.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: o.Name, UID: o.UID, BlockOwnerDeletion: &block})
	}
	return must(fake.Create(s, p))(t)
}

// state is a line for each pod: name, finalizers, owners.
func state(t testing.TB, s *fake.Server) (out []string) {
	t.Helper()
	for _, p := range must(fake.List[*pod](s, fake.Selection{}))(t) {
		line := p.Name
		if p.DeletionTimestamp != nil {
			line += " deleting " + strings.Join(p.Finalizers, ",")
		}
		for _, o := range p.OwnerReferences {
			line += " of " + o.Name
		}
		out = append(out, line)
	}
	return out
}

func wantState(t testing.TB, s *fake.Server, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, state(t, s)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func deletePod(t testing.TB, s *fake.Server, name string, policy metav1.DeletionPropagation) {
	t.Helper()
	check(t, podClient(t, s).Delete(t.Context(), key("a", name), metav1.DeleteOptions{PropagationPolicy: &policy}))
}

func collected(t testing.TB) *fake.Server { return newServer(t, fake.Options{CollectGarbage: true}) }

func TestCollectBackground(t *testing.T) {
	s := collected(t)
	top, other := owned(t, s, "top", false), owned(t, s, "other", false)
	middle := owned(t, s, "middle", false, top)
	owned(t, s, "bottom", true, middle)
	owned(t, s, "shared", false, top, other)
	deletePod(t, s, "top", metav1.DeletePropagationBackground)
	wantState(t, s, "other", "shared of other")
	deletePod(t, s, "other", metav1.DeletePropagationBackground)
	wantState(t, s)
}

func TestCollectForeground(t *testing.T) {
	s := collected(t)
	top := owned(t, s, "top", false)
	held := newPod("a", "held")
	held.Finalizers = []string{"a/b"}
	yes := true
	held.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "top", UID: top.UID, BlockOwnerDeletion: &yes}}
	must(fake.Create(s, held))(t)
	owned(t, s, "loose", false, top)
	deletePod(t, s, "top", metav1.DeletePropagationForeground)
	// What does not block the owner goes after it.
	wantState(t, s, "held deleting a/b of top", "loose of top", "top deleting foregroundDeletion")
	must(fake.Patch[*pod](s, key("a", "held"), []byte(`{"metadata":{"finalizers":null}}`)))(t)
	wantState(t, s)
}

func TestCollectOrphan(t *testing.T) {
	s := collected(t)
	top := owned(t, s, "top", false)
	owned(t, s, "one", true, top)
	deletePod(t, s, "top", metav1.DeletePropagationOrphan)
	wantState(t, s, "one")
}

func TestCollectCircle(t *testing.T) {
	s := collected(t)
	a := owned(t, s, "a", true)
	b := owned(t, s, "b", true, a)
	yes := true
	a.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "b", UID: b.UID, BlockOwnerDeletion: &yes}}
	must(fake.Update(s, a))(t)
	wantState(t, s, "a of b", "b of a")
	deletePod(t, s, "a", metav1.DeletePropagationForeground)
	wantState(t, s)
}

// TestCollectKnot: objects that block each other and are all being deleted in the foreground
// stay until somebody unties them, as with the garbage collector of Kubernetes.
func TestCollectKnot(t *testing.T) {
	for _, names := range [][]string{{"a"}, {"a", "b"}, {"a", "b", "c"}} {
		s := collected(t)
		pods := map[string]*pod{}
		for _, name := range names {
			pods[name] = owned(t, s, name, true)
			child := fake.Object(&pod{}, "a", "child-of-"+name, fake.OwnedBy(pods[name]), fake.Finalizers("example.com/hold"))
			must(fake.Create(s, child))(t)
			deletePod(t, s, name, metav1.DeletePropagationForeground) // and the child holds it
		}
		for n, name := range names {
			p := must(fake.Get[*pod](s, key("a", name)))(t)
			must(fake.Update(s, fake.Object(p, "a", name, fake.OwnedBy(pods[names[(n+1)%len(names)]]))))(t)
		}
		for _, name := range names {
			must(fake.Patch[*pod](s, key("a", "child-of-"+name), []byte(`{"metadata":{"finalizers":null}}`)))(t)
		}
		if left := state(t, s); len(left) != len(names) {
			t.Errorf("%d in a knot: %q are left", len(names), left)
		}
		must(fake.Patch[*pod](s, key("a", "a"), []byte(`{"metadata":{"ownerReferences":null}}`)))(t)
		wantState(t, s)
	}
}

// TestCollectAfterPanic: a function of the test's author that panics while garbage is collected
// does not end the collection for good.
func TestCollectAfterPanic(t *testing.T) {
	s := fake.New(fake.Options{CollectGarbage: true})
	panics := false
	check(t, fake.Register(s, kind.Of[*pod](v1, "pods"), fake.Rules{CheckName: func(string, bool) []string {
		if panics {
			panic("CheckName")
		}
		return nil
	}}))
	a := owned(t, s, "a", true)
	b := owned(t, s, "b", true)
	owned(t, s, "of-a", true, a)
	owned(t, s, "of-b", true, b)
	panics = true
	orphan := metav1.DeletePropagationOrphan
	err := podClient(t, s).Delete(t.Context(), key("a", "a"), metav1.DeleteOptions{PropagationPolicy: &orphan})
	if st := wantStatus(t, err, 500, metav1.StatusReasonInternalError); !strings.Contains(st.Message, "panic: CheckName") {
		t.Errorf("message %q", st.Message)
	}
	panics = false
	deletePod(t, s, "b", metav1.DeletePropagationBackground)
	wantState(t, s, "a deleting orphan", "of-a of a")
}

// TestUpkeepLeavesSharedObjectsAlone has somebody read the server's own objects while a
// circle that blocks nothing is collected: the race detector tells of writes into them.
func TestUpkeepLeavesSharedObjectsAlone(t *testing.T) {
	s := collected(t)
	x := owned(t, s, "x", false)
	y := owned(t, s, "y", false, x)
	x.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "y", UID: y.UID}}
	must(fake.Update(s, x))(t)
	shared := must(fake.List[*pod](s, fake.Selection{ReadOnly: true}))(t)
	stop, done := make(chan struct{}), make(chan int)
	go func() {
		read := 0
		for {
			for _, p := range shared {
				read += len(p.ResourceVersion) + len(p.Status.Phase)
			}
			select {
			case <-stop:
				done <- read
				return
			default:
			}
		}
	}()
	deletePod(t, s, "x", metav1.DeletePropagationForeground)
	close(stop)
	if <-done == 0 {
		t.Error("nothing was read")
	}
	wantState(t, s)
}

func TestCollectStrangers(t *testing.T) {
	s := collected(t)
	p := newPod("a", "unknown kind")
	p.Name = "unknown-kind"
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "d", UID: "d"}}
	must(fake.Create(s, p))(t)
	p.Name = "owner-gone"
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "d", UID: "d"}}
	must(fake.Create(s, p))(t)
	far := must(fake.Create(s, newPod("b", "far")))(t)
	p.Name, p.OwnerReferences[0].UID = "owner-elsewhere", far.UID
	must(fake.Create(s, p))(t)
	wantState(t, s, "unknown-kind of d", "far")
}

// TestCollectOff: without a collector finalizers stay, as in an API server alone.
func TestCollectOff(t *testing.T) {
	s := newServer(t, fake.Options{})
	owned(t, s, "one", true, owned(t, s, "top", false))
	deletePod(t, s, "top", metav1.DeletePropagationForeground)
	wantState(t, s, "one of top", "top deleting foregroundDeletion")
}

// TestCollectAgainstModel makes and deletes random graphs: what is left at the end is what
// the roots that are left can reach.
func TestCollectAgainstModel(t *testing.T) {
	policies := []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground}
	for seed := range uint64(30) {
		r, s := rand.New(rand.NewPCG(seed, 7)), collected(t)
		live, parents := map[string]*pod{}, map[string][]string{}
		var order []string
		for i := range 30 {
			var owners []*pod
			name := fmt.Sprintf("p%02d", i)
			for _, o := range order {
				if live[o] != nil && r.IntN(8) == 0 {
					owners, parents[name] = append(owners, live[o]), append(parents[name], o)
				}
			}
			live[name] = owned(t, s, name, r.IntN(2) == 0, owners...)
			order = append(order, name)
			if r.IntN(3) > 0 {
				continue
			}
			if victim := order[r.IntN(len(order))]; live[victim] != nil {
				deletePod(t, s, victim, policies[r.IntN(2)])
				delete(live, victim)
				// Owners come before what they own: one pass is enough.
				for _, n := range order {
					gone := func(o string) bool { return live[o] == nil }
					if len(parents[n]) > 0 && live[n] != nil && !slices.ContainsFunc(parents[n], func(o string) bool { return !gone(o) }) {
						delete(live, n)
					}
				}
			}
		}
		var want []string
		for _, n := range order {
			if live[n] != nil {
				want = append(want, n)
			}
		}
		var got []string
		for _, p := range must(fake.List[*pod](s, fake.Selection{}))(t) {
			got = append(got, p.Name)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("seed %d (-model +server):\n%s", seed, d)
		}
	}
}

// TestUpkeepConcurrently: writers at once, and everything is done in the end.
func TestUpkeepConcurrently(t *testing.T) {
	s, done := collected(t), make(chan error)
	for i := range 4 {
		go func() {
			for j := range 50 {
				p := newPod("a", fmt.Sprintf("o-%d-%d", i, j))
				o, err := fake.Create(s, p)
				if err == nil {
					d := newPod("a", p.Name+"-d")
					d.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: o.Name, UID: o.UID}}
					_, err = fake.Create(s, d)
				}
				if err == nil {
					_, err = fake.Delete[*pod](s, types.NamespacedName{Namespace: "a", Name: p.Name})
				}
				if err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range 4 {
		check(t, <-done)
	}
	wantState(t, s)
}
