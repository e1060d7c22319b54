package informer_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/coverage"
	"github.com/kinform/kinform/internal/objid"
	"github.com/kinform/kinform/reflector"
)

// tardy is a part whose lists arrive some time after the server has made them.
type tardy struct {
	*part
	by time.Duration
}

func (p *tardy) Relist(self reflector.Source[*widget], known func(objid.Identity) bool) reflector.Source[*widget] {
	return &tardy{p.part.Relist(self, known).(*part), p.by}
}

func (p *tardy) List(ctx context.Context, opts metav1.ListOptions, yield func(reflector.Event[*widget], error) bool) (metav1.ListMeta, error) {
	list, err := p.part.List(ctx, opts, yield)
	time.Sleep(p.by)
	return list, err
}

// inPlaces runs test with a server that has an object w in each namespace from a to d, and an informer over none.
func inPlaces(t *testing.T, test func(t *testing.T, server *fake.Server, u *places, errs *errorsOf)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		for _, ns := range []string{"a", "b", "c", "d"} {
			must1(fake.Create(server, newWidget(ns, "w", "n")))(t)
		}
		var errs errorsOf
		u := newPlaces(t, informer.Options[*widget]{OnError: errs.add, Reflector: reflector.Tuning{DisableWatchList: true}})
		test(t, server, u, &errs)
	})
}

func partIn(t *testing.T, server *fake.Server, namespace string) *part {
	t.Helper()
	return newPart(t, server, fake.Selection{Namespace: namespace})
}

// The version of the store is the version of the oldest first list, whatever the order in which they come.
func TestVersionOfFirstLists(t *testing.T) {
	inPlaces(t, func(t *testing.T, server *fake.Server, u *places, _ *errorsOf) {
		before := server.ResourceVersion()
		u.add(t, "b", &tardy{partIn(t, server, "b"), 2 * time.Second})
		u.add(t, "a", &tardy{partIn(t, server, "a"), time.Second})
		defer run(t, u.Informer)()
		time.Sleep(500 * time.Millisecond)
		must1(fake.Create(server, newWidget("a", "v", "n")))(t)
		<-u.Synced()
		synctest.Wait()
		if rv := u.Store().ResourceVersion(); rv != before || u.Coverage(key{Namespace: "b"}) != coverage.Covered {
			t.Errorf("the store is at %s, want %s; coverage %v", rv, before, u.Coverage(key{Namespace: "b"}))
		}
	})
}

// What was refused in one run says nothing about the next one, and the refusal of one namespace nothing about another.
func TestRefusalsEnd(t *testing.T) {
	inPlaces(t, func(t *testing.T, server *fake.Server, u *places, _ *errorsOf) {
		a, b := partIn(t, server, "a"), partIn(t, server, "b")
		a.denied.Store(true)
		b.denied.Store(true)
		u.add(t, "a", a)
		u.add(t, "b", &tardy{b, 2 * time.Second})
		stop := run(t, u.Informer)
		time.Sleep(5 * time.Second)
		stop()
		a.denied.Store(false)
		b.denied.Store(false)
		stop = run(t, u.Informer)
		if got := u.Coverage(key{Namespace: "b"}); got != coverage.Listing {
			t.Errorf("coverage of b in the second run: %v", got)
		}
		<-u.Synced()
		if u.Store().Len() != 2 {
			t.Errorf("synced with %v", u.stored())
		}
		stop()
	})
	inPlaces(t, func(t *testing.T, server *fake.Server, u *places, _ *errorsOf) {
		b := partIn(t, server, "b")
		b.denied.Store(true)
		u.add(t, "b", b)
		defer run(t, u.Informer)()
		u.add(t, "a", &tardy{partIn(t, server, "a"), 2 * time.Second})
		if err := u.WaitForSync(t.Context()); err != nil {
			t.Errorf("a is not refused: %v", err)
		}
		u.remove("b")
		u.add(t, "b", newAiling(partIn(t, server, "b"), "hangs"))
		synctest.Wait()
		if got := u.Coverage(key{Namespace: "b"}); got != coverage.Listing || u.Stats().Namespaces[1].Refused != nil {
			t.Errorf("coverage of b after its return: %v, %+v", got, u.Stats().Namespaces[1])
		}
	})
}

// Nobody is late before another namespace has listed, and each time that one has.
func TestLateOncePerWait(t *testing.T) {
	for _, listed := range []bool{false, true} {
		t.Run(fmt.Sprint("listed before ", listed), func(t *testing.T) {
			inPlaces(t, func(t *testing.T, server *fake.Server, u *places, errs *errorsOf) {
				first := newAiling(partIn(t, server, "a"), "hangs")
				if listed {
					first.way.Store("")
				}
				u.add(t, "a", first)
				u.add(t, "b", newAiling(partIn(t, server, "b"), "hangs"))
				defer run(t, u.Informer)()
				time.Sleep(time.Second)
				u.remove("a")
				time.Sleep(time.Minute)
				if late, ok := find[*informer.LateNamespaceError](errs); ok {
					t.Errorf("none is in the store, but: %v", late)
				}
				u.add(t, "d", newAiling(partIn(t, server, "d"), "hangs"))
				u.add(t, "c", partIn(t, server, "c"))
				time.Sleep(11 * time.Second)
				if !isClosed(u.Synced()) {
					t.Errorf("not synced after c has listed: %+v", u.Stats().Namespaces)
				}
			})
		})
	}
}

// A write to a namespace that is back stays, whatever of its former stay is still on its way.
func TestWriteAfterReturn(t *testing.T) {
	inPlaces(t, func(t *testing.T, server *fake.Server, u *places, _ *errorsOf) {
		informer.SetLag(u.Informer, 4)
		u.add(t, "a", partIn(t, server, "a"))
		u.add(t, "b", partIn(t, server, "b"))
		defer run(t, u.Informer)()
		gate := make(chan struct{})
		must1(u.AddHandler(informer.HandlerFunc[key, *widget](func(informer.Event[key, *widget]) { <-gate }), handlerOptions{}))(t)
		for n := range 8 {
			must1(fake.Create(server, newWidget("b", fmt.Sprint("x", n), "n")))(t)
			synctest.Wait()
		}
		u.remove("b") // while its events wait for the handler
		if _, ok := u.Get(key{Namespace: "b", Name: "w"}); ok {
			t.Error("b has left, and reads have it")
		}
		u.add(t, "b", &tardy{partIn(t, server, "b"), 2 * time.Second})
		w := must1(fake.Get[*widget](server, key{Namespace: "b", Name: "x3"}))(t)
		w.Spec.Size++
		w = must1(fake.Update(server, w))(t)
		must(t, u.RecordWrite(w, ""))
		close(gate)
		for range 4 {
			synctest.Wait()
			if got, ok := u.Get(key{Namespace: "b", Name: "x3"}); !ok || got.ResourceVersion != w.ResourceVersion {
				t.Errorf("read %v, want the write", got)
			}
			time.Sleep(time.Second)
		}
		if u.Store().Len() != 10 {
			t.Errorf("in the end there is %v", u.stored())
		}
	})
}

// A restore of the server while a namespace is not in the set shows in its next list.
func TestRestoredMeanwhile(t *testing.T) {
	for _, stopped := range []bool{false, true} {
		t.Run(fmt.Sprint("stopped ", stopped), func(t *testing.T) {
			inPlaces(t, func(t *testing.T, server *fake.Server, u *places, _ *errorsOf) {
				backup := server.Backup()
				for n := range 20 {
					must1(fake.Create(server, newWidget("b", fmt.Sprint("x", n), "n")))(t)
				}
				u.add(t, "b", partIn(t, server, "b"))
				stop := run(t, u.Informer)
				<-u.Synced()
				if stopped {
					stop()
				}
				u.remove("b")
				must1(0, server.Restore(backup))(t)
				u.add(t, "b", partIn(t, server, "b"))
				if stopped {
					stop = run(t, u.Informer)
				}
				time.Sleep(time.Minute)
				if rv := u.Store().ResourceVersion(); rv != server.ResourceVersion() || u.Coverage(key{Namespace: "b"}) != coverage.Covered {
					t.Errorf("the store is at %s, the server at %s; coverage %v", rv, server.ResourceVersion(), u.Coverage(key{Namespace: "b"}))
				}
				w := must1(fake.Create(server, newWidget("b", "own", "n")))(t)
				must(t, u.RecordWrite(w, ""))
				if _, ok := u.Get(key{Namespace: "b", Name: "own"}); !ok {
					t.Error("reads lack an own write")
				}
				stop()
			})
		})
	}
}

// Stats and relists get along, whatever the order of their locks.
func TestStatsDuringRelists(t *testing.T) {
	server := newServer(t)
	for n := range 50 {
		must1(fake.Create(server, newWidget("a", fmt.Sprint("w", n), "n")))(t)
	}
	tuning := reflector.Tuning{DisableWatchList: true, Backoff: reflector.Backoff{Initial: time.Millisecond, Max: time.Millisecond}}
	i := newInformer(t, source(t, server), informer.Options[*widget]{OnError: ignore, Reflector: tuning})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- i.Run(ctx) }()
	<-i.Synced()
	go func() {
		for ctx.Err() == nil {
			i.Stats()
		}
	}()
	for lists := i.Stats().Lists + 3; i.Stats().Lists < lists; {
		must1(0, server.Compact(server.ResourceVersion()))(t)
		server.DropWatches()
		must1(fake.Create(server, newWidget("b", fmt.Sprint("x", time.Now().UnixNano()), "n")))(t)
	}
	cancel()
	<-ended
}

// A restore while the informer is stopped shows in the first list of its next run.
func TestRestoredWhileStopped(t *testing.T) {
	inPlaces(t, func(t *testing.T, server *fake.Server, u *places, _ *errorsOf) {
		backup := server.Backup()
		for n := range 20 {
			must1(fake.Create(server, newWidget("b", fmt.Sprint("x", n), "n")))(t)
		}
		u.add(t, "a", partIn(t, server, "a"))
		u.add(t, "b", partIn(t, server, "b"))
		one := newInformer(t, source(t, server), informer.Options[*widget]{OnError: ignore})
		for _, i := range []*informer.Informer[key, *widget]{u.Informer, one} {
			stop := run(t, i)
			<-i.Synced()
			stop()
		}
		must1(0, server.Restore(backup))(t)
		for _, i := range []*informer.Informer[key, *widget]{u.Informer, one} {
			stop := run(t, i)
			time.Sleep(time.Minute)
			if rv := i.Store().ResourceVersion(); rv != server.ResourceVersion() || i.Stats().Restores == 0 {
				t.Errorf("the store is at %s, the server at %s, %d restores", rv, server.ResourceVersion(), i.Stats().Restores)
			}
			stop()
		}
	})
}

// A restore moves the version of the store back although the list of another namespace is awaited.
func TestRestoredWhileOneIsAwaited(t *testing.T) {
	inPlaces(t, func(t *testing.T, server *fake.Server, u *places, _ *errorsOf) {
		backup := server.Backup()
		u.add(t, "a", partIn(t, server, "a"))
		u.add(t, "b", partIn(t, server, "b"))
		for n := range 20 {
			must1(fake.Create(server, newWidget("a", fmt.Sprint("x", n), "n")))(t)
		}
		defer run(t, u.Informer)()
		<-u.Synced()
		u.add(t, "c", newAiling(partIn(t, server, "c"), "hangs"))
		must1(0, server.Restore(backup))(t)
		time.Sleep(8 * time.Minute)
		if rv := u.Store().ResourceVersion(); rv != server.ResourceVersion() {
			t.Errorf("the store is at %s, the server at %s", rv, server.ResourceVersion())
		}
	})
}

// A namespace that joins right before another one is late has its ten seconds, too.
func TestLateJoiner(t *testing.T) {
	inPlaces(t, func(t *testing.T, server *fake.Server, u *places, _ *errorsOf) {
		u.add(t, "a", partIn(t, server, "a"))
		u.add(t, "b", newAiling(partIn(t, server, "b"), "hangs"))
		defer run(t, u.Informer)()
		time.Sleep(9900 * time.Millisecond)
		u.add(t, "c", &tardy{partIn(t, server, "c"), 500 * time.Millisecond})
		<-u.Synced()
		if all := u.Stats().Namespaces; !all[1].Late || all[2].Late || !all[2].Synced {
			t.Errorf("after b is late: %+v", all)
		}
	})
}

// Of a namespace that was refused from the start, nothing is known, even if it fails in another way by now.
func TestRefusedThenFailing(t *testing.T) {
	inPlaces(t, func(t *testing.T, server *fake.Server, u *places, _ *errorsOf) {
		b := partIn(t, server, "b")
		b.denied.Store(true)
		ill := newAiling(b, "")
		u.add(t, "a", partIn(t, server, "a"))
		u.add(t, "b", ill)
		defer run(t, u.Informer)()
		for _, way := range []string{"", "fails"} {
			ill.way.Store(way)
			time.Sleep(time.Minute)
			if got := u.Coverage(key{Namespace: "b"}); got != coverage.Uncovered {
				t.Errorf("%q: coverage %v", way, got)
			}
		}
	})
}
