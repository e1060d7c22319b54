package controller_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/queue"
)

// because collects the causes of reconciles.
type because struct {
	mu  sync.Mutex
	all []string
}

// reconcile notes the causes of the call.
func (b *because) reconcile(ctx context.Context, k key) error {
	causes := controller.CausesOf(ctx)
	var texts []string
	for _, cause := range causes.Newest {
		text := cause.String()
		if changed := cause.Changed(); len(changed) > 0 {
			text += " (" + strings.Join(changed, " ") + ")"
		}
		texts = append(texts, text)
	}
	if more := causes.Adds - len(causes.Newest); more > 0 {
		texts = append(texts, fmt.Sprint("and ", more))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = append(b.all, fmt.Sprint(k, ": ", strings.Join(texts, "; ")))
	return nil
}

func (b *because) take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := strings.Join(b.all, "\n")
	b.all = nil
	return text
}

// Each kind of cause, as the reconcile sees it.
func TestCauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newScene(t, controller.OpenOptions[*gadget]{Informer: informer.Options[*gadget]{Resync: 100 * time.Hour}})
		g := create(t, w.server, newGadget("one", "x"))
		one := key{Namespace: "a", Name: "one"}
		var got because
		var work func(context.Context) error // of the next call
		c := controller.New("", func(ctx context.Context, k key) error {
			f := work
			work = nil
			if err := got.reconcile(ctx, k); err != nil || f == nil {
				return err
			}
			return f(ctx)
		}, controller.Options[key]{Queue: queue.Options[key]{OnError: func(key, error) {}}})
		controller.For(c, w.handle)
		before := g.ResourceVersion
		expect := func(when string, d time.Duration, want ...string) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			now, _ := w.handle.Cached(one)
			if now != nil {
				g = now
			}
			text := strings.NewReplacer("OLD", before, "NEW", g.ResourceVersion).Replace(strings.Join(want, "\n"))
			before = g.ResourceVersion
			if got := got.take(); got != text {
				t.Errorf("%s: got\n%s\nwant\n%s", when, got, text)
			}
		}
		stop := started(t, c.Run)
		expect("the first list", time.Second, "a/one: gadgets a/one found NEW")
		done(fake.Update(w.server, labelled(g, "1")))
		expect("somebody's update", time.Second, "a/one: gadgets a/one updated OLD → NEW (metadata.labels)")
		c.Queue().Add(one)
		expect("by hand", time.Second, "a/one: added by hand")
		c.Queue().AddAfter(one, time.Minute)
		expect("a delay", time.Hour, "a/one: delay ended")
		work = func(context.Context) error { return controller.Again(time.Minute) }
		c.Queue().Add(one)
		expect("again", time.Hour, "a/one: added by hand", "a/one: asked for again")
		work = func(context.Context) error { return errors.New("no") }
		c.Queue().Add(one)
		expect("a failure", time.Hour, "a/one: added by hand", "a/one: retry; added by hand")
		work = func(ctx context.Context) error {
			time.Sleep(time.Second)
			for n := range 5 {
				g = done(fake.Update(w.server, labelled(g, fmt.Sprint("merged", n))))
				synctest.Wait()
				before = g.ResourceVersion
			}
			done(fake.Update(w.server, labelled(g, "merged")))
			synctest.Wait()
			return nil
		}
		c.Queue().Add(one)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if text := got.take(); strings.Count(text, "updated") != 3 || !strings.HasSuffix(text, "; and 3") || !strings.HasPrefix(text, "a/one: added by hand\na/one: gadgets a/one updated "+before) {
			t.Errorf("merged: got\n%s", text)
		}
		done(fake.Delete[*gadget](w.server, one))
		synctest.Wait()
		if text := got.take(); !strings.HasPrefix(text, "a/one: gadgets a/one deleted ") {
			t.Errorf("got %s", text)
		}
		g = create(t, w.server, newGadget("one", "x"))
		expect("a creation", time.Second, "a/one: gadgets a/one added NEW")
		time.Sleep(200 * time.Hour) // the times of resyncs are random
		for line := range strings.SplitSeq(got.take(), "\n") {
			if line != "a/one: gadgets a/one unchanged "+g.ResourceVersion {
				t.Errorf("a resync: got %q", line)
			}
		}
		stop()
	})
}

// A key knows the objects of other kinds that queued it.
func TestCausesOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, _ := setup(t)
		ok(t, fake.Register(server, siteKinds, fake.Rules{}))
		conn := client.Connection{URL: fake.URL, HTTP: server.Client()}
		sites, gadgets := controller.Open(conn, siteKinds), controller.Open(conn, gadgetKind)
		site := done(fake.Create(server, newSite("one")))
		var got because
		c := controller.New("", got.reconcile)
		controller.For(c, sites)
		controller.Owns(c, sites, gadgets)
		stop := started(t, c.Run)
		time.Sleep(time.Second)
		got.take()
		child := newGadget("child", "")
		ok(t, controller.SetController(child, site, siteKinds))
		child = create(t, server, child)
		time.Sleep(time.Second)
		if text := got.take(); text != "a/one: gadgets a/child added "+child.ResourceVersion {
			t.Errorf("got %s", text)
		}
		stop()
	})
}

// What this process writes is known as its own, whoever in it wrote. The watch is slower than the answers here:
// otherwise a reconcile may begin before its process knows.
func TestCausesOfOwnWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newScene(t, controller.OpenOptions[*gadget]{})
		ok(t, w.server.Inject(faults.Fault{Verb: faults.VerbWatch, Delay: stale, Times: -1}))
		one := key{Namespace: "a", Name: "one"}
		version := create(t, w.server, newGadget("one", "x")).ResourceVersion
		patch := func(ctx context.Context, owner string) {
			done(w.handle.Patch(ctx, one, types.MergePatchType, fmt.Appendf(nil, `{"owner":%q}`, owner), metav1.PatchOptions{}))
		}
		var got because
		c := controller.New("", func(ctx context.Context, k key) error {
			if k.Name == "writer" {
				patch(ctx, "y")
				patch(ctx, "y") // which changes nothing
			}
			return got.reconcile(ctx, k)
		})
		controller.For(c, w.handle)
		stop := started(t, c.Run)
		expect := func(when, want string) {
			t.Helper()
			time.Sleep(time.Second)
			synctest.Wait()
			now, _ := w.handle.Cached(one)
			if got, want := got.take(), fmt.Sprintf(want, version, now.ResourceVersion); got != want {
				t.Errorf("%s: got\n%s\nwant\n%s", when, got, want)
			}
			version = now.ResourceVersion
		}
		time.Sleep(time.Second)
		got.take()
		g, _ := w.handle.Cached(one)
		done(w.handle.Update(t.Context(), labelled(g, "1"), metav1.UpdateOptions{}))
		expect("an update of no reconcile", "a/one: gadgets a/one updated %s → %s, by this process (metadata.labels)")
		c.Queue().Add(key{Namespace: "a", Name: "writer"})
		time.Sleep(time.Second)
		all := strings.Split(got.take(), "\n")
		slices.Sort(all)
		got.all = all[:1] // and the writer itself
		expect("a patch of another key's reconcile", "a/one: gadgets a/one updated %s → %s, by this process (owner)")
		stop()
	})
}

// The causes of a reconcile that served nothing are causes of the next one: it failed or panicked, more often than a key
// has causes, or it could not begin because a write cannot be caught up with, or because the namespace is not listed.
func TestCausesStay(t *testing.T) {
	one := key{Namespace: "a", Name: "one"}
	for name, test := range map[string]struct {
		fails func() error // five times
		setup func(t *testing.T, w *scene, set *informer.Namespaces)
		want  string // the calls, by their causes
	}{
		"error":  {func() error { return errors.New("no") }, nil, "X" + strings.Repeat("\nretry; X", 5)},
		"panic":  {func() error { panic("no") }, nil, "X" + strings.Repeat("\nretry; X", 5)},
		"goexit": {func() error { runtime.Goexit(); return nil }, nil, "X" + strings.Repeat("\nretry; X", 5)},
		"again":  {func() error { return controller.Again(time.Second) }, nil, "X" + strings.Repeat("\nasked for again", 5)},
		"catch up": {nil, func(t *testing.T, w *scene, _ *informer.Namespaces) {
			old, _ := w.handle.Cached(one)
			ok(t, w.server.Inject(faults.Fault{Verb: faults.VerbWatch, Delay: time.Hour, Times: -1}))
			w.server.DropWatches()
			done(fake.Update(w.server, labelled(old, "1")))
			if _, err := w.handle.Update(t.Context(), labelled(old, "2"), metav1.UpdateOptions{}); err == nil {
				t.Fatal("no conflict")
			}
			ok(t, w.server.Inject(faults.Fault{Verb: faults.VerbGet, Times: 5, Status: apierrors.NewInternalError(errors.New("no"))}))
		}, "retry; event; X"}, // the object was got at last
		"namespace": {nil, func(t *testing.T, w *scene, set *informer.Namespaces) {
			set.Remove("a")
			synctest.Wait()
			ok(t, w.server.Inject(faults.Fault{Verb: faults.VerbList, Delay: 59500 * time.Millisecond, Times: 1}))
			ok(t, set.Add("a"))
		}, "event; X\nput off"}, // it was listed
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				set := informer.NewNamespaces("a")
				w := newScene(t, controller.OpenOptions[*gadget]{Namespaces: set})
				create(t, w.server, newGadget("one", "x"))
				var got because
				failures := 5
				failing := false
				c := controller.New("", func(ctx context.Context, k key) error {
					_ = got.reconcile(ctx, k)
					if failures--; !failing || failures < 0 {
						return nil
					}
					return test.fails()
				}, controller.Options[key]{Queue: queue.Options[key]{OnError: func(key, error) {}}})
				controller.For(c, w.handle)
				stop := started(t, c.Run)
				time.Sleep(time.Second)
				synctest.Wait()
				if test.setup != nil {
					test.setup(t, w, set)
				}
				got.take()
				failing, failures = test.fails != nil, 5
				c.Queue().Add(one)
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				text := regexp.MustCompile("gadgets a/one (added|updated) [^;\n]*").ReplaceAllString(got.take(), "event")
				text = strings.NewReplacer("a/one: ", "", "added by hand", "X").Replace(text)
				if text != test.want {
					t.Errorf("got\n%s\nwant\n%s", text, test.want)
				}
				stop()
			})
		})
	}
}

// What waits is known as well, and what the ring or the controller no longer has is said so.
func TestCausesThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, inf := setup(t)
		c := controller.New("", func(context.Context, string) error { return nil })
		controller.Watch(c, inf, func(dst []string, g *gadget) []string { return append(dst, g.Owner) })
		stopInformer := started(t, inf.Run)
		synctest.Wait()
		first := create(t, server, newGadget("first", "x"))
		synctest.Wait()
		check := func(want string, changed ...string) {
			t.Helper()
			_, got := c.KeyState("x")
			if len(got.Newest) != 1 || got.Adds != 1 || got.Newest[0].String() != want || strings.Join(got.Newest[0].Changed(), " ") != strings.Join(changed, " ") {
				t.Errorf("got %v, want %s", got, want)
			}
		}
		check("gadgets a/first added " + first.ResourceVersion)
		made := 0
		others := func(n int) {
			for range n {
				made++
				create(t, server, newGadget(fmt.Sprint("other-", made), "y"))
			}
			synctest.Wait()
		}
		others(31)
		check("gadgets a/first added " + first.ResourceVersion)
		others(1)
		check("gadgets a/first added")
		others(95)
		check("gadgets a/first added")
		others(1)
		check("gadgets added")
		ok(t, controller.Unwatch(c, inf))
		check("an object that is not watched any more added")
		if _, s := c.KeyState("none"); s.Newest != nil || s.Adds != 0 {
			t.Errorf("got %v", s)
		}
		stopInformer()
		c.Queue().ShutDown()
	})
}

// A context of no reconcile has no causes.
func TestNoCauses(t *testing.T) {
	if causes := controller.CausesOf(t.Context()); causes.Newest != nil || causes.Adds != 0 {
		t.Errorf("got %v", causes)
	}
}

// Causes that are kept do not keep the objects of a watch that ended, even if its handler still runs.
func TestCausesAfterUnwatch(t *testing.T) {
	server, inf := setup(t)
	reconciled := make(chan []controller.Cause, 100)
	c := controller.New("", func(ctx context.Context, _ key) error {
		reconciled <- controller.CausesOf(ctx).Newest
		return nil
	})
	c.Trace(10)
	controller.For(c, inf)
	stop := started(t, c.Run)
	create(t, server, newGadget("one", "x"))
	causes := <-reconciled
	one := done(fake.Get[*gadget](server, key{Namespace: "a", Name: "one"}))
	for n := range 40 { // more than have their objects
		one = done(fake.Update(server, labelled(one, fmt.Sprint(n))))
	}
	for causes[0].Version != one.ResourceVersion {
		causes = <-reconciled
	}
	if len(causes[0].Changed()) != 1 {
		t.Errorf("got %v", causes[0].Changed())
	}
	cached, _ := inf.Store().Get(key{Namespace: "a", Name: "one"})
	object := weak.Make(cached)
	cached = nil
	ok(t, controller.Unwatch(c, inf))
	inf = nil
	for object.Value() != nil { // until the informer and its handler have ended
		runtime.GC()
	}
	if causes[0].Changed() != nil || len(c.Traced("a/one")) == 0 {
		t.Errorf("got %v", causes[0].Changed())
	}
	stop()
}
