package informer_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
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
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// part is a source of a part of the widgets, to which access can be denied.
type part struct {
	*fake.Source[*widget]
	sel    fake.Selection
	denied *atomic.Bool
}

// Relist implements reflector.Relister: relists are denied too.
func (p *part) Relist(self reflector.Source[*widget], known func(reflector.Identity) bool) reflector.Source[*widget] {
	return &part{p.Source.Relist(p.Source, known).(*fake.Source[*widget]), p.sel, p.denied}
}

func newPart(t testing.TB, server *fake.Server, sel fake.Selection) *part {
	t.Helper()
	return &part{Source: must1(fake.NewSource[*widget](server, sel))(t), sel: sel, denied: new(atomic.Bool)}
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

// covers returns which keys the part can have, for Union.Add.
func (p *part) covers() func(key) bool {
	if p.sel.Namespace == "" {
		return nil
	}
	return informer.InNamespace(p.sel.Namespace)
}

func newUnion(t testing.TB, opts informer.Options[*widget]) *informer.Union[key, *widget] {
	t.Helper()
	if opts.Indexes == nil {
		opts.Indexes = index.Of(byNode)
	}
	return must1(informer.NewUnion("widgets", store.ObjectKey[*widget], opts))(t)
}

func add(t testing.TB, u *informer.Union[key, *widget], name string, p *part) *informer.Member[key, *widget] {
	t.Helper()
	return must1(u.Add(name, p, p.covers()))(t)
}

// stored returns the names of the objects in the store.
func stored(u *informer.Union[key, *widget]) (all []string) {
	for w := range u.Store().Values() {
		all = append(all, w.Namespace+"/"+w.Name)
	}
	slices.Sort(all)
	return all
}

func partOf(namespace, name, labels string) *widget {
	w := newWidget(namespace, name, "n")
	w.Labels = map[string]string{"part": labels}
	return w
}

// Namespaces come and go while the union runs, and only their objects do.
func TestUnionOfNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		for _, ns := range []string{"a", "b", "c"} {
			must1(fake.Create(server, newWidget(ns, "w", "n")))(t)
		}
		u := newUnion(t, informer.Options[*widget]{})
		add(t, u, "a", newPart(t, server, fake.Selection{Namespace: "a"}))
		add(t, u, "b", newPart(t, server, fake.Selection{Namespace: "b"}))
		seen := newHistory(t, u.AsInformer())
		must1(u.AddHandler(seen, handlerOptions{}))(t)
		stop := run(t, u.AsInformer())
		want := func(note string, all ...string) {
			t.Helper()
			synctest.Wait()
			if got := stored(u); !slices.Equal(got, all) {
				t.Errorf("%s: got %v, want %v", note, got, all)
			}
			seen.check(t, note)
		}
		want("two", "a/w", "b/w")
		if !isClosed(u.Synced()) {
			t.Error("not synced")
		}
		c := add(t, u, "c", newPart(t, server, fake.Selection{Namespace: "c"}))
		want("a third", "a/w", "b/w", "c/w")
		if !isClosed(c.Synced()) || isClosed(c.Gone()) {
			t.Error("the third: not synced, or gone")
		}
		must1(fake.Create(server, newWidget("a", "v", "n")))(t)
		must1(fake.Create(server, newWidget("d", "v", "n")))(t)
		want("an event", "a/v", "a/w", "b/w", "c/w")
		if !u.Remove("c") || u.Remove("c") {
			t.Error("Remove: wrong result")
		}
		want("without the third", "a/v", "a/w", "b/w")
		if !isClosed(c.Gone()) {
			t.Error("the third is not gone")
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
		u.Remove("b")
		must1(fake.Create(server, newWidget("a", "u", "n")))(t)
		add(t, u, "c", newPart(t, server, fake.Selection{Namespace: "c"}))
		stop = run(t, u.AsInformer())
		want("after a stop", "a/u", "a/v", "a/w", "c/v", "c/w")
		stop()
	})
}

// An object that two members select stays until both have lost it, and handlers get each state
// once.
func TestUnionOfSelectors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		k := key{Namespace: "a", Name: "w"}
		set := func(part string) {
			w := must1(fake.Get[*widget](server, k))(t)
			w.Labels["part"] = part
			must1(fake.Update(server, w))(t)
			synctest.Wait()
		}
		must1(fake.Create(server, partOf("a", "w", "xy")))(t)
		u := newUnion(t, informer.Options[*widget]{})
		add(t, u, "x", newPart(t, server, fake.Selection{LabelSelector: "part in (x,xy)"}))
		add(t, u, "y", newPart(t, server, fake.Selection{LabelSelector: "part in (y,xy)"}))
		seen := newHistory(t, u.AsInformer())
		must1(u.AddHandler(seen, handlerOptions{}))(t)
		stop := run(t, u.AsInformer())
		want := func(types string, there bool) {
			t.Helper()
			synctest.Wait()
			if got := seen.types(k); got != types || (u.Store().Len() == 1) != there {
				t.Errorf("got %s and %d objects, want %s", got, u.Store().Len(), types)
			}
		}
		want("Added(initial)", true)
		set("xy")
		want("Added(initial)", true) // the update changed nothing
		set("x")
		set("xy")
		set("y")
		set("xy")
		u.Remove("x")
		want("Added(initial) Updated Updated Updated Updated", true)
		add(t, u, "x", newPart(t, server, fake.Selection{LabelSelector: "part in (x,xy)"}))
		want("Added(initial) Updated Updated Updated Updated", true)
		set("none")
		want("Added(initial) Updated Updated Updated Updated Deleted", false)
		set("x")
		want("Added(initial) Updated Updated Updated Updated Deleted Added", true)
		must1(fake.Delete[*widget](server, k))(t)
		want("Added(initial) Updated Updated Updated Updated Deleted Added Deleted", false)
		stop()
	})
}

// A namespace without permission is reported, and harms no other. With the permission it comes by
// itself, and without it again its objects stay.
func TestUnionWithoutPermission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		must1(fake.Create(server, newWidget("a", "w", "n")))(t)
		must1(fake.Create(server, newWidget("b", "w", "n")))(t)
		var errs errorsOf
		u := newUnion(t, informer.Options[*widget]{OnError: errs.add})
		open, closed := newPart(t, server, fake.Selection{Namespace: "a"}), newPart(t, server, fake.Selection{Namespace: "b"})
		closed.denied.Store(true)
		add(t, u, "open", open)
		member := add(t, u, "closed", closed)
		stop := run(t, u.AsInformer())
		health := func() informer.MemberStats { return u.Members()[0] }
		check := func(note string, refused bool, all ...string) {
			t.Helper()
			if got := stored(u); !slices.Equal(got, all) {
				t.Errorf("%s: got %v, want %v", note, got, all)
			}
			h := health()
			if h.Name != "closed" || (h.Refused != nil) != refused || refused && !apierrors.IsForbidden(h.Refused) || refused != (h.Failing.Err != nil) {
				t.Errorf("%s: got %+v", note, h)
			}
			if open := u.Members()[1]; open.Refused != nil || !open.Synced || open.Objects != 1 {
				t.Errorf("%s: the other is %+v", note, open)
			}
			if err := u.WaitForSync(t.Context()); err != nil {
				t.Errorf("%s: %v", note, err)
			}
		}
		check("denied", true, "a/w")
		if isClosed(member.Synced()) || health().Synced || health().Objects != 0 {
			t.Error("the member without permission has synced")
		}
		if _, ok := find[*reflector.RequestError](&errs); !ok {
			t.Error("no error is reported")
		}
		if u.Stats().Failing.Err == nil {
			t.Error("Stats does not say that a member fails")
		}
		closed.denied.Store(false)
		time.Sleep(time.Minute)
		check("granted", false, "a/w", "b/w")
		if !isClosed(member.Synced()) || health().Objects != 1 {
			t.Error("the member with permission has not synced")
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

// Without permission for any member, the union does not sync, and says why. Without members it has
// synced.
func TestUnionSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		must1(fake.Create(server, newWidget("a", "w", "n")))(t)
		empty := newUnion(t, informer.Options[*widget]{})
		stop := run(t, empty.AsInformer())
		if err := empty.WaitForSync(t.Context()); err != nil || empty.Store().Len() != 0 {
			t.Errorf("without members: %v", err)
		}
		stop()

		u := newUnion(t, informer.Options[*widget]{OnError: ignore})
		a, b := newPart(t, server, fake.Selection{Namespace: "a"}), newPart(t, server, fake.Selection{Namespace: "b"})
		a.denied.Store(true)
		b.denied.Store(true)
		add(t, u, "a", a)
		add(t, u, "b", b)
		stop = run(t, u.AsInformer())
		var refused *informer.NotSyncingError
		if err := u.WaitForSync(t.Context()); !errors.As(err, &refused) || !apierrors.IsForbidden(refused) || isClosed(u.Synced()) {
			t.Errorf("WaitForSync = %v", err)
		}
		a.denied.Store(false)
		time.Sleep(time.Minute)
		if err := u.WaitForSync(t.Context()); err != nil || !slices.Equal(stored(u), []string{"a/w"}) {
			t.Errorf("with one of two: %v, %v", err, stored(u))
		}
		stop()

		u = newUnion(t, informer.Options[*widget]{OnError: ignore})
		b.denied.Store(true)
		add(t, u, "b", b)
		stop = run(t, u.AsInformer())
		if isClosed(u.Synced()) {
			t.Error("synced without permission")
		}
		u.Remove("b")
		synctest.Wait()
		if err := u.WaitForSync(t.Context()); err != nil {
			t.Errorf("after the removal of the last member: %v", err)
		}
		stop()
	})
}

// The version of the store is that of the member that is the furthest behind, and a recorded write
// does not wait for it.
func TestUnionVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		w := must1(fake.Create(server, newWidget("a", "w", "n")))(t)
		u := newUnion(t, informer.Options[*widget]{})
		add(t, u, "a", newPart(t, server, fake.Selection{Namespace: "a"}))
		add(t, u, "b", newPart(t, server, fake.Selection{Namespace: "b"}))
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

func TestUnionErrors(t *testing.T) {
	if _, err := informer.NewUnion[key, *widget]("widgets", nil, informer.Options[*widget]{}); !errors.Is(err, informer.ErrNoKeyFunc) {
		t.Errorf("no key function: %v", err)
	}
	if _, err := informer.NewUnion("widgets", store.ObjectKey, informer.Options[*widget]{Indexes: index.Of(byNode, byNode)}); !errors.Is(err, index.ErrDuplicate) {
		t.Errorf("an index twice: %v", err)
	}
	u := newUnion(t, informer.Options[*widget]{})
	if _, err := u.Add("a", nil, nil); !errors.Is(err, reflector.ErrNoSource) {
		t.Errorf("no source: %v", err)
	}
	p := newPart(t, newServer(t), fake.Selection{})
	add(t, u, "a", p)
	if _, err := u.Add("a", p, nil); !errors.Is(err, informer.ErrDuplicate) {
		t.Errorf("a name twice: %v", err)
	}
	if u.Resource() != "widgets" || len(u.Members()) != 1 {
		t.Errorf("%s has %d members", u.Resource(), len(u.Members()))
	}
	faketest.NoLeaks(t)
}

// TestUnionMemberCannotUseAState: a member is behind, and cannot use the newest state of an object,
// which another member has brought. So it passes the version of that state without it. That is no
// restore of the server.
func TestUnionMemberCannotUseAState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		w := must1(fake.Create(server, newWidget("a", "w", "n")))(t)
		u := newUnion(t, informer.Options[*widget]{OnError: func(error) {}})
		var held atomic.Pointer[chan struct{}]
		behind := reflector.Map(reflector.Source[*widget](newPart(t, server, fake.Selection{})), func(w *widget) (*widget, error) {
			if gate := held.Load(); gate != nil {
				<-*gate
			}
			if w.Spec.Size == 2 {
				return nil, errors.New("too large")
			}
			return w, nil
		})
		must1(u.Add("behind", behind, nil))(t)
		add(t, u, "ahead", newPart(t, server, fake.Selection{}))
		stop := run(t, u.AsInformer())
		synctest.Wait()
		waited := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { waited <- u.WaitForRV(ctx, "1000000") }()

		gate := make(chan struct{})
		held.Store(&gate)
		for w.Spec.Size < 2 {
			w.Spec.Size++
			w = must1(fake.Update(server, w))(t)
		}
		synctest.Wait()
		close(gate)
		must1(fake.Create(server, newWidget("a", "other", "n")))(t)
		time.Sleep(time.Minute)
		if have, ok := u.Store().Get(key{Namespace: "a", Name: "w"}); !ok || have.Spec.Size != 2 {
			t.Errorf("the store has %v", have)
		}
		cancel()
		if err := <-waited; errors.Is(err, store.ErrRewound) {
			t.Errorf("the server was taken for restored: %v", err)
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

// TestUnionMemberExits: a member whose source ends its goroutine can be removed as any other, before
// or after that.
func TestUnionMemberExits(t *testing.T) {
	for _, before := range []bool{false, true} {
		t.Run(fmt.Sprintf("removed before %t", before), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer(t)
				must1(fake.Create(server, newWidget("a", "w", "n")))(t)
				must1(fake.Create(server, newWidget("b", "w", "n")))(t)
				u := newUnion(t, informer.Options[*widget]{OnError: ignore, Reflector: reflector.Tuning{DisableWatchList: true}})
				inA := newPart(t, server, fake.Selection{Namespace: "a"})
				m := must1(u.Add("a", exiting{inA}, inA.covers()))(t)
				add(t, u, "b", newPart(t, server, fake.Selection{Namespace: "b"}))
				ended := make(chan error, 1)
				go func() { ended <- u.Run(t.Context()) }()
				synctest.Wait()
				if before {
					u.Remove("a")
				} else {
					server.DropWatches()
				}
				var panicked *informer.PanicError
				if err := <-ended; !errors.As(err, &panicked) || !errors.Is(err, informer.ErrGoexit) {
					t.Errorf("Run returned %v", err)
				}
				if !before {
					u.Remove("a")
				}
				if !isClosed(m.Gone()) {
					t.Error("the member is not gone")
				}
				stop := run(t, u.AsInformer())
				defer stop()
				if all := stored(u); !slices.Equal(all, []string{"b/w"}) {
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
