package informer_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faketest"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/internal/objid"
	"github.com/kinform/kinform/internal/usercode"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// part is a source of a part of the widgets, to which access can be denied.
type part struct {
	*fake.Source[*widget]
	denied *atomic.Bool
}

// Relist serves reflectors: relists are denied too.
func (p *part) Relist(self reflector.Source[*widget], known func(objid.Identity) bool) reflector.Source[*widget] {
	return &part{p.Source.Relist(p.Source, known).(*fake.Source[*widget]), p.denied}
}

func newPart(t testing.TB, server *fake.Server, sel fake.Selection) *part {
	t.Helper()
	return &part{Source: must1(fake.NewSource[*widget](server, sel))(t), denied: new(atomic.Bool)}
}

var errDenied = apierrors.NewForbidden(schema.GroupResource{Group: "example.com", Resource: "widgets"}, "", errors.New("no role"))

func (p *part) List(ctx context.Context, opts metav1.ListOptions, yield func(reflector.Event[*widget], error) bool) (metav1.ListMeta, error) {
	if p.denied.Load() {
		return metav1.ListMeta{}, errDenied
	}
	return p.Source.List(ctx, opts, yield)
}

func (p *part) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[reflector.Event[*widget], error] {
	if p.denied.Load() {
		return func(yield func(reflector.Event[*widget], error) bool) { yield(reflector.Event[*widget]{}, errDenied) }
	}
	return p.Source.Watch(ctx, opts)
}

func partOf(namespace, name, labels string) *widget {
	w := newWidget(namespace, name, "n")
	w.Labels = map[string]string{"part": labels}
	return w
}

// Namespaces come and go while the informer runs, and only their objects do.
func TestNamespacesComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		for _, ns := range []string{"a", "b", "c"} {
			must1(fake.Create(server, newWidget(ns, "w", "n")))(t)
		}
		u := newPlaces(t, informer.Options[*widget]{})
		u.add(t, "a", newPart(t, server, fake.Selection{Namespace: "a"}))
		u.add(t, "b", newPart(t, server, fake.Selection{Namespace: "b"}))
		seen := newHistory(t, u.AsInformer())
		must1(u.AddHandler(seen, handlerOptions{}))(t)
		stop := run(t, u.AsInformer())
		want := func(note string, all ...string) {
			t.Helper()
			synctest.Wait()
			if got := u.stored(); !slices.Equal(got, all) {
				t.Errorf("%s: got %v, want %v", note, got, all)
			}
			seen.check(t, note)
		}
		want("two", "a/w", "b/w")
		if !isClosed(u.Synced()) {
			t.Error("not synced")
		}
		u.add(t, "c", newPart(t, server, fake.Selection{Namespace: "c"}))
		want("a third", "a/w", "b/w", "c/w")
		if all := u.Stats().Namespaces; len(all) != 3 || !all[2].Synced || all[2].Objects != 1 {
			t.Errorf("the third: %+v", all)
		}
		must1(fake.Create(server, newWidget("a", "v", "n")))(t)
		must1(fake.Create(server, newWidget("d", "v", "n")))(t)
		want("an event", "a/v", "a/w", "b/w", "c/w")
		u.remove("c")
		want("without the third", "a/v", "a/w", "b/w")
		if all := u.Stats().Namespaces; len(all) != 2 {
			t.Errorf("the third is not gone: %+v", all)
		}
		must1(fake.Create(server, newWidget("c", "v", "n")))(t)
		want("an event of a namespace that is gone", "a/v", "a/w", "b/w")
		if got, want := seen.types(key{Namespace: "c", Name: "w"}), "Added Deleted(unknown)"; got != want {
			t.Errorf("c/w: got %s, want %s", got, want)
		}
		if got, want := seen.types(key{Namespace: "a", Name: "w"}), "Added(initial)"; got != want {
			t.Errorf("a/w: got %s, want %s", got, want)
		}
		stop()
		u.remove("b")
		must1(fake.Create(server, newWidget("a", "u", "n")))(t)
		u.add(t, "c", newPart(t, server, fake.Selection{Namespace: "c"}))
		stop = run(t, u.AsInformer())
		want("after a stop", "a/u", "a/v", "a/w", "c/v", "c/w")
		stop()
	})
}

// A namespace without permission is reported, and harms no other. With the permission it comes by
// itself, and without it again its objects stay.
func TestNamespaceWithoutPermission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		must1(fake.Create(server, newWidget("a", "w", "n")))(t)
		must1(fake.Create(server, newWidget("b", "w", "n")))(t)
		var errs errorsOf
		u := newPlaces(t, informer.Options[*widget]{OnError: errs.add})
		open, closed := newPart(t, server, fake.Selection{Namespace: "a"}), newPart(t, server, fake.Selection{Namespace: "b"})
		closed.denied.Store(true)
		u.add(t, "a", open)
		u.add(t, "b", closed)
		stop := run(t, u.AsInformer())
		health := func() informer.NamespaceStats { return u.Stats().Namespaces[1] }
		check := func(note string, refused bool, all ...string) {
			t.Helper()
			if got := u.stored(); !slices.Equal(got, all) {
				t.Errorf("%s: got %v, want %v", note, got, all)
			}
			h := health()
			if h.Namespace != "b" || (h.Refused != nil) != refused || refused && !apierrors.IsForbidden(h.Refused) || refused != (h.Failing.Err != nil) {
				t.Errorf("%s: got %+v", note, h)
			}
			if open := u.Stats().Namespaces[0]; open.Refused != nil || !open.Synced || open.Objects != 1 {
				t.Errorf("%s: the other is %+v", note, open)
			}
			if err := u.WaitForSync(t.Context()); err != nil {
				t.Errorf("%s: %v", note, err)
			}
		}
		check("denied", true, "a/w")
		if health().Synced || health().Objects != 0 {
			t.Error("the namespace without permission has synced")
		}
		if _, ok := find[*reflector.RequestError](&errs); !ok {
			t.Error("no error is reported")
		}
		if u.Stats().Failing.Err == nil {
			t.Error("Stats does not say that a namespace fails")
		}
		closed.denied.Store(false)
		time.Sleep(time.Minute)
		check("granted", false, "a/w", "b/w")
		if !health().Synced || health().Objects != 1 {
			t.Error("the namespace with permission has not synced")
		}
		closed.denied.Store(true)
		server.DropWatches()
		time.Sleep(time.Minute)
		a := must1(fake.Create(server, newWidget("b", "v", "n")))(t)
		check("denied again", true, "a/w", "b/w")
		// The others go on, and their version too.
		w := must1(fake.Get[*widget](server, key{Namespace: "a", Name: "w"}))(t)
		w.Spec.Size++
		w = must1(fake.Update(server, w))(t)
		if err := u.WaitForRV(t.Context(), w.ResourceVersion); err != nil || older(w.ResourceVersion, a.ResourceVersion) {
			t.Errorf("WaitForRV: %v", err)
		}
		// A write of this process to the namespace is not lost, although the version is past it.
		if err := u.RecordWrite(a, ""); err != nil {
			t.Fatal(err)
		}
		if got, ok := u.Get(key{Namespace: "b", Name: "v"}); !ok || got != a {
			t.Errorf("got %v, want the write", got)
		}
		closed.denied.Store(false)
		time.Sleep(time.Minute)
		check("granted again", false, "a/w", "b/v", "b/w")
		time.Sleep(time.Hour)
		if lost, ok := find[*informer.LostWriteError](&errs); ok {
			t.Errorf("lost: %v", lost)
		}
		stop()
	})
}

// Without permission for any namespace, the informer does not sync, and says why. Without namespaces it has
// synced.
func TestNamespacesSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		must1(fake.Create(server, newWidget("a", "w", "n")))(t)
		empty := newPlaces(t, informer.Options[*widget]{})
		stop := run(t, empty.AsInformer())
		if err := empty.WaitForSync(t.Context()); err != nil || empty.Store().Len() != 0 {
			t.Errorf("without namespaces: %v", err)
		}
		stop()

		u := newPlaces(t, informer.Options[*widget]{OnError: ignore})
		a, b := newPart(t, server, fake.Selection{Namespace: "a"}), newPart(t, server, fake.Selection{Namespace: "b"})
		a.denied.Store(true)
		b.denied.Store(true)
		u.add(t, "a", a)
		u.add(t, "b", b)
		stop = run(t, u.AsInformer())
		var refused *informer.NotSyncingError
		if err := u.WaitForSync(t.Context()); !errors.As(err, &refused) || !apierrors.IsForbidden(refused) || isClosed(u.Synced()) {
			t.Errorf("WaitForSync = %v", err)
		}
		a.denied.Store(false)
		time.Sleep(time.Minute)
		if err := u.WaitForSync(t.Context()); err != nil || !slices.Equal(u.stored(), []string{"a/w"}) {
			t.Errorf("with one of two: %v, %v", err, u.stored())
		}
		stop()

		u = newPlaces(t, informer.Options[*widget]{OnError: ignore})
		b.denied.Store(true)
		u.add(t, "b", b)
		stop = run(t, u.AsInformer())
		if isClosed(u.Synced()) {
			t.Error("synced without permission")
		}
		u.remove("b")
		synctest.Wait()
		if err := u.WaitForSync(t.Context()); err != nil {
			t.Errorf("after the removal of the last namespace: %v", err)
		}
		stop()
	})
}

// The version of the store is the version of the namespace that is furthest behind, and a recorded
// write does not wait for it.
func TestNamespacesVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		w := must1(fake.Create(server, newWidget("a", "w", "n")))(t)
		u := newPlaces(t, informer.Options[*widget]{})
		u.add(t, "a", newPart(t, server, fake.Selection{Namespace: "a"}))
		u.add(t, "b", newPart(t, server, fake.Selection{Namespace: "b"}))
		stop := run(t, u.AsInformer())
		k := key{Namespace: "a", Name: "w"}
		w.Spec.Size++
		w = must1(fake.Update(server, w))(t)
		if err := u.RecordWrite(w, ""); err != nil {
			t.Fatal(err)
		}
		if got, _ := u.Get(k); got.ResourceVersion != w.ResourceVersion { // the watch may have brought it already
			t.Error("the write is not read")
		}
		synctest.Wait()
		have, _ := u.Store().Get(k)
		if got, _ := u.Get(k); got != have || have.Spec.Size != 1 {
			t.Error("the write is still ahead, although the store has it")
		}
		if rv := u.Store().ResourceVersion(); !older(rv, w.ResourceVersion) {
			t.Errorf("the store is at %s, and b has not got so far", rv)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		if err := u.WaitForRV(ctx, w.ResourceVersion); err == nil {
			t.Error("WaitForRV did not wait for b")
		}
		cancel()
		server.Bookmark()
		if err := u.WaitForRV(t.Context(), w.ResourceVersion); err != nil {
			t.Error(err)
		}
		deleted := must1(fake.Delete[*widget](server, k))(t)
		if err := u.RecordGone(k, "", deleted.ResourceVersion); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		again := must1(fake.Create(server, newWidget("a", "w", "n")))(t)
		synctest.Wait()
		if got, ok := u.Get(k); !ok || got.UID != again.UID {
			t.Error("the object that was made anew is hidden")
		}
		stop()
	})
}

// exiting is a part whose watches end their goroutine.
type exiting struct{ *part }

func (e exiting) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[reflector.Event[*widget], error] {
	return func(yield func(reflector.Event[*widget], error) bool) {
		defer runtime.Goexit()
		e.part.Watch(ctx, opts)(yield)
	}
}

// Relist serves reflectors: the result would not end its goroutine.
func (exiting) Relist(reflector.Source[*widget], func(objid.Identity) bool) reflector.Source[*widget] {
	return nil
}

// TestNamespaceExits: a namespace whose source ends its goroutine can be removed as any other, before
// or after that.
func TestNamespaceExits(t *testing.T) {
	for _, before := range []bool{false, true} {
		t.Run(fmt.Sprintf("removed before %t", before), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer(t)
				must1(fake.Create(server, newWidget("a", "w", "n")))(t)
				must1(fake.Create(server, newWidget("b", "w", "n")))(t)
				u := newPlaces(t, informer.Options[*widget]{OnError: ignore, Reflector: reflector.Tuning{DisableWatchList: true}})
				u.add(t, "a", exiting{newPart(t, server, fake.Selection{Namespace: "a"})})
				u.add(t, "b", newPart(t, server, fake.Selection{Namespace: "b"}))
				ended := make(chan error, 1)
				go func() { ended <- u.Run(t.Context()) }()
				synctest.Wait()
				if before {
					u.remove("a")
				} else {
					server.DropWatches()
				}
				var panicked *informer.PanicError
				if err := <-ended; !errors.As(err, &panicked) || !errors.Is(err, usercode.ErrGoexit) {
					t.Errorf("Run returned %v", err)
				}
				if !before {
					u.remove("a")
				}
				stop := run(t, u.AsInformer())
				defer stop()
				if all := u.stored(); !slices.Equal(all, []string{"b/w"}) {
					t.Errorf("the store has %v", all)
				}
				w := must1(fake.Create(server, newWidget("b", "other", "n")))(t)
				synctest.Wait()
				if rv := u.Store().ResourceVersion(); rv != w.ResourceVersion {
					t.Errorf("the store is at %s, the server at %s", rv, w.ResourceVersion)
				}
			})
		})
	}
}

func TestNamespacedErrors(t *testing.T) {
	server, set := newServer(t), informer.NewNamespaces("a")
	nothing := func(string) (reflector.Source[*widget], error) { return nil, nil }
	for _, c := range []struct {
		set    *informer.Namespaces
		source func(string) (reflector.Source[*widget], error)
		key    store.KeyFunc[key, *widget]
		opts   informer.Options[*widget]
		want   error
	}{
		{set, inNamespaces(server), nil, informer.Options[*widget]{}, informer.ErrNoKeyFunc},
		{set, inNamespaces(server), store.ObjectKey[*widget], informer.Options[*widget]{Indexes: index.Of(byNode, byNode)}, index.ErrDuplicate},
		{nil, inNamespaces(server), store.ObjectKey[*widget], informer.Options[*widget]{}, informer.ErrNoNamespaces},
		{set, nil, store.ObjectKey[*widget], informer.Options[*widget]{}, informer.ErrNoNamespaces},
		{set, nothing, store.ObjectKey[*widget], informer.Options[*widget]{}, mistake.NoSource},
	} {
		if _, err := informer.NewNamespaced("widgets", c.set, c.source, c.key, c.opts); !errors.Is(err, c.want) || !strings.Contains(err.Error(), "widgets") {
			t.Errorf("got %v, want %v of widgets", err, c.want)
		}
	}
	faketest.NoLeaks(t)
}

// An object of a namespace other than its source's is left out, and reported.
func TestObjectOfAnotherNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		must1(fake.Create(server, newWidget("a", "w", "n")))(t)
		must1(fake.Create(server, newWidget("b", "w", "n")))(t)
		var errs errorsOf
		u := newPlaces(t, informer.Options[*widget]{OnError: errs.add})
		u.add(t, "a", newPart(t, server, fake.Selection{})) // does not select
		u.add(t, "b", newPart(t, server, fake.Selection{Namespace: "b"}))
		stop := run(t, u.Informer)
		must1(fake.Delete[*widget](server, key{Namespace: "a", Name: "w"}))(t)
		must1(fake.Create(server, newWidget("c", "w", "n")))(t)
		synctest.Wait()
		if got := u.stored(); !slices.Equal(got, []string{"b/w"}) {
			t.Errorf("got %v", got)
		}
		bad, ok := find[*reflector.ObjectError](&errs)
		if !ok || !errors.Is(bad, informer.ErrNamespace) || !strings.Contains(bad.Error(), `widgets`) {
			t.Errorf("reported %v", bad)
		}
		stop()
	})
}
