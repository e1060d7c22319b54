package informer_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/reflector"
)

// What was put aside for a write is forgotten with the write, even if its event could not be used.
func TestUnusableForgetsAside(t *testing.T) {
	withByHand(t, informer.Options[*widget]{}, func(src *byHand[*widget], inf *informer.Informer[key, *widget]) {
		events := heard(t, inf)
		must(t, inf.RecordWrite(at("w", 20), ""))
		src.events <- byHandEvent[*widget]{err: &reflector.ObjectError{Resource: "things", Key: "a/w", ResourceVersion: "20", Type: reflector.Modified, Err: errors.New("bad")}}
		src.bookmark(30)
		src.send(reflector.Deleted, 40, at("w", 40))
		w := at("w", 50)
		w.UID = "another"
		must(t, inf.RecordWrite(w, "")) // not in the selection
		src.bookmark(60)
		if got := version(inf, "w"); got != "" {
			t.Errorf("w is back at %s, which was deleted at 40 (%s)", got, events())
		}
	})
}

// A deletion that the server has lost, of which the watch could not notice, hides the object for a while
// only.
func TestGoneOfAnotherHistory(t *testing.T) {
	withByHand(t, informer.Options[*widget]{}, func(src *byHand[*widget], inf *informer.Informer[key, *widget]) {
		events := heard(t, inf)
		must(t, inf.RecordGone(key{Namespace: "a", Name: "w"}, "uid", "20"))
		src.send(reflector.Modified, 22, at("w", 22))
		src.bookmark(1000)
		time.Sleep(time.Hour)
		src.send(reflector.Modified, 1010, at("w", 1010))
		src.set(listOf("2000", at("w", 1010)))
		src.fail(errGone)
		time.Sleep(time.Hour)
		if got := version(inf, "w"); got != "1010" {
			t.Errorf("w is at %q two hours later, want 1010 (%s; %s)", got, events(), dump(inf))
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A lost write counts once and is reported once, however long the watch is silent.
func TestLostWriteCountsOnce(t *testing.T) {
	var reported atomic.Int32
	opts := informer.Options[*widget]{OnError: func(err error) {
		if lost := (*informer.LostWriteError)(nil); errors.As(err, &lost) {
			reported.Add(1)
		}
	}}
	withByHand(t, opts, func(src *byHand[*widget], inf *informer.Informer[key, *widget]) {
		must(t, inf.RecordWrite(at("w", 20), ""))
		must(t, inf.RecordWrite(at("w", 20), "")) // a repetition is no other write
		time.Sleep(time.Hour + time.Second)
		if n := inf.Stats().LostWrites; n != 1 || reported.Load() != 1 {
			t.Errorf("%d lost, %d reports", n, reported.Load())
		}
		if keys, now, complete := inf.LostKeys(0); len(keys) != 30 || now != 30 || !complete || inf.LostWrites() != now {
			t.Errorf("%d keys in an hour, want one every two minutes; %d %v", len(keys), now, complete)
		}
		if got := version(inf, "w"); got != "20" {
			t.Errorf("w is at %q, want 20", got)
		}
		must(t, inf.RecordWrite(at("w", 21), ""))
		time.Sleep(time.Hour)
		if n := inf.Stats().LostWrites; n != 2 || reported.Load() != 2 {
			t.Errorf("%d lost, %d reports, after another write", n, reported.Load())
		}
	})
}

// A deletion stays while the watch is silent: that the end has not come tells nothing then. It also stays
// while the watch goes on and has brought nothing of the object since.
func TestGoneWhileTheWatchLags(t *testing.T) {
	withByHand(t, informer.Options[*widget]{}, func(src *byHand[*widget], inf *informer.Informer[key, *widget]) {
		must(t, inf.RecordGone(key{Namespace: "a", Name: "w"}, "uid", "50"))
		for rv := 22; rv < 49; rv++ {
			time.Sleep(time.Minute)
			src.bookmark(rv)
		}
		src.send(reflector.Modified, 49, at("w", 49))
		time.Sleep(time.Hour)
		if got := version(inf, "w"); got != "" {
			t.Errorf("w is back at %s", got)
		}
		src.send(reflector.Modified, 50, at("w", 50))
		if got := version(inf, "w"); got != "" {
			t.Errorf("w is back at %s", got)
		}
		src.send(reflector.Deleted, 60, at("w", 60))
		if got := version(inf, "w"); got != "" || inf.Stats().Writes != 0 {
			t.Errorf("w is at %q, %d writes are ahead", got, inf.Stats().Writes)
		}
	})
}

// What was recorded of a namespace leaves with it, even if its event could not be used.
func TestUnusableInNamespaceThatLeaves(t *testing.T) {
	withPlaces(t, func(u *places, a, b *byHand[*widget]) {
		must(t, u.RecordWrite(at("x", 20), ""))
		a.events <- byHandEvent[*widget]{err: &reflector.ObjectError{Resource: "things", Key: "a/x", ResourceVersion: "20", Type: reflector.Added, Err: errors.New("bad")}}
		a.bookmark(30)
		b.bookmark(30)
		if got := version(u.AsInformer(), "x"); got != "20" {
			t.Errorf("x is at %q, want 20", got)
		}
		must(t, u.RecordWrite(at("y", 40), ""))
		a.events <- byHandEvent[*widget]{err: &reflector.ObjectError{Resource: "things", Key: "a/y", ResourceVersion: "40", Type: reflector.Added, Err: errors.New("bad")}}
		u.remove("a")
		synctest.Wait()
		if got := version(u.AsInformer(), "y"); got != "" {
			t.Errorf("y is at %s without its namespace", got)
		}
	})
}

// some is a selection without the objects that have left it. One that comes back does so with the next list.
type some struct {
	mu      sync.Mutex
	out     map[identity]bool // left
	back    map[identity]bool // to come with the next list
	changed func(less bool) error
}

// identity tells objects of one name apart.
type identity struct {
	name string
	uid  types.UID
}

func identityOf(w *widget) identity { return identity{w.Name, w.UID} }

func newSome() *some { return &some{out: map[identity]bool{}, back: map[identity]bool{}} }

func (s *some) Follow(changed func(bool) error, _ func(context.Context) error) (func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = changed
	return func() {}, nil
}
func (s *some) Begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for of := range s.back {
		delete(s.out, of)
	}
	clear(s.back)
	return true
}
func (s *some) Due() bool                       { s.mu.Lock(); defer s.mu.Unlock(); return len(s.back) > 0 }
func (s *some) Listed()                         {}
func (s *some) Dropped()                        {}
func (s *some) Request(*metav1.ListOptions)     {}
func (s *some) Asked(*widget) (bool, error)     { return true, nil }
func (s *some) CheckList(metav1.ListMeta) error { return nil }
func (s *some) Selects(w *widget) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.out[identityOf(w)]
}

// drop lets objects leave, and tells nobody.
func (s *some) drop(all ...*widget) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range all {
		s.out[identityOf(w)] = true
	}
}

// leave lets objects leave.
func (s *some) leave(all ...*widget) error {
	s.drop(all...)
	return s.changed(true)
}

// comeBack lets an object come with the next list.
func (s *some) comeBack(w *widget) error {
	s.mu.Lock()
	s.back[identityOf(w)] = true
	s.mu.Unlock()
	return s.changed(false)
}

// withSome runs test with an informer of what a selection selects, which holds a/w at version 10.
func withSome(t *testing.T, opts informer.Options[*widget], test func(*byHand[*widget], *some, *informer.Informer[key, *widget], *history)) {
	synctest.Test(t, func(t *testing.T) {
		src, selection := &byHand[*widget]{events: make(chan byHandEvent[*widget])}, newSome()
		src.set(listOf("10", at("w", 10)))
		opts.Reflector = byHandTuning
		inf := newInformer(t, reflector.Select[*widget](src, selection), opts)
		h := newHistory(t, inf)
		must1(inf.AddHandler(h, handlerOptions{}))(t)
		stop := run(t, inf)
		test(src, selection, inf, h)
		stop()
	})
}

// TestPassedWhileSelectionLeaves has a selection that leaves an object of which an own write is ahead. The watch
// brings a state of it before that, and drops the one that was written: the object leaves, and never goes back.
func TestPassedWhileSelectionLeaves(t *testing.T) {
	withSome(t, informer.Options[*widget]{}, func(src *byHand[*widget], selection *some, inf *informer.Informer[key, *widget], h *history) {
		must(t, inf.RecordWrite(at("w", 30), ""))
		src.send(reflector.Modified, 20, at("w", 20))
		selection.drop(at("w", 0))
		src.send(reflector.Modified, 30, at("w", 30))
		src.bookmark(40)
		if got, want := dump(inf), " rv 40 ahead 0"; got != want {
			t.Errorf("the informer has %q, want %q", got, want)
		}
		if got, want := h.types(key{Namespace: "a", Name: "w"}), "Added(initial) Updated Deleted(unknown)"; got != want {
			t.Errorf("a handler got %q, want %q", got, want)
		}
	})
}

// TestMadeAnewWhileSelectionLeaves has a selection that leaves an object, which this process deletes and makes
// anew before the cache has given it up: the new object is selected, and stays.
func TestMadeAnewWhileSelectionLeaves(t *testing.T) {
	var busy, goOn chan struct{}
	opts := informer.Options[*widget]{
		Indexes: []index.Definition[*widget]{index.New("node", nodeOf)},
		OnError: func(error) { busy <- struct{}{}; <-goOn },
	}
	withSome(t, opts, func(src *byHand[*widget], selection *some, inf *informer.Informer[key, *widget], h *history) {
		busy, goOn = make(chan struct{}), make(chan struct{})
		src.sendNow(reflector.Added, 11, on("bad", at("bad", 11)))
		<-busy // so a commit is in progress
		must(t, selection.leave(at("w", 0)))
		must(t, inf.RecordGone(key{Namespace: "a", Name: "w"}, at("w", 0).UID, "20"))
		anew := at("w", 21)
		anew.UID = "another"
		must(t, inf.RecordWrite(anew, ""))
		goOn <- struct{}{}
		synctest.Wait()
		src.bookmark(15)
		if got, want := dump(inf), "w@21 rv 15 ahead 1"; got != want {
			t.Errorf("the informer has %q, want %q", got, want)
		}
		src.send(reflector.Added, 21, anew)
		if got, want := h.types(key{Namespace: "a", Name: "w"}), "Added(initial) Deleted(unknown) Added"; got != want {
			t.Errorf("a handler got %q, want %q", got, want)
		}
	})
}

// TestOwnWriteLeavesSelection has a selection that leaves an object of this process that list and watch have not
// reached, with or without a record of the end of the object before it. When the selection's change returns,
// no read has the object, and the one before it does not come back.
func TestOwnWriteLeavesSelection(t *testing.T) {
	var busy, goOn chan struct{}
	opts := informer.Options[*widget]{
		Indexes: []index.Definition[*widget]{index.New("node", nodeOf)},
		OnError: func(error) { busy <- struct{}{}; <-goOn },
	}
	w := key{Namespace: "a", Name: "w"}
	anew := at("w", 30)
	anew.UID = "another"
	for _, recorded := range []bool{false, true} {
		withSome(t, opts, func(src *byHand[*widget], selection *some, inf *informer.Informer[key, *widget], h *history) {
			busy, goOn = make(chan struct{}), make(chan struct{})
			if recorded {
				must(t, inf.RecordGone(w, at("w", 0).UID, "20"))
			}
			must(t, inf.RecordWrite(anew, ""))
			src.sendNow(reflector.Added, 11, on("bad", at("bad", 11)))
			<-busy // so a commit is in progress
			must(t, selection.leave(anew))
			if got, ok := inf.Store().Get(w); ok {
				t.Errorf("recorded %t: the selection has left %v, which is in the store", recorded, got)
			}
			goOn <- struct{}{}
			synctest.Wait()
			src.send(reflector.Modified, 13, at("w", 13))
			src.send(reflector.Deleted, 21, at("w", 21))
			src.bookmark(25)
			if got, want := dump(inf), " rv 25 ahead 1"; got != want {
				t.Errorf("recorded %t: the informer has %q, want %q", recorded, got, want)
			}
			src.bookmark(40)
			if got, want := dump(inf), " rv 40 ahead 0"; got != want {
				t.Errorf("recorded %t: the informer has %q, want %q", recorded, got, want)
			}
			if got, want := strings.Count(h.types(w), "Deleted"), map[bool]int{false: 1, true: 2}[recorded]; got != want {
				t.Errorf("recorded %t: a handler got %q, want %d deletions", recorded, h.types(w), want)
			}
		})
	}
}

// TestEchoOfWhatLeftSelection has the watch's event of an own write in the queue when the selection leaves its object.
// The object is gone when the selection's change returns, and stays so.
func TestEchoOfWhatLeftSelection(t *testing.T) {
	var busy, goOn chan struct{}
	opts := informer.Options[*widget]{
		Indexes: []index.Definition[*widget]{index.New("node", nodeOf)},
		OnError: func(err error) {
			var bad *reflector.ObjectError
			if errors.As(err, &bad) {
				busy <- struct{}{}
				<-goOn
			}
		},
	}
	w := key{Namespace: "a", Name: "w"}
	for _, version := range []int{30, 31} {
		withSome(t, opts, func(src *byHand[*widget], selection *some, inf *informer.Informer[key, *widget], h *history) {
			busy, goOn = make(chan struct{}), make(chan struct{})
			must(t, inf.RecordWrite(at("w", 30), ""))
			src.set(listOf("20", on("bad", at("bad", 11)), at("w", 10)))
			src.events <- byHandEvent[*widget]{err: apierrors.NewResourceExpired("too old")}
			<-busy // so the list is being committed
			src.sendNow(reflector.Modified, version, at("w", version))
			synctest.Wait()
			must(t, selection.leave(at("w", 0)))
			goOn <- struct{}{}
			src.bookmark(40)
			if got, want := dump(inf), " rv 40 ahead 0"; got != want {
				t.Errorf("version %d: the informer has %q, want %q", version, got, want)
			}
			if got := h.types(w); strings.Count(got, "Added") != 1 || strings.Count(got, "Deleted") != 1 {
				t.Errorf("version %d: a handler got %q", version, got)
			}
		})
	}
}
