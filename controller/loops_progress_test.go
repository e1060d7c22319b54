package controller_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/kind"
)

// workKind and settingsKind are what the reconcile of a shop writes and reads, beside the shop.
var (
	exampleVersion = schema.GroupVersion{Group: "example.com", Version: "v1"}
	workKind       = kind.Of[*shop](exampleVersion, "works").Named("Work").WithSubresources("status")
	settingsKind   = kind.Of[*shop](exampleVersion, "settings").Named("Settings")
)

// shopWorld is a loopWorld with a work and settings, which have the name of the shop.
type shopWorld struct {
	*loopWorld
	works, settings shopHandle
}

func newShopWorld(t *testing.T) *shopWorld {
	w := &shopWorld{loopWorld: newLoopWorld(t)}
	open := func(k *kind.Kind[*shop]) shopHandle {
		ok(t, fake.Define(w.server, fake.Definition[*shop]{Kind: k}))
		must(w.client(k).Create(t.Context(), newShop("one"), metav1.CreateOptions{}))(t)
		return controller.Open(client.Connection{URL: fake.URL, HTTP: w.server.Client(), UserAgent: "c/v1"}, k)
	}
	w.works, w.settings = open(workKind), open(settingsKind)
	return w
}

func (w *shopWorld) client(of *kind.Kind[*shop]) *client.Resource[*shop] {
	return must(client.New(client.Connection{URL: fake.URL, HTTP: w.server.Client(), UserAgent: "others"}, of, client.Options{}))(w.t)
}

// changes are what others do: they set the replicas, or the number in the status, of an object, n times.
type changes struct {
	of     *kind.Kind[*shop]
	status bool
	n      int
	period time.Duration
}

func (w *shopWorld) make(c changes) {
	to := w.client(c.of)
	for i := range c.n {
		var err error
		if c.status {
			_, err = to.PatchStatus(w.t.Context(), theShop, types.MergePatchType, fmt.Appendf(nil, `{"status":{"ready":%d}}`, i+1), metav1.PatchOptions{})
		} else {
			_, err = to.Patch(w.t.Context(), theShop, types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, i+1), metav1.PatchOptions{})
		}
		ok(w.t, err)
		time.Sleep(c.period)
	}
}

func keyOfShop(a *shop) key { return key{Namespace: a.Namespace, Name: a.Name} }

// annotate writes an annotation unless the object has it.
func annotate(ctx context.Context, h shopHandle, text string) error {
	a, known := h.Cached(theShop)
	if !known || a.Annotations["of"] == text {
		return nil
	}
	a = a.DeepCopy()
	a.Annotations = maps.Clone(a.Annotations)
	metav1.SetMetaDataAnnotation(&a.ObjectMeta, "of", text)
	_, err := h.Update(ctx, a, metav1.UpdateOptions{})
	return err
}

// A reconcile follows what others change, again and again, while others also answer what it writes: no loop.
func TestFollowingIsNoLoop(t *testing.T) {
	same := func(dst []key, a *shop) []key { return append(dst, keyOfShop(a)) }
	watchWorks := func(w *shopWorld, c *controller.Controller[key], _ shopHandle) { controller.Watch(c, w.works, same) }
	watchAll := func(w *shopWorld, c *controller.Controller[key], _ shopHandle) {
		controller.Watch(c, w.works, same)
		controller.Watch(c, w.settings, same)
	}
	ofSettings := func(w *shopWorld) string {
		s, _ := w.settings.Cached(theShop)
		return fmt.Sprint("hash ", s.Spec.Replicas)
	}
	for name, c := range map[string]struct {
		watch     func(w *shopWorld, c *controller.Controller[key], shops shopHandle)
		reconcile func(ctx context.Context, w *shopWorld, h shopHandle, a *shop) error
		others    []changes
	}{
		"a work has what a shop asks for": {
			watchWorks,
			func(ctx context.Context, w *shopWorld, h shopHandle, a *shop) error {
				return annotate(ctx, w.works, fmt.Sprint(a.Spec.Replicas))
			},
			[]changes{{shopKind, false, 1000, 5 * time.Second}, {workKind, true, 1700, 2900 * time.Millisecond}},
		},
		"a work has a hash of settings that are watched": {
			watchAll,
			func(ctx context.Context, w *shopWorld, h shopHandle, a *shop) error {
				return annotate(ctx, w.works, ofSettings(w))
			},
			[]changes{{settingsKind, false, 1000, 5 * time.Second}, {workKind, true, 1700, 2900 * time.Millisecond}},
		},
		"a work has a hash of settings that are referred to": {
			func(w *shopWorld, c *controller.Controller[key], shops shopHandle) {
				watchWorks(w, c, shops)
				controller.References(c, w.settings, informer.AddIndex(shops, index.By("settings", keyOfShop)))
			},
			func(ctx context.Context, w *shopWorld, h shopHandle, a *shop) error {
				return annotate(ctx, w.works, ofSettings(w))
			},
			[]changes{{settingsKind, false, 1000, 3 * time.Second}, {workKind, true, 1000, 3 * time.Second}},
		},
		"a work has a hash of settings, and its status moves ten times in each call": {
			watchAll,
			func(ctx context.Context, w *shopWorld, h shopHandle, a *shop) error {
				return annotate(ctx, w.works, ofSettings(w))
			},
			[]changes{{settingsKind, false, 60, 3 * time.Second}, {workKind, true, 1800, 100 * time.Millisecond}},
		},
		"settings that change each half an hour": {
			watchAll,
			func(ctx context.Context, w *shopWorld, h shopHandle, a *shop) error {
				return annotate(ctx, w.works, ofSettings(w))
			},
			[]changes{{settingsKind, false, 40, 30 * time.Minute}, {workKind, true, 600, 2 * time.Minute}},
		},
		"a node has a hash of settings, and its status moves": {
			watchAll,
			func(ctx context.Context, w *shopWorld, h shopHandle, a *shop) error {
				return annotate(ctx, h, ofSettings(w))
			},
			[]changes{{settingsKind, false, 1000, 7 * time.Second}, {shopKind, true, 700, 10 * time.Second}},
		},
		"a node has a text of its status, which moves each five minutes": {
			watchAll,
			func(ctx context.Context, w *shopWorld, h shopHandle, a *shop) error {
				return annotate(ctx, h, fmt.Sprint(a.Status.Ready))
			},
			[]changes{{shopKind, true, 100, 5 * time.Minute}},
		},
		"a shop has a hash of itself": {
			watchAll,
			func(ctx context.Context, w *shopWorld, h shopHandle, a *shop) error {
				return annotate(ctx, h, fmt.Sprint(a.Spec.Replicas))
			},
			[]changes{{shopKind, false, 1000, 5 * time.Second}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newShopWorld(t)
				w.start("c", controller.Options[key]{}, informer.Options[*shop]{}, func(ctx context.Context, h shopHandle, a *shop) error {
					return c.reconcile(ctx, w, h, a)
				}, func(of *controller.Controller[key], h shopHandle) { c.watch(w, of, h) })
				var all sync.WaitGroup
				for _, change := range c.others {
					all.Go(func() { w.make(change) })
				}
				all.Wait()
				w.stop()
				if got := w.reports(); len(got) > 0 {
					t.Errorf("reports %q", got)
				}
				if got := w.calls.Load(); got < int64(c.others[0].n) {
					t.Errorf("%d calls", got)
				}
			})
		})
	}
}

// A reconcile that goes on by itself, step by step, is no loop.
func TestStepsAreNoLoop(t *testing.T) {
	tokens := map[string]string{} // by the one before
	for last := ""; len(tokens) < 100; {
		tokens[last] = rand.Text()
		last = tokens[last]
	}
	for name, c := range map[string]struct {
		opts controller.Options[key]
		step func(ctx context.Context, h shopHandle, a *shop) error
	}{
		"a partition, with own events": {controller.Options[key]{OwnEvents: true}, func(ctx context.Context, h shopHandle, a *shop) error {
			if a.Spec.Replicas == 0 {
				return nil
			}
			return update(ctx, h, a, func(a *shop) { a.Spec.Replicas-- })
		}},
		"a cursor and a time in the status, by patches": {controller.Options[key]{}, func(ctx context.Context, h shopHandle, a *shop) error {
			if a.Status.Ready == 300 {
				return nil
			}
			_, err := h.PatchStatus(ctx, theShop, types.MergePatchType, fmt.Appendf(nil, `{"status":{"ready":%d,"seen":%q}}`, a.Status.Ready+1, time.Now()), metav1.PatchOptions{})
			return err
		}},
		"a cursor of opaque texts, by patches": {controller.Options[key]{}, func(ctx context.Context, h shopHandle, a *shop) error {
			next := tokens[a.Status.Seen]
			if next == "" {
				return nil
			}
			_, err := h.PatchStatus(ctx, theShop, types.MergePatchType, fmt.Appendf(nil, `{"status":{"seen":%q}}`, next), metav1.PatchOptions{})
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newShopWorld(t)
				w.make(changes{of: shopKind, n: 30})
				w.start("c", c.opts, informer.Options[*shop]{}, c.step)
				time.Sleep(time.Hour)
				w.stop()
				if got := w.reports(); len(got) > 0 {
					t.Errorf("reports %q", got)
				}
				if got := w.calls.Load(); got < 30 || got > 310 {
					t.Errorf("%d calls", got)
				}
			})
		})
	}
}
