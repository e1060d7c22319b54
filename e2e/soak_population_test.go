//go:build e2e

package e2e_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/e2e/oracle"
)

const (
	soakNamespaces = 20
	// soakWriters write at a time; each has its own objects.
	soakWriters = 8
	touched     = "touched" // an annotation that all objects have, with a value that is always as long
)

// soakKind is a type of object of TestSoak.
type soakKind struct {
	gvr       schema.GroupVersionResource
	create    func(ctx context.Context, server *oracle.Client, meta metav1.ObjectMeta) error
	list      func(ctx context.Context, server *oracle.Client) (map[key]metav1.Object, error) // of ours
	informers func(t *testing.T, conn client.Connection) []soakInformer
}

func soakKinds() []*soakKind {
	pod := oracle.NewPod("", 0).Spec
	return []*soakKind{
		kindOf(corev1.SchemeGroupVersion.WithResource("configmaps"), func(cm *corev1.ConfigMap) { cm.Data = map[string]string{"value": "1"} }),
		kindOf(corev1.SchemeGroupVersion.WithResource("pods"), func(p *corev1.Pod) { p.Spec = *pod.DeepCopy() }),
		kindOf(corev1.SchemeGroupVersion.WithResource("secrets"), func(s *corev1.Secret) { s.Data = map[string][]byte{"value": make([]byte, 200)} }),
		kindOf(coordinationv1.SchemeGroupVersion.WithResource("leases"), func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = new("nobody") }),
		kindOf(appsv1.SchemeGroupVersion.WithResource("deployments"), func(d *appsv1.Deployment) {
			labels := map[string]string{"app": "e2e"}
			d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
			d.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: *pod.DeepCopy()}
		}),
	}
}

// kindOf returns the kind of *O, with fill for what an object has beside metadata.
func kindOf[O any, T interface {
	*O
	metav1.Object
}](gvr schema.GroupVersionResource, fill func(*O)) *soakKind {
	k := &soakKind{gvr: gvr}
	k.create = func(ctx context.Context, server *oracle.Client, meta metav1.ObjectMeta) error {
		obj := new(O)
		fill(obj)
		T(obj).SetName(meta.Name)
		T(obj).SetLabels(meta.Labels)
		T(obj).SetAnnotations(meta.Annotations)
		_, err := oracle.Create(ctx, server, k.path(meta.Namespace, ""), obj)
		return err
	}
	k.list = func(ctx context.Context, server *oracle.Client) (map[key]metav1.Object, error) {
		items, _, err := oracle.List[O](ctx, server, k.path("", ""), metav1.ListOptions{})
		all := make(map[key]metav1.Object, len(items))
		for n := range items {
			if obj := T(&items[n]); ours(obj) {
				all[nameOf(obj)] = obj
			}
		}
		return all, err
	}
	k.informers = func(t *testing.T, conn client.Connection) []soakInformer { return watchersOf[T](t, conn, gvr) }
	return k
}

// path is the path of an object, or of a collection without a name, in all namespaces without one.
func (k *soakKind) path(namespace, name string) string {
	path := "/api/" + k.gvr.Version
	if k.gvr.Group != "" {
		path = "/apis/" + k.gvr.Group + "/" + k.gvr.Version
	}
	if namespace != "" {
		path += "/namespaces/" + namespace
	}
	path += "/" + k.gvr.Resource
	if name != "" {
		path += "/" + name
	}
	return path
}

// slot is a place in the population. There is one object in it at any time that nothing is
// written, under a name that changes.
type slot struct {
	kind       *soakKind
	i          int
	generation int
}

// sentinel is the name of the object in a kind's first slot, which is in every selection.
const sentinel = "soak-00000-0000"

func (s *slot) namespace() string { return oracle.NamespaceName(s.i % soakNamespaces) }
func (s *slot) name() string      { return fmt.Sprintf("soak-%05d-%04d", s.i, s.generation) }
func (s *slot) path() string      { return s.kind.path(s.namespace(), s.name()) }

func (s *slot) create(ctx context.Context, server *oracle.Client) error {
	return s.kind.create(ctx, server, metav1.ObjectMeta{
		Namespace: s.namespace(), Name: s.name(),
		Labels:      map[string]string{oracle.ShardLabel: fmt.Sprint(s.i % 4)},
		Annotations: map[string]string{touched: fmt.Sprintf("%010d", 0)},
	})
}

// ours reports whether an object is of the population. The server has others, which it writes
// itself, such as its lease.
func ours(obj metav1.Object) bool {
	_, ok := obj.GetAnnotations()[touched]
	return ok
}

// population is a constant number of objects of some kinds on a server.
type population struct {
	server  *oracle.Client
	kinds   []*soakKind
	slots   []*slot
	written atomic.Int64
}

func newPopulation(server *oracle.Client, kinds []*soakKind, objects int) *population {
	p := &population{server: server, kinds: kinds}
	for i := range objects {
		p.slots = append(p.slots, &slot{kind: kinds[i%len(kinds)], i: i / len(kinds)})
	}
	return p
}

// fill makes the namespaces and the objects.
func (p *population) fill(ctx context.Context) error {
	if err := oracle.Fill(ctx, p.server, oracle.Shape{Namespaces: soakNamespaces}); err != nil {
		return err
	}
	return oracle.Each(ctx, len(p.slots), 0, func(ctx context.Context, i int) error {
		return p.slots[i].create(ctx, p.server)
	})
}

// change writes to the objects until over is closed. What has begun is finished.
func (p *population) change(ctx context.Context, over <-chan struct{}) error {
	var group errgroup.Group
	for w := range soakWriters {
		group.Go(func() error {
			random := rand.New(rand.NewPCG(uint64(p.written.Load()), uint64(w)))
			for {
				select {
				case <-over:
					return nil
				default:
				}
				// The first slot of each kind is a sentinel.
				n := len(p.kinds) + random.IntN(len(p.slots)-len(p.kinds))
				if n%soakWriters != w {
					continue
				}
				if err := p.write(ctx, p.slots[n], random); err != nil {
					return err
				}
				p.written.Add(1)
			}
		})
	}
	return group.Wait()
}

// write replaces the object by another one or updates it, so that it is in or out of the
// selection by label.
func (p *population) write(ctx context.Context, s *slot, random *rand.Rand) error {
	if random.IntN(4) > 0 {
		return p.patch(ctx, s, fmt.Sprint((s.i+random.IntN(2))%4))
	}
	if err := insist(ctx, "delete", func() error { return p.server.Delete(ctx, s.path()) }); err != nil {
		return err
	}
	s.generation++
	return insist(ctx, "create", func() error { return s.create(ctx, p.server) })
}

func (p *population) patch(ctx context.Context, s *slot, shard string) error {
	_, err := p.update(ctx, s, shard)
	return err
}

// update returns the version that it made.
func (p *population) update(ctx context.Context, s *slot, shard string) (rv string, err error) {
	patch := map[string]any{"metadata": map[string]any{
		"annotations": map[string]string{touched: fmt.Sprintf("%010d", rand.IntN(1e9))},
		"labels":      map[string]string{oracle.ShardLabel: shard},
	}}
	err = insist(ctx, "update", func() error {
		got, err := oracle.Patch[metav1.PartialObjectMetadata](ctx, p.server, s.path(), patch)
		if err == nil {
			rv = got.ResourceVersion
		}
		return err
	})
	return rv, err
}

// touch updates the sentinels and returns their versions by resource. A cache that has these
// versions has all earlier writes too.
func (p *population) touch(ctx context.Context) (map[string]string, error) {
	versions := map[string]string{}
	for i, kind := range p.kinds {
		rv, err := p.update(ctx, p.slots[i], "0")
		if err != nil {
			return nil, err
		}
		versions[kind.gvr.Resource] = rv
	}
	return versions, nil
}
