package controller_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faketest"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/queue"
)

// shop is a custom resource as those of controllers that loop are.
type shop struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              shopSpec   `json:"spec"`
	Status            shopStatus `json:"status"`
}

type shopSpec struct {
	Replicas int64             `json:"replicas,omitempty"`
	Port     int64             `json:"port,omitempty"` // the server makes it 80
	CPU      resource.Quantity `json:"cpu"`
	Args     []string          `json:"args,omitempty"`
}

type shopStatus struct {
	Ready      int64              `json:"ready,omitempty"`
	Seen       string             `json:"seen,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

func (a *shop) DeepCopy() *shop {
	c := *a
	c.ObjectMeta = *a.ObjectMeta.DeepCopy()
	c.Spec.CPU = a.Spec.CPU.DeepCopy()
	c.Spec.Args = slices.Clone(a.Spec.Args)
	c.Status.Conditions = slices.Clone(a.Status.Conditions)
	return &c
}

var shopKind = kind.Of[*shop](schema.GroupVersion{Group: "example.com", Version: "v1"}, "shops").WithSubresources("status")

var theShop = key{Namespace: "a", Name: "one"}

func newShop(name string) *shop {
	return &shop{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}, Spec: shopSpec{CPU: resource.MustParse("1")}}
}

type shopHandle = *controller.Handle[*shop]

// loopWorld is a server with one shop, and controllers of shops in virtual time. Each reconcile takes a second.
type loopWorld struct {
	t      *testing.T
	server *fake.Server
	log    bytes.Buffer // read it after stop
	logger *slog.Logger
	stops  []func()
	calls  atomic.Int64
}

func newLoopWorld(t *testing.T) *loopWorld {
	w := &loopWorld{t: t, server: fake.New(fake.Options{})}
	w.logger = slog.New(slog.NewTextHandler(&w.log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	ok(t, fake.Define(w.server, fake.Definition[*shop]{Kind: shopKind, Hooks: fake.Hooks[*shop]{Default: func(a *shop) {
		if a.Spec.Port == 0 {
			a.Spec.Port = 80
		}
	}}}))
	must(fake.Create(w.server, newShop("one")))(t)
	return w
}

// start runs a controller, whose requests name it. reconcile gets each shop of the cache.
func (w *loopWorld) start(name string, opts controller.Options[key], cache informer.Options[*shop], reconcile func(ctx context.Context, h shopHandle, a *shop) error, more ...func(*controller.Controller[key], shopHandle)) *controller.Controller[key] {
	conn := client.Connection{URL: fake.URL, HTTP: w.server.Client(), UserAgent: name + "/v1"}
	h := controller.Open(conn, shopKind, controller.OpenOptions[*shop]{Informer: cache})
	opts.Logger = w.logger
	c := controller.New(name, func(ctx context.Context, k key) error {
		time.Sleep(time.Second)
		w.calls.Add(1)
		if a, ok := h.Cached(k); ok {
			return reconcile(ctx, h, a.DeepCopy())
		}
		return nil
	}, opts)
	controller.For(c, h)
	for _, add := range more {
		add(c, h)
	}
	w.stops = append(w.stops, started(w.t, c.Run))
	return c
}

func (w *loopWorld) stop() {
	for _, stop := range w.stops {
		stop()
	}
}

// reports returns the records about loops.
func (w *loopWorld) reports() (all []string) {
	for line := range strings.Lines(w.log.String()) {
		if strings.Contains(line, "reconcile runs in a loop") {
			all = append(all, line)
		}
	}
	return all
}

// update sends a changed copy.
func update(ctx context.Context, h shopHandle, a *shop, change func(*shop)) error {
	change(a)
	_, err := h.Update(ctx, a, metav1.UpdateOptions{})
	return err
}

// updateStatus sends a copy with a changed status.
func updateStatus(ctx context.Context, h shopHandle, a *shop, change func(*shopStatus)) error {
	change(&a.Status)
	_, err := h.UpdateStatus(ctx, a, metav1.UpdateOptions{})
	return err
}

// merge sends a patch that fits any state of the object, so that the event of the write may have somebody else's change in it.
func merge(ctx context.Context, h shopHandle, patch string) error {
	_, err := h.Patch(ctx, theShop, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

func stamp(s *shopStatus) {
	now := metav1.Now()
	s.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, LastTransitionTime: now, Reason: "Looked"}}
}

// Loops as public reports show them. report is the loop that each controller reports, and is empty if the detector does
// not see one: the loop ends by itself, or only a resync drives it. lines are what fake.Server.Loops says, where "..."
// stands for numbers. It does not know why a client writes, so it says nothing if another one has written before.
func TestLoops(t *testing.T) {
	own := controller.Options[key]{OwnEvents: true}
	resync := informer.Options[*shop]{Resync: 30 * time.Second}
	type step func(ctx context.Context, h shopHandle, a *shop) error
	turns := 0
	for name, c := range map[string]struct {
		opts   controller.Options[key]
		cache  informer.Options[*shop]
		steps  []step // of one controller each
		report string
		quiet  int // controllers, at the end of steps, that are not told
		lines  []string
	}{
		"a timestamp in a condition": {
			opts:   own,
			steps:  []step{func(ctx context.Context, h shopHandle, a *shop) error { return updateStatus(ctx, h, a, stamp) }},
			report: `after shops.example.com a/one changed status.conditions[Ready].lastTransitionTime, written by this controller`,
			lines:  []string{`shops.example.com a/one: "c0" has written status.conditions[Ready].lastTransitionTime ... times in a row without a reason: it is different each time`},
		},
		"a timestamp in a condition, without own events": {
			steps: []step{func(ctx context.Context, h shopHandle, a *shop) error { return updateStatus(ctx, h, a, stamp) }},
		},
		"a time in the status": {
			opts: own,
			steps: []step{func(ctx context.Context, h shopHandle, a *shop) error {
				return updateStatus(ctx, h, a, func(s *shopStatus) { s.Seen = time.Now().Format(time.RFC3339) })
			}},
			report: `after shops.example.com a/one changed status.seen, written by this controller`,
			lines:  []string{`shops.example.com a/one: "c0" has written status.seen ... times in a row without a reason: it is different each time`},
		},
		"a time of another format in the status": {
			opts: own,
			steps: []step{func(ctx context.Context, h shopHandle, a *shop) error {
				return updateStatus(ctx, h, a, func(s *shopStatus) { s.Seen = time.Now().Format(time.RFC1123) })
			}},
			report: `after shops.example.com a/one changed status.seen, written by this controller`,
			lines:  []string{`shops.example.com a/one: "c0" has written status.seen ... times in a row without a reason: it is different each time`},
		},
		"a message in a condition, with the number of a request": {
			opts: own,
			steps: []step{func(ctx context.Context, h shopHandle, a *shop) error {
				return updateStatus(ctx, h, a, func(s *shopStatus) {
					s.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Refused", Message: "refused: request " + rand.Text()}}
				})
			}},
			report: `after shops.example.com a/one changed status.conditions[Ready].message, written by this controller`,
			lines:  []string{`shops.example.com a/one: "c0" has written status.conditions[Ready].message ... times in a row without a reason: it is different each time`},
		},
		"nil against empty": {
			cache: resync,
			steps: []step{func(ctx context.Context, h shopHandle, a *shop) error {
				if a.Spec.Args == nil {
					return merge(ctx, h, `{"spec":{"args":[]}}`)
				}
				return nil
			}},
			lines: []string{`shops.example.com a/one: "c0" has written ... times what changed nothing: it sent spec.args, which the server stores in another form`},
		},
		"1000m against 1": {
			cache: resync,
			steps: []step{func(ctx context.Context, h shopHandle, a *shop) error {
				if a.Spec.CPU.String() != "1000m" {
					return merge(ctx, h, `{"spec":{"cpu":"1000m"}}`)
				}
				return nil
			}},
			lines: []string{`shops.example.com a/one: "c0" has written ... times what changed nothing: it sent spec.cpu, which the server stores in another form`},
		},
		"two controllers that fight": {
			steps: []step{
				func(ctx context.Context, h shopHandle, a *shop) error { return replicas(ctx, h, a, 1) },
				func(ctx context.Context, h shopHandle, a *shop) error { return replicas(ctx, h, a, 2) },
			},
			report: `after shops.example.com a/one changed spec.replicas, which others change, too`,
			lines: []string{
				`shops.example.com a/one: "c0" has written spec.replicas ... times in a row without a reason: its values come back`,
				`shops.example.com a/one: "c1" has written spec.replicas ... times in a row without a reason: its values come back`,
			},
		},
		"a status written without a change": {
			cache: resync,
			steps: []step{func(ctx context.Context, h shopHandle, a *shop) error {
				return updateStatus(ctx, h, a, func(*shopStatus) {})
			}},
			lines: []string{`shops.example.com a/one: "c0" has written ... times what changed nothing`},
		},
		"a field with a default": {
			cache: resync,
			steps: []step{func(ctx context.Context, h shopHandle, a *shop) error {
				return update(ctx, h, a, func(a *shop) { a.Spec.Port = 0 })
			}},
			lines: []string{`shops.example.com a/one: "c0" has written ... times what changed nothing: it sent spec.port, which the server stores in another form`},
		},
		"the order of labels": {
			steps: []step{func(ctx context.Context, h shopHandle, a *shop) error {
				turns++ // as a map is iterated over
				selector := []string{"a=1,b=2", "b=2,a=1"}[turns%2]
				return merge(ctx, h, fmt.Sprintf(`{"metadata":{"annotations":{"selector":%q}}}`, selector))
			}},
			report: `after shops.example.com a/one changed metadata.annotations.selector, written by this controller`,
			lines:  []string{`shops.example.com a/one: "c0" has written metadata.annotations.selector ... times in a row without a reason: its values come back`},
		},
		"an owner reference that is toggled": {
			steps: []step{
				func(ctx context.Context, h shopHandle, a *shop) error {
					if len(a.OwnerReferences) > 0 {
						return nil
					}
					return update(ctx, h, a, func(a *shop) {
						a.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Namespace", Name: "a", UID: "1"}}
					})
				},
				func(ctx context.Context, h shopHandle, a *shop) error {
					if len(a.OwnerReferences) == 0 {
						return nil
					}
					return update(ctx, h, a, func(a *shop) { a.OwnerReferences = nil })
				},
			},
			report: `after shops.example.com a/one changed metadata.ownerReferences, which others change, too`,
			lines: []string{
				`shops.example.com a/one: "c0" has written metadata.ownerReferences ... times in a row without a reason: its values come back`,
				`shops.example.com a/one: "c1" has written metadata.ownerReferences ... times in a row without a reason: its values come back`,
			},
		},
		"a finalizer that is added twice": {
			opts: own,
			steps: []step{func(ctx context.Context, h shopHandle, a *shop) error {
				return update(ctx, h, a, func(a *shop) { a.Finalizers = append(a.Finalizers, "example.com/app") })
			}},
			report: `after shops.example.com a/one changed metadata.finalizers, written by this controller`,
			lines:  []string{`shops.example.com a/one: "c0" has written metadata.finalizers ... times in a row without a reason: it is different each time`},
		},
		"an annotation with a hash of the object": {
			steps: []step{func(ctx context.Context, h shopHandle, a *shop) error {
				text, err := json.Marshal(a)
				hash := fnv.New64()
				_, _ = hash.Write(text)
				return errors.Join(err, merge(ctx, h, fmt.Sprintf(`{"metadata":{"annotations":{"example.com/hash":"%x"}}}`, hash.Sum64())))
			}},
			report: `after shops.example.com a/one changed metadata.annotations[example.com/hash], written by this controller`,
			lines:  []string{`shops.example.com a/one: "c0" has written metadata.annotations[example.com/hash] ... times in a row without a reason: it is different each time`},
		},
		"a timestamp that another controller answers with a status": {
			steps: []step{
				func(ctx context.Context, h shopHandle, a *shop) error {
					return update(ctx, h, a, func(a *shop) { a.Annotations = map[string]string{"at": time.Now().String()} })
				},
				func(ctx context.Context, h shopHandle, a *shop) error {
					if a.Status.Seen == a.Annotations["at"] {
						return nil
					}
					return updateStatus(ctx, h, a, func(s *shopStatus) { s.Seen = a.Annotations["at"] })
				},
			},
			report: `after shops.example.com a/one changed metadata.annotations.at, written by this controller and answered by others`,
			quiet:  1,
		},
		"a timestamp that another controller answers with eight statuses": {
			steps: []step{
				func(ctx context.Context, h shopHandle, a *shop) error {
					return merge(ctx, h, fmt.Sprintf(`{"metadata":{"annotations":{"at":%q}}}`, time.Now()))
				},
				func(ctx context.Context, h shopHandle, a *shop) error {
					for n := range int64(8) {
						_, err := h.PatchStatus(ctx, theShop, types.MergePatchType, fmt.Appendf(nil, `{"status":{"ready":%d}}`, a.Status.Ready+n+1), metav1.PatchOptions{})
						if err != nil {
							return err
						}
						time.Sleep(50 * time.Millisecond)
					}
					return nil
				},
			},
			report: `after shops.example.com a/one changed metadata.annotations.at, written by this controller and answered by others`,
			quiet:  1,
		},
		"a resync that is answered by a write": {
			cache: resync,
			steps: []step{func(ctx context.Context, h shopHandle, a *shop) error {
				return updateStatus(ctx, h, a, func(s *shopStatus) { s.Seen = time.Now().String() })
			}},
			lines: []string{`shops.example.com a/one: "c0" has written status.seen ... times in a row without a reason: it is different each time`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newLoopWorld(t)
				var all []*controller.Controller[key]
				for n, step := range c.steps {
					all = append(all, w.start(fmt.Sprint("c", n), c.opts, c.cache, step))
				}
				if c.report != "" {
					// Found within 20 rounds, of which each takes a second.
					time.Sleep(22 * time.Second * time.Duration(len(c.steps)))
					for _, c := range all[:len(all)-c.quiet] {
						if n := len(c.Loops()); n != 1 {
							t.Errorf("%s shows %d loops", c.Name(), n)
						}
					}
				}
				time.Sleep(time.Minute)
				if c.cache.Resync > 0 {
					time.Sleep(6 * time.Minute) // 12 resyncs
				}
				w.stop()
				want := 0
				if c.report != "" {
					want = len(c.steps) - c.quiet
				}
				if got := w.reports(); len(got) != want || want > 0 && !strings.Contains(got[0], c.report) {
					t.Errorf("reports %q, want %d of %q", got, want, c.report)
				}
				if got := numbers.ReplaceAllString(strings.Join(w.server.Loops(), "\n"), " ... times"); got != strings.Join(c.lines, "\n") {
					t.Errorf("loops:\n%s\nwant\n%s", got, strings.Join(c.lines, "\n"))
				}
			})
		})
	}
}

// A reconcile writes to another object, by an apply whose event can have somebody else's change in it. The event calls the
// reconcile again.
func TestLoopThroughChild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLoopWorld(t)
		c := w.start("c", controller.Options[key]{}, informer.Options[*shop]{}, func(ctx context.Context, h shopHandle, a *shop) error {
			if a.Name != "one" {
				return nil
			}
			_, err := h.Apply(ctx, map[string]any{
				"apiVersion": "example.com/v1", "kind": "Shop",
				"metadata": map[string]any{"namespace": "a", "name": "two", "annotations": map[string]any{"at": time.Now().String()}},
			}, metav1.ApplyOptions{FieldManager: "c", Force: true})
			return err
		}, func(c *controller.Controller[key], h shopHandle) {
			controller.Watch(c, h, func(dst []key, a *shop) []key {
				if a.Name == "two" {
					dst = append(dst, theShop)
				}
				return dst
			})
		})
		time.Sleep(time.Minute)
		all := c.Loops()
		const want = ", 16 after shops.example.com a/two changed metadata.annotations.at, written by this controller"
		if len(all) != 1 || all[0].Key != "a/one" || !strings.HasPrefix(all[0].Text, "16 reconciles in ") || !strings.HasSuffix(all[0].Text, want) || time.Since(all[0].At) > time.Minute {
			t.Errorf("loops %+v", all)
		}
		w.stop()
	})
}

var numbers = regexp.MustCompile(` \d+ times`)

func replicas(ctx context.Context, h shopHandle, a *shop, n int64) error {
	if a.Spec.Replicas == n {
		return nil
	}
	return update(ctx, h, a, func(a *shop) { a.Spec.Replicas = n })
}

// What goes on for long and is no loop: neither the controller nor the server calls it one.
func TestNoLoops(t *testing.T) {
	nothing := func(context.Context, shopHandle, *shop) error { return nil }
	ready := func(ctx context.Context, h shopHandle, a *shop) error {
		if a.Status.Ready == a.Spec.Replicas {
			return nil
		}
		return updateStatus(ctx, h, a, func(s *shopStatus) { s.Ready = a.Spec.Replicas })
	}
	for name, c := range map[string]struct {
		opts      controller.Options[key]
		cache     informer.Options[*shop]
		reconcile func(context.Context, shopHandle, *shop) error
		run       func(w *loopWorld)
		calls     int64 // at least
	}{
		"a rollout": {reconcile: ready, run: func(w *loopWorld) { w.roll(100) }, calls: 100},
		"a rollout with own events": {
			opts: controller.Options[key]{OwnEvents: true}, reconcile: ready, run: func(w *loopWorld) { w.roll(100) }, calls: 200,
		},
		"a resync each 30 s": {
			cache: informer.Options[*shop]{Resync: 30 * time.Second}, reconcile: nothing,
			run: func(*loopWorld) { time.Sleep(12 * time.Hour) }, calls: 1440,
		},
		"an apply in each reconcile": {
			cache: informer.Options[*shop]{Resync: 30 * time.Second},
			reconcile: func(ctx context.Context, h shopHandle, a *shop) error {
				_, err := h.Apply(ctx, map[string]any{
					"apiVersion": "example.com/v1", "kind": "Shop", "metadata": map[string]any{"namespace": "a", "name": "one"},
					"spec": map[string]any{"args": nil, "replicas": 3},
				}, metav1.ApplyOptions{FieldManager: "c", Force: true})
				return err
			},
			run: func(*loopWorld) { time.Sleep(time.Hour) }, calls: 120,
		},
		"failures": {
			opts:      controller.Options[key]{Queue: queue.Options[key]{OnError: func(key, error) {}}},
			reconcile: func(context.Context, shopHandle, *shop) error { return errors.New("not now") },
			run:       func(*loopWorld) { time.Sleep(24 * time.Hour) }, calls: 80,
		},
		"Again for a day": {
			reconcile: func(context.Context, shopHandle, *shop) error { return controller.Again(time.Second) },
			run:       func(*loopWorld) { time.Sleep(24 * time.Hour) }, calls: 43_000,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newLoopWorld(t)
				faketest.NoLoops(t, w.server)
				of := w.start("c", c.opts, c.cache, c.reconcile)
				c.run(w)
				if n := len(of.Loops()); n > 0 {
					t.Errorf("%d loops", n)
				}
				w.stop()
				if got := w.reports(); len(got) > 0 {
					t.Errorf("reports %q", got)
				}
				if got := w.calls.Load(); got < c.calls {
					t.Errorf("%d calls", got)
				}
			})
		})
	}
}

// roll has somebody else change the shop each two seconds, n times.
func (w *loopWorld) roll(n int64) {
	others := must(client.New(client.Connection{URL: fake.URL, HTTP: w.server.Client(), UserAgent: "others"}, shopKind, client.Options{}))(w.t)
	for n := range n {
		must(others.Patch(w.t.Context(), theShop, types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n+1), metav1.PatchOptions{}))(w.t)
		time.Sleep(3 * time.Second)
	}
}
