package pods

import (
	"encoding/json"
	"reflect"
	"runtime"
	"testing"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"go.uber.org/goleak"

	"github.com/kinform/kinform/internal/memtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testPods = 2000

// TestShape checks the assumptions of the benchmarks: sizes of groups, and keys without
// repetition.
func TestShape(t *testing.T) {
	f := New(testPods, 7)
	namespaces, nodes, apps := map[string]int{}, map[string]int{}, map[string]int{}
	keys := map[types.NamespacedName]bool{}
	for _, p := range f.Pods() {
		namespaces[p.Namespace]++
		nodes[p.Spec.NodeName]++
		apps[p.Labels[AppLabel]]++
		keys[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}] = true
	}
	for _, group := range []struct {
		name  string
		sizes map[string]int
		each  int
	}{{"namespace", namespaces, PerNamespace}, {"node", nodes, PerNode}, {"app", apps, PerApp}} {
		if len(group.sizes) != testPods/group.each {
			t.Errorf("%d of %s, want %d", len(group.sizes), group.name, testPods/group.each)
		}
		for value, n := range group.sizes {
			if n != group.each {
				t.Errorf("%s %s has %d pods, want %d", group.name, value, n, group.each)
			}
		}
	}
	if len(keys) != testPods {
		t.Errorf("%d keys, want %d", len(keys), testPods)
	}
	if apps[f.App()] != PerApp {
		t.Errorf("%q has %d pods", f.App(), apps[f.App()])
	}
	for _, node := range f.Nodes() {
		if nodes[node] != PerNode {
			t.Errorf("no pods on node %q", node)
		}
	}
}

func TestKeys(t *testing.T) {
	f := New(testPods, 7)
	byKey := map[types.NamespacedName]*corev1.Pod{}
	for _, p := range f.Pods() {
		byKey[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}] = p
	}
	for i, k := range f.Keys() {
		p := byKey[k]
		if p == nil {
			t.Fatalf("key %d is of no pod, or came twice: %v", i, k)
		}
		delete(byKey, k)
		if unsafe.StringData(k.Name) == unsafe.StringData(p.Name) {
			t.Fatalf("key %d has the memory of its pod", i)
		}
	}
}

func TestStates(t *testing.T) {
	f := New(testPods, 7)
	versions := map[string]bool{}
	for i, p := range f.Pods() {
		u, m := f.Updated()[i], f.Moved()[i]
		for _, q := range []*corev1.Pod{u, m} {
			if q.Namespace != p.Namespace || q.Name != p.Name || q.UID != p.UID || q.ResourceVersion == p.ResourceVersion {
				t.Fatalf("pod %d: not a newer state of the same pod", i)
			}
		}
		if u.Spec.NodeName != p.Spec.NodeName || u.Labels[AppLabel] != p.Labels[AppLabel] {
			t.Fatalf("pod %d: an update moved it", i)
		}
		if m.Spec.NodeName == p.Spec.NodeName || m.Labels[AppLabel] == p.Labels[AppLabel] || len(m.Labels) != len(p.Labels) {
			t.Fatalf("pod %d: not moved", i)
		}
		versions[p.ResourceVersion] = true
	}
	if len(versions) != testPods {
		t.Errorf("%d resourceVersions, want %d", len(versions), testPods)
	}
}

func TestCopies(t *testing.T) {
	f := New(testPods, 7)
	copies := f.Copies(testPods + 1)
	if len(copies) != testPods {
		t.Fatalf("%d copies", len(copies))
	}
	was := f.Pods()[3].ResourceVersion
	copies[3].ResourceVersion = "changed"
	if f.Pods()[3].ResourceVersion != was {
		t.Error("a copy is the pod itself")
	}
}

func TestSameSeedSamePods(t *testing.T) {
	a, b, c := New(300, 1).Pods(), New(300, 1).Pods(), New(300, 2).Pods()
	if !reflect.DeepEqual(a, b) {
		t.Error("one seed gave two fleets")
	}
	if reflect.DeepEqual(a, c) {
		t.Error("two seeds gave one fleet")
	}
}

// TestSize checks that the pods have the size that the results name.
func TestSize(t *testing.T) {
	if testing.Short() {
		t.Skip("measures the heap")
	}
	each := memtest.Least(4<<10, func() int64 {
		before := memtest.Heap()
		all := New(testPods, 7).Pods()
		after := memtest.Heap()
		runtime.KeepAlive(all)
		return (after - before) / testPods
	})
	if each < 3<<10 || each > 5<<10 {
		t.Errorf("%d bytes per pod, want 3 to 5 KB", each)
	}
	t.Logf("%d bytes per pod", each)
}

// TestJSONSize checks the sizes that the report names.
func TestJSONSize(t *testing.T) {
	for _, c := range []struct {
		name  string
		list  *corev1.PodList
		least int
		most  int
	}{{"pod", List(1000), 4 << 10, 5 << 10}, {"fat pod", Fat(1000), 30 << 10, 32 << 10}} {
		text, err := json.Marshal(c.list)
		if err != nil {
			t.Fatal(err)
		}
		if each := len(text) / len(c.list.Items); each < c.least || each > c.most {
			t.Errorf("a %s has %d bytes, want %d to %d", c.name, each, c.least, c.most)
		}
	}
}
