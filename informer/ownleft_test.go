package informer_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/reflector"
)

// An own write was of a history that the server has lost, and nobody noticed. Its object leaves the selection and
// comes back: what the server has enters after some time, as it does without that.
func TestLostHistoryOfWhatLeft(t *testing.T) {
	withSome(t, informer.Options[*widget]{OnError: ignore}, func(src *byHand[*widget], selection *some, inf *informer.Informer[key, *widget], _ *history) {
		must(t, inf.RecordWrite(at("w", 1000), ""))
		src.bookmark(12)
		src.set(listOf("20", at("w", 15)))
		must(t, selection.leave(at("w", 0)))
		must(t, selection.comeBack(at("w", 0)))
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
	synctest.Test(t, func(t *testing.T) {
		src, selection := &byHand[*widget]{events: make(chan byHandEvent[*widget])}, newSome()
		src.set(listOf("10", at("w", 10)))
		inf := newInformer(t, reflector.Select[*widget](src, selection), informer.Options[*widget]{Reflector: byHandTuning, OnError: ignore})
		stop := run(t, inf)
		must(t, inf.RecordWrite(at("w", 30), ""))
		must(t, selection.leave(at("w", 0)))
		for range 2 {
			time.Sleep(5 * time.Minute)
			if lost := inf.Stats().LostWrites; lost != 0 {
				t.Errorf("%d lost writes", lost)
			}
			stop()
			stop = run(t, inf)
		}
		stop()
	})
}

// Nor is it lost if it comes back in an older state, with a list that shows that the server was restored.
func TestWhatLeftIsNotLostByRestore(t *testing.T) {
	withSome(t, informer.Options[*widget]{OnError: ignore}, func(src *byHand[*widget], selection *some, inf *informer.Informer[key, *widget], _ *history) {
		must(t, inf.RecordWrite(at("w", 30), ""))
		must(t, inf.RecordWrite(at("x", 31), ""))
		must(t, selection.leave(at("w", 0)))
		synctest.Wait() // or the handler would see a store that has gone back
		src.set(listOf("5", at("w", 4)))
		must(t, selection.comeBack(at("w", 0)))
		synctest.Wait()
		if got, lost := dump(inf), inf.Stats().LostWrites; got != "w@4 rv 5 ahead 0" || lost != 1 {
			t.Errorf("the informer has %q, %d lost writes, want that of x alone", got, lost)
		}
	})
}

// Writes of what has left the selection make room for others.
func TestWhatLeftMakesRoom(t *testing.T) {
	withSome(t, informer.Options[*widget]{OnError: ignore}, func(src *byHand[*widget], selection *some, inf *informer.Informer[key, *widget], _ *history) {
		var all []*widget
		for n := range 10_000 {
			all = append(all, at(fmt.Sprint("n", n), 1000+n))
			must(t, inf.RecordWrite(all[n], ""))
		}
		must(t, selection.leave(all...))
		must(t, inf.RecordWrite(at("other", 100), ""))
		if lost := inf.Stats().LostWrites; lost != 0 {
			t.Errorf("%d lost writes", lost)
		}
	})
}
