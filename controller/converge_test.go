package controller_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/internal/longtest"
)

// world is a controller of the site "one", which has a child and something outside the API server,
// on a bad day: requests fail before or after the server has carried them out, others write at
// the same time, and the cache is behind, though never behind the controller's own writes.
type world struct {
	t      *testing.T
	random *rand.Rand
	calm   bool
	server *fake.Server
	client *flaky

	history  []*site // states of the site; nil is none
	cache    int     // what of it the controller sees
	external map[types.UID]bool
	held     map[types.UID]bool // others have their finalizer on it
}

const theirs = "example.com/theirs"

// flaky is a client whose requests fail.
type flaky struct {
	*requests[*site]
	w *world
}

var errLost = errors.New("the connection broke")

// write carries out a write, perhaps with an accident.
func (f *flaky) write(do func() (*site, error)) (*site, error) {
	w := f.w
	if !w.calm && w.random.IntN(3) == 0 {
		w.others()
	}
	if !w.calm && w.random.IntN(5) == 0 {
		return nil, errLost // before the server got it; a crash here leaves the same state
	}
	obj, err := do()
	w.note()
	w.cache = len(w.history) - 1
	if !w.calm && w.random.IntN(5) == 0 {
		return nil, errLost
	}
	return obj, err
}

func (f *flaky) Create(ctx context.Context, object *site, opts metav1.CreateOptions) (*site, error) {
	return f.write(func() (*site, error) { return f.requests.Create(ctx, object, opts) })
}

func (f *flaky) Patch(ctx context.Context, key types.NamespacedName, pt types.PatchType, data []byte, opts metav1.PatchOptions) (*site, error) {
	return f.write(func() (*site, error) { return f.requests.Patch(ctx, key, pt, data, opts) })
}

func (f *flaky) PatchStatus(ctx context.Context, key types.NamespacedName, pt types.PatchType, data []byte, opts metav1.PatchOptions) (*site, error) {
	return f.write(func() (*site, error) { return f.requests.PatchStatus(ctx, key, pt, data, opts) })
}

// note adds the state of the site to the history.
func (w *world) note() {
	now, err := fake.Get[*site](w.server, key{Namespace: "a", Name: "one"})
	if err != nil {
		now = nil
	}
	if n := len(w.history); n == 0 || (now == nil) != (w.history[n-1] == nil) || now != nil && now.ResourceVersion != w.history[n-1].ResourceVersion {
		w.history = append(w.history, now)
	}
}

// others does what users and other controllers do.
func (w *world) others() {
	now := w.history[len(w.history)-1]
	switch n := w.random.IntN(8); {
	case now == nil:
		s := newSite("one")
		s.Spec.Size = int64(n)
		must(fake.Create(w.server, s))(w.t)
	case n == 0:
		must(fake.Delete[*site](w.server, keyOf(now)))(w.t)
	case n < 4:
		must(fake.Patch[*site](w.server, keyOf(now), fmt.Appendf(nil, `{"spec":{"size":%d}}`, w.random.IntN(5))))(w.t)
	case n < 5:
		must(fake.Patch[*site](w.server, keyOf(now), fmt.Appendf(nil, `{"metadata":{"labels":{"x":"%d"}}}`, w.random.Int())))(w.t)
	case n == 5 && now.DeletionTimestamp == nil:
		now = now.DeepCopy()
		if !slices.Contains(now.Finalizers, theirs) {
			now.Finalizers = append(now.Finalizers, theirs)
			w.held[now.UID] = true
			must(fake.Update(w.server, now))(w.t)
		}
	case n == 6:
		_, _ = fake.Delete[*site](w.server, key{Namespace: "a", Name: "child"}) // if it is there
	default:
		_, _ = fake.Patch[*site](w.server, key{Namespace: "a", Name: "child"}, []byte(`{"spec":{"size":77,"parts":{"theirs":"1"}}}`))
	}
	w.note()
}

func keyOf(s *site) key { return key{Namespace: s.Namespace, Name: s.Name} }

// reconcile is what a user writes.
func (w *world) reconcile(ctx context.Context) error {
	site := w.history[w.cache]
	if site == nil {
		return nil
	}
	site, done, err := controller.Finalize(ctx, w.client, site, hold, w.cleanup)
	if done || err != nil {
		return err
	}
	w.external[site.UID] = true
	child, _, err := controller.CreateOrUpdate(ctx, w.client, newSite("child"), func(c siteObject) error {
		c.Spec.Size = site.Spec.Size
		return controller.SetController(c, site, siteKinds)
	})
	if err != nil {
		return err
	}
	_, err = controller.PatchStatus(ctx, w.client, site, func(s siteObject) {
		s.Status.Ready = child.Spec.Size
		controller.SetCondition(&s.Status.Conditions, site.Generation, metav1.Condition{Type: "Ready", Status: "True", Reason: "Runs"})
	})
	return err
}

type siteObject = *site

func (w *world) cleanup(_ context.Context, s *site) error {
	now, err := fake.Get[*site](w.server, keyOf(s))
	if err != nil || now.UID != s.UID || now.DeletionTimestamp == nil || !slices.Contains(now.Finalizers, hold) {
		w.t.Errorf("cleanup of %+v, which is %+v, %v", s, now, err)
	}
	if !w.calm && w.random.IntN(3) == 0 {
		return errLost
	}
	delete(w.external, s.UID)
	return nil
}

// release has others let go of the site.
func (w *world) release() {
	now := w.history[len(w.history)-1]
	if now == nil || !w.held[now.UID] {
		return
	}
	if !slices.Contains(now.Finalizers, theirs) {
		w.t.Errorf("the finalizer of others is gone: %v", now.Finalizers)
		return
	}
	now = now.DeepCopy()
	now.Finalizers = slices.DeleteFunc(now.Finalizers, func(f string) bool { return f == theirs })
	w.held[now.UID] = false
	must(fake.Update(w.server, now))(w.t)
	w.note()
}

// check compares the end with what it must be.
func (w *world) check() {
	now := w.history[len(w.history)-1]
	child, err := fake.Get[*site](w.server, key{Namespace: "a", Name: "child"})
	if now == nil {
		if err == nil || len(w.external) > 0 {
			w.t.Errorf("the site is gone and left a child: %v, and outside: %v", err == nil, w.external)
		}
		return
	}
	if err != nil || child.Spec.Size != now.Spec.Size || !metav1.IsControlledBy(child, now) || len(child.OwnerReferences) != 1 {
		w.t.Errorf("child %+v of %+v: %v", child, now, err)
	}
	if !maps.Equal(w.external, map[types.UID]bool{now.UID: true}) {
		w.t.Errorf("outside: %v, want that of %s", w.external, now.UID)
	}
	if c := now.Status.Conditions; now.Status.Ready != now.Spec.Size || len(c) != 1 || c[0].ObservedGeneration != now.Generation || !slices.Contains(now.Finalizers, hold) {
		w.t.Errorf("status of %+v", now)
	}
}

// Whatever happens, it converges: nothing is there twice, nothing is left behind, and then nothing
// is written any more.
func TestConverge(t *testing.T) {
	for seed := range longtest.N[uint64](120, 50_000) {
		w := &world{t: t, random: rand.New(rand.NewPCG(seed, 2)), server: fake.New(fake.Options{CollectGarbage: true}), external: map[types.UID]bool{}, held: map[types.UID]bool{}}
		if err := fake.Register(w.server, siteKinds, fake.Rules{}); err != nil {
			t.Fatal(err)
		}
		w.client = &flaky{&requests[*site]{Resource: clientOf(t, w.server, siteKinds)}, w}
		w.note()
		for range 30 {
			if w.random.IntN(3) == 0 {
				w.others()
			}
			w.cache += w.random.IntN(len(w.history) - w.cache)
			_ = w.reconcile(t.Context())
		}
		w.release()
		w.calm = true
		for range 6 {
			w.cache = len(w.history) - 1
			w.client.take()
			if err := w.reconcile(t.Context()); err != nil {
				t.Errorf("on a calm day: %v", err)
			}
		}
		if sent := strings.ReplaceAll(w.client.take(), "get", ""); strings.TrimSpace(sent) != "" {
			t.Errorf("%s is sent although nothing changed", sent)
		}
		if w.check(); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
