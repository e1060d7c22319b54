package store_test

import (
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/internal/memtest"
	"github.com/kinform/kinform/store"
)

// pod stands for a corev1.Pod of some 3 KB; k8s.io/api is no dependency of this module.
type pod struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	node string
	_    [2600]byte
}

const (
	benchPods       = 100_000
	benchNamespaces = 500
	benchNodes      = 1000
)

var (
	podNode = index.New("node", func(dst []string, p *pod) []string { return append(dst, p.node) })
	podNS   = index.Namespace[*pod]()
	podApp  = index.Labels[*pod]("app", "app")
)

func podKey(i int) types.NamespacedName {
	return types.NamespacedName{
		Namespace: fmt.Sprintf("namespace-%d", i%benchNamespaces),
		Name:      fmt.Sprintf("deployment-%d-7d4f8b9c6d-%05d", i/50, i),
	}
}

func newPod(i int) *pod {
	k := podKey(i)
	return &pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: k.Namespace, Name: k.Name, ResourceVersion: fmt.Sprint(i + 1),
			UID:    types.UID(fmt.Sprintf("uid-%d", i)),
			Labels: map[string]string{"app": fmt.Sprintf("app-%d", i/100), "tier": "web"},
		},
		node: fmt.Sprintf("node-%d", i%benchNodes),
	}
}

func newPods(n int) []*pod {
	pods := make([]*pod, n)
	for i := range pods {
		pods[i] = newPod(i)
	}
	return pods
}

func podStore(b testing.TB, pods []*pod, defs ...index.Definition[*pod]) *store.Store[types.NamespacedName, *pod] {
	b.Helper()
	s, err := store.New(store.ObjectKey, store.Options[*pod]{Indexes: defs, Unchanged: func(old, new *pod) bool { return old.UID == new.UID && old.ResourceVersion == new.ResourceVersion }})
	if err != nil {
		b.Fatal(err)
	}
	for _, p := range pods {
		if err := s.Set(p); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

// cycle visits 0..n-1 in an order that no cache foresees.
func cycle(i, n int) int { return int(uint64(i) * 7919 % uint64(n)) }

func BenchmarkObjectKey(b *testing.B) {
	pods := newPods(1000)
	var sum int
	for i := 0; b.Loop(); i++ {
		k, _ := store.ObjectKey(pods[i%1000])
		sum += len(k.Name)
	}
}

func BenchmarkGet(b *testing.B) {
	pods := newPods(benchPods)
	s := podStore(b, pods)
	keys := make([]types.NamespacedName, len(pods))
	for i := range keys {
		keys[i] = podKey(i)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, ok := s.Get(keys[cycle(i, benchPods)]); !ok {
			b.Fatal("lost")
		}
	}
}

func BenchmarkGetParallel(b *testing.B) {
	pods := newPods(benchPods)
	s := podStore(b, pods)
	var start atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		for i := int(start.Add(1000)); pb.Next(); i++ {
			s.Get(types.NamespacedName{Namespace: pods[cycle(i, benchPods)].Namespace, Name: pods[cycle(i, benchPods)].Name})
		}
	})
}

// BenchmarkReadBesideWriter counts reads while another goroutine writes flat out.
func BenchmarkReadBesideWriter(b *testing.B) {
	pods := newPods(benchPods)
	s := podStore(b, pods, podNode, podNS, podApp)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				p := *pods[cycle(i, benchPods)]
				_ = s.Set(&p)
			}
		}
	}()
	for i := 0; b.Loop(); i++ {
		p := pods[cycle(i*31, benchPods)]
		s.Get(types.NamespacedName{Namespace: p.Namespace, Name: p.Name})
	}
	close(stop)
	<-done
}

// updates returns, for each pod, a second object at another version; with another node
// and app where moved says so.
func updates(pods []*pod, moved bool) []*pod {
	out := make([]*pod, len(pods))
	for i, p := range pods {
		q := *p
		q.ResourceVersion = "9" + p.ResourceVersion
		if moved {
			q.node = fmt.Sprintf("node-%d", (i+1)%benchNodes)
			q.Labels = map[string]string{"app": fmt.Sprintf("app-%d", (i/100+1)%1000)}
		}
		out[i] = &q
	}
	return out
}

func BenchmarkUpdate(b *testing.B) {
	for _, c := range []struct {
		name  string
		moved bool
		defs  []index.Definition[*pod]
	}{
		{"same/0 indexes", false, nil},
		{"same/3 indexes", false, []index.Definition[*pod]{podNode, podNS, podApp}},
		{"moved/3 indexes", true, []index.Definition[*pod]{podNode, podNS, podApp}},
	} {
		b.Run(c.name, func(b *testing.B) {
			pods := newPods(benchPods)
			pair := [2][]*pod{updates(pods, c.moved), pods}
			s := podStore(b, pods, c.defs...)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				_ = s.Set(pair[i/benchPods%2][cycle(i, benchPods)])
			}
		})
	}
}

func BenchmarkCommit100(b *testing.B) {
	pods := newPods(benchPods)
	pair := [2][]*pod{updates(pods, false), pods}
	s := podStore(b, pods, podNode, podNS, podApp)
	ops := make([]store.Op[types.NamespacedName, *pod], 100)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		for i := range ops {
			p := pair[n/benchPods%2][cycle(n, benchPods)]
			ops[i].Key, _ = store.ObjectKey(p)
			ops[i].Object = p
			n++
		}
		_ = s.Commit("", ops)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/object")
}

// BenchmarkCommitChunks fills an empty store, or stores other objects under all its keys.
func BenchmarkCommitChunks(b *testing.B) {
	pods := newPods(benchPods)
	other := updates(pods, false)
	commit := func(s *store.Store[types.NamespacedName, *pod], pods []*pod) error {
		var ops [256]store.Op[types.NamespacedName, *pod]
		return s.CommitChunks("", len(pods), func(yield func([]store.Op[types.NamespacedName, *pod]) bool) {
			for i := 0; i < len(pods); i += len(ops) {
				n := min(len(ops), len(pods)-i)
				for j := range n {
					p := pods[cycle(i+j, benchPods)]
					ops[j] = store.Op[types.NamespacedName, *pod]{Key: types.NamespacedName{Namespace: p.Namespace, Name: p.Name}, Object: p}
				}
				if !yield(ops[:n]) {
					return
				}
			}
		})
	}
	b.Run("fill", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := commit(podStore(b, nil, podNode), pods); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("all changed", func(b *testing.B) {
		s := podStore(b, pods, podNode)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if err := commit(s, [][]*pod{other, pods}[i%2]); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkDeleteAdd(b *testing.B) {
	pods := newPods(benchPods)
	s := podStore(b, pods, podNode, podNS, podApp)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		p := pods[cycle(i, benchPods)]
		if _, had, _ := s.Delete(types.NamespacedName{Namespace: p.Namespace, Name: p.Name}); !had {
			b.Fatal("lost")
		}
		_ = s.Set(p)
	}
}

func BenchmarkByIndex(b *testing.B) {
	s := podStore(b, newPods(benchPods), podNode, podNS, podApp)
	nodes := make([]string, benchNodes)
	for i := range nodes {
		nodes[i] = fmt.Sprintf("node-%d", i)
	}
	b.Run("slice", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if len(podNode.Get(s, nodes[cycle(i, benchNodes)])) != 100 {
				b.Fatal("lost")
			}
		}
	})
	b.Run("iterated", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			n := 0
			for range podNode.All(s, nodes[cycle(i, benchNodes)]) {
				n++
			}
			if n != 100 {
				b.Fatal("lost")
			}
		}
	})
}

func BenchmarkList(b *testing.B) {
	s := podStore(b, newPods(benchPods))
	b.ReportAllocs()
	for b.Loop() {
		if len(s.List()) != benchPods {
			b.Fatal("lost")
		}
	}
}

func BenchmarkWalk(b *testing.B) {
	s := podStore(b, newPods(benchPods))
	sum := 0
	b.Run("Values", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for p := range s.Values() {
				sum += len(p.node)
			}
		}
	})
	b.Run("Chunks", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for chunk := range s.Chunks() {
				for _, p := range chunk {
					sum += len(p.node)
				}
			}
		}
	})
	b.Run("All", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for k, p := range s.All() {
				sum += len(p.node) + len(k.Name)
			}
		}
	})
}

func BenchmarkSelect(b *testing.B) {
	sel := labels.SelectorFromSet(labels.Set{"app": "app-77"})
	for _, c := range []struct {
		name string
		defs []index.Definition[*pod]
	}{{"label index", []index.Definition[*pod]{podApp}}, {"scan", nil}} {
		b.Run(c.name, func(b *testing.B) {
			s := podStore(b, newPods(benchPods), c.defs...)
			b.ReportAllocs()
			for b.Loop() {
				if len(index.Select(s, "", sel)) != 100 {
					b.Fatal("lost")
				}
			}
		})
	}
	b.Run("namespace index", func(b *testing.B) {
		s := podStore(b, newPods(benchPods), podNS)
		namespaces := slices.Collect(podNS.Values(s))
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if len(index.Select(s, namespaces[cycle(i, len(namespaces))], nil)) != benchPods/benchNamespaces {
				b.Fatal("lost")
			}
		}
	})
}

// BenchmarkRelist writes all objects in one commit, as an informer writes a list.
func BenchmarkRelist(b *testing.B) {
	pods := newPods(benchPods)
	for _, c := range []struct {
		name string
		pair [2][]*pod
	}{
		{"nothing changed", [2][]*pod{pods, pods}},
		{"all changed", [2][]*pod{updates(pods, false), pods}},
		{"all moved", [2][]*pod{updates(pods, true), pods}},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := podStore(b, pods, podNode, podNS, podApp)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				relist(b, s, c.pair[i%2])
			}
		})
	}
}

// relist writes pods in chunks as large as package informer's.
func relist(b *testing.B, s *store.Store[types.NamespacedName, *pod], pods []*pod) {
	type op = store.Op[types.NamespacedName, *pod]
	var ops []op
	err := s.CommitChunks("", len(pods), func(yield func([]op) bool) {
		for chunk := range slices.Chunk(pods, 256) {
			ops = ops[:0]
			for _, p := range chunk {
				ops = append(ops, op{Key: types.NamespacedName{Namespace: p.Namespace, Name: p.Name}, Object: p})
			}
			if !yield(ops) {
				return
			}
		}
	})
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkBytes reports what a store holds beyond its objects, per object.
func BenchmarkBytes(b *testing.B) {
	pods := newPods(benchPods)
	for _, defs := range [][]index.Definition[*pod]{nil, {podNode}, {podNode, podNS, podApp}} {
		b.Run(fmt.Sprintf("%d indexes", len(defs)), func(b *testing.B) {
			for b.Loop() {
				before := memtest.Heap()
				s := podStore(b, pods, defs...)
				after := memtest.Heap()
				b.ReportMetric(float64(after-before)/benchPods, "B/object")
				runtime.KeepAlive(s)
			}
			runtime.KeepAlive(pods)
		})
	}
}
