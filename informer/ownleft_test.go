package informer_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/reflector"
)

// chosenNames is a selection of objects by name. A name that comes back does so with the next list.
type chosenNames struct {
	mu      sync.Mutex
	out     map[string]bool // left
	back    map[string]bool // to come with the next list
	changed func(less bool) error
}

func (s *chosenNames) Follow(changed func(bool) error, _ func(context.Context) error) (func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = changed
	return func() {}, nil
}
func (s *chosenNames) Begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.back {
		delete(s.out, name)
	}
	clear(s.back)
	return true
}
func (s *chosenNames) Due() bool                       { s.mu.Lock(); defer s.mu.Unlock(); return len(s.back) > 0 }
func (s *chosenNames) Listed()                         {}
func (s *chosenNames) Dropped()                        {}
func (s *chosenNames) Request(*metav1.ListOptions)     {}
func (s *chosenNames) Asked(*widget) (bool, error)     { return true, nil }
func (s *chosenNames) CheckList(metav1.ListMeta) error { return nil }
func (s *chosenNames) Selects(w *widget) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.out[w.Name]
}

func (s *chosenNames) leave(all ...string) error {
	s.mu.Lock()
	for _, name := range all {
		s.out[name] = true
	}
	s.mu.Unlock()
	return s.changed(true)
}

func (s *chosenNames) comeBack(name string) error {
	s.mu.Lock()
	s.back[name] = true
	s.mu.Unlock()
	return s.changed(false)
}

// withNames runs test with an informer of what a selection by name selects, which holds a/w at version 10.
func withNames(t *testing.T, test func(src *byHand[*widget], selection *chosenNames, inf *informer.Informer[key, *widget], restart func())) {
	synctest.Test(t, func(t *testing.T) {
		src, selection := &byHand[*widget]{events: make(chan byHandEvent[*widget])}, &chosenNames{out: map[string]bool{}, back: map[string]bool{}}
		src.set(listOf("10", at("w", 10)))
		inf := newInformer(t, reflector.Select[*widget](src, selection), informer.Options[*widget]{Reflector: byHandTuning, OnError: ignore})
		stop := run(t, inf)
		test(src, selection, inf, func() { stop(); stop = run(t, inf) })
		stop()
	})
}

// An own write was of a history that the server has lost, and nobody noticed. Its object leaves the selection and
// comes back: what the server has enters after some time, as it does without that.
func TestLostHistoryOfWhatLeft(t *testing.T) {
	withNames(t, func(src *byHand[*widget], selection *chosenNames, inf *informer.Informer[key, *widget], _ func()) {
		must(t, inf.RecordWrite(at("w", 1000), ""))
		src.bookmark(12)
		src.set(listOf("20", at("w", 15)))
		must(t, selection.leave("w"))
		must(t, selection.comeBack("w"))
		for rv := 21; rv < 31; rv++ {
			time.Sleep(time.Minute)
			src.bookmark(rv)
		}
		if got, want := dump(inf), "w@15 rv 30 ahead 0"; got != want {
			t.Errorf("the informer has %q, want %q", got, want)
		}
	})
}

// What has left the selection is no lost write, in a later Run either.
func TestWhatLeftIsNotLost(t *testing.T) {
	withNames(t, func(src *byHand[*widget], selection *chosenNames, inf *informer.Informer[key, *widget], restart func()) {
		must(t, inf.RecordWrite(at("w", 30), ""))
		must(t, selection.leave("w"))
		for range 2 {
			time.Sleep(5 * time.Minute)
			if lost := inf.Stats().LostWrites; lost != 0 {
				t.Errorf("%d lost writes", lost)
			}
			restart()
		}
	})
}

// Writes of what has left the selection make room for others.
func TestWhatLeftMakesRoom(t *testing.T) {
	withNames(t, func(src *byHand[*widget], selection *chosenNames, inf *informer.Informer[key, *widget], _ func()) {
		var all []string
		for n := range 10_000 {
			all = append(all, fmt.Sprint("n", n))
			must(t, inf.RecordWrite(at(all[n], 1000+n), ""))
		}
		must(t, selection.leave(all...))
		must(t, inf.RecordWrite(at("other", 100), ""))
		if lost := inf.Stats().LostWrites; lost != 0 {
			t.Errorf("%d lost writes", lost)
		}
	})
}
