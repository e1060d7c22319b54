package informer_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/picking"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/shard"
)

// sendIdle sends an event, and says whether more are at hand.
func sendIdle(src *byHand[*widget], typ reflector.EventType, rv string, w *widget, idle bool) {
	src.events <- byHandEvent[*widget]{ev: reflector.Event[*widget]{Type: typ, ResourceVersion: rv, Object: w, Idle: idle}}
}

// ending is a source that tells when its selection is not followed any more.
type ending struct {
	reflector.Source[*widget]
	ended chan struct{}
}

func (s ending) Selection() picking.Selection {
	return endingSelection{s.Source.(interface{ Selection() picking.Selection }).Selection(), s.ended}
}
func (s ending) Selects(w *widget) bool {
	return s.Source.(interface{ Selects(*widget) bool }).Selects(w)
}

type endingSelection struct {
	picking.Selection
	ended chan struct{}
}

func (s endingSelection) Follow(changed func(bool) error, flush func(context.Context) error) (func(), error) {
	stop, err := s.Selection.Follow(changed, flush)
	return func() { stop(); close(s.ended) }, err
}

// Run ends while the committer has a batch that passes an own write.
func TestRunEndsDuringCommit(t *testing.T) {
	for _, ends := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			src := &byHand[*widget]{events: make(chan byHandEvent[*widget])}
			src.set(listOf("10", at("w", 10)))
			set := new(shard.Hashes)
			must(t, set.Set(shard.HashRange{Last: topHash}))
			part := shard.Part[*widget]{Hashes: set, Hash: byName}
			end := ending{must1(part.Source(src))(t), make(chan struct{})}
			busy, goOn := make(chan struct{}), make(chan struct{})
			inf := newInformer(t, end, informer.Options[*widget]{Reflector: byHandTuning, Indexes: []index.Definition[*widget]{
				index.New("node", func(dst []string, w *widget) []string {
					if w.Spec.Node == "slow" {
						busy <- struct{}{}
						<-goOn
					}
					return append(dst, w.Spec.Node)
				}),
			}})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan error)
			go func() { done <- inf.Run(ctx) }()
			synctest.Wait()
			sendIdle(src, reflector.Bookmark, "10", nil, true)
			must(t, inf.RecordWrite(at("w", 30), ""))
			sendIdle(src, reflector.Modified, "20", at("w", 20), true) // put aside
			synctest.Wait()
			slow := on("slow", at("x", 40))
			slow.UID = "x"
			sendIdle(src, reflector.Added, "40", slow, false) // the write was passed: the object is not in the selection
			<-busy
			if ends {
				cancel()
				<-end.ended
			}
			goOn <- struct{}{}
			if !ends {
				synctest.Wait()
				cancel()
			}
			must(t, <-done)
			if got := version(inf, "w"); got != "20" {
				t.Errorf("ends %v: w is at %q, want 20 (%s)", ends, got, dump(inf))
			}
		})
	}
}

// Run ends while ranges leave the set.
func TestRunEndsDuringPrune(t *testing.T) {
	empty := 0
	for range 40 {
		synctest.Test(t, func(t *testing.T) {
			src := &byHand[*widget]{events: make(chan byHandEvent[*widget])}
			var all []*widget
			for _, name := range []string{"k1", "k2", "k3", "k4"} {
				w := at(name, 10)
				w.UID = types.UID(name)
				all = append(all, w)
			}
			src.set(listOf("10", all...))
			set := new(shard.Hashes)
			must(t, set.Set(shard.HashRange{First: 0, Last: 9}))
			var hold atomic.Bool
			busy, goOn := make(chan struct{}), make(chan struct{})
			part := shard.Part[*widget]{Hashes: set, Hash: func(w *widget) uint64 {
				if hold.CompareAndSwap(true, false) {
					busy <- struct{}{}
					<-goOn
				}
				return 1 // all of them are in what stays
			}}
			end := ending{must1(part.Source(src))(t), make(chan struct{})}
			inError, afterError := make(chan struct{}), make(chan struct{})
			inf := newInformer(t, end, informer.Options[*widget]{
				Reflector: byHandTuning, Indexes: []index.Definition[*widget]{index.New("node", nodeOf)},
				OnError: func(error) { close(inError); <-afterError },
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done, setDone := make(chan error), make(chan error, 1)
			go func() { done <- inf.Run(ctx) }()
			synctest.Wait()
			sendIdle(src, reflector.Bookmark, "10", nil, true)
			sendIdle(src, reflector.Added, "11", on("bad", at("bad", 11)), false)
			<-inError // a commit is in progress
			hold.Store(true)
			go func() { setDone <- set.Set(shard.HashRange{First: 0, Last: 5}) }()
			<-busy // Prune is in progress
			cancel()
			<-end.ended
			goOn <- struct{}{}
			must(t, <-setDone)
			close(afterError)
			must(t, <-done)
			if inf.Store().Len() != 4 {
				empty++
			}
		})
	}
	if empty > 0 {
		t.Errorf("in %d of 40 runs, the store has lost objects that are in the set", empty)
	}
}

// What is waited for comes into the set and leaves it again before the cache begins to list.
func TestWaitForWhatCameAndWent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &byHand[*widget]{events: make(chan byHandEvent[*widget])}
		src.set(listOf("10", at("w", 10)))
		set := new(shard.Hashes)
		must(t, set.Set(shard.HashRange{First: 0, Last: 9}))
		part := shard.Part[*widget]{Hashes: set, Hash: func(w *widget) uint64 { return 1 }}
		busy, goOn := make(chan struct{}), make(chan struct{})
		inf := newInformer(t, must1(part.Source(src))(t), informer.Options[*widget]{Reflector: byHandTuning, OnError: func(error) { busy <- struct{}{}; <-goOn }})
		stop := run(t, inf)
		must(t, set.WaitForLists(t.Context()))
		src.events <- byHandEvent[*widget]{err: &reflector.ObjectError{Resource: "things", Key: "a/x", ResourceVersion: "20", Type: reflector.Modified, Err: context.DeadlineExceeded}}
		<-busy // the reflector's goroutine is in OnError
		must(t, set.Set(shard.HashRange{First: 0, Last: 9}, shard.HashRange{First: 100, Last: 200}))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		waited := make(chan error, 1)
		go func() { waited <- set.WaitForLists(ctx) }()
		synctest.Wait()
		must(t, set.Set(shard.HashRange{First: 0, Last: 9}))
		goOn <- struct{}{}
		if err := <-waited; err != nil {
			t.Errorf("WaitForLists waits for ranges that have left the set: %v", err)
		}
		stop()
	})
}
