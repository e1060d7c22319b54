// Package pods makes the objects of all benchmarks: pods as in a real cluster, 3 to 5 KB
// each in memory, laid out as a decoder leaves them.
package pods

import (
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The shape of a cluster: 100,000 pods are in 500 namespaces, on 1,000 nodes, of 1,000
// applications. Fewer pods have fewer of each, so that a namespace, a node or an
// application always has the same number of pods.
const (
	PerNamespace = 200
	PerNode      = 100
	PerApp       = 100
)

// AppLabel is the label that names a pod's application.
const AppLabel = "app.kubernetes.io/name"

// Fleet is the pods of a cluster in several states, made from a seed. They are read-only;
// Copies returns pods that may be changed. A Fleet is safe for concurrent use.
type Fleet struct {
	base, updated, moved func() []*corev1.Pod
	keys                 func() []types.NamespacedName
}

// New returns a fleet of n pods. It makes each state when that is first requested. The same
// n and seed give the same pods.
func New(n int, seed uint64) *Fleet {
	f := &Fleet{}
	f.base = sync.OnceValue(func() []*corev1.Pod { return makeAll(n, seed) })
	f.updated = sync.OnceValue(func() []*corev1.Pod { return next(f.base(), func(*corev1.Pod) {}) })
	f.moved = sync.OnceValue(func() []*corev1.Pod {
		otherNode, otherApp := shifted(count(n, PerNode), nodeName), shifted(count(n, PerApp), appName)
		return next(f.base(), func(p *corev1.Pod) {
			p.Spec.NodeName = otherNode[p.Spec.NodeName]
			p.Labels = maps.Clone(p.Labels)
			p.Labels[AppLabel] = otherApp[p.Labels[AppLabel]]
		})
	})
	f.keys = sync.OnceValue(func() []types.NamespacedName { return makeKeys(f.base(), seed) })
	return f
}

// Pods returns the first state of all pods. The order is independent of their places in
// memory, as in a program that has been running for a while.
func (f *Fleet) Pods() []*corev1.Pod { return f.base() }

// Updated returns, for each of Pods, a newer state with another status. The values of the
// benchmarks' indexes are the same.
func (f *Fleet) Updated() []*corev1.Pod { return f.updated() }

// Moved returns, for each of Pods, a newer state on another node and of another
// application.
func (f *Fleet) Moved() []*corev1.Pod { return f.moved() }

// Keys returns the keys of Pods, in another order. Their strings are copies of the pods' strings,
// because a program that looks up a pod does not have the pod's memory in its cache.
func (f *Fleet) Keys() []types.NamespacedName { return f.keys() }

// Copies returns copies of the first n of Pods, or of all if there are fewer. The caller
// may write to the scalar fields of their metadata.
func (f *Fleet) Copies(n int) []*corev1.Pod {
	all := f.base()
	copies := make([]*corev1.Pod, min(n, len(all)))
	for i := range copies {
		p := *all[i]
		copies[i] = &p
	}
	return copies
}

// Nodes returns the names of all nodes, in no order.
func (f *Fleet) Nodes() []string {
	nodes := make([]string, count(len(f.base()), PerNode))
	for i, n := range rand.New(rand.NewPCG(1, 1)).Perm(len(nodes)) {
		nodes[i] = nodeName(n)
	}
	return nodes
}

// App returns the name of an application that PerApp of the pods belong to.
func (f *Fleet) App() string { return appName(count(len(f.base()), PerApp) / 2) }

// count returns the number of groups of the given size for n pods.
func count(n, size int) int { return max(n/size, 1) }

func nodeName(i int) string {
	return "ip-10-" + strconv.Itoa(i/250) + "-" + strconv.Itoa(i%250) + "-17.eu-central-1.compute.internal"
}

func appName(i int) string { return "service-" + strconv.Itoa(i) }

// shifted gives each of n names the one after it.
func shifted(n int, name func(int) string) map[string]string {
	after := make(map[string]string, n)
	for i := range n {
		after[name(i)] = name((i + 1) % n)
	}
	return after
}

func makeKeys(all []*corev1.Pod, seed uint64) []types.NamespacedName {
	keys := make([]types.NamespacedName, len(all))
	for i, from := range rand.New(rand.NewPCG(seed, 3)).Perm(len(all)) {
		p := all[from]
		keys[i] = types.NamespacedName{Namespace: strings.Clone(p.Namespace), Name: strings.Clone(p.Name)}
	}
	return keys
}

// next returns a newer state of all pods. It shares the parts that change does not touch
// with the old state, except the status.
func next(all []*corev1.Pod, change func(*corev1.Pod)) []*corev1.Pod {
	out := make([]*corev1.Pod, len(all))
	for i, old := range all {
		p := *old
		p.ResourceVersion = strconv.Itoa(len(all) + i + 1)
		p.Status.Phase = corev1.PodSucceeded
		change(&p)
		out[i] = &p
	}
	return out
}
