package informer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/reflector"
)

// manual is a source whose watch is driven by the test: it passes on each event, and then tells
// that the informer has returned.
type manual struct {
	events chan reflector.Event[*widget]
	taken  chan struct{}
}

func (manual) Resource() string { return "widgets" }

func (manual) List(context.Context, metav1.ListOptions, func(reflector.Event[*widget], error) bool) (metav1.ListMeta, error) {
	return metav1.ListMeta{ResourceVersion: "1"}, nil
}

func (m manual) Watch(ctx context.Context, _ metav1.ListOptions) iter.Seq2[reflector.Event[*widget], error] {
	return func(yield func(reflector.Event[*widget], error) bool) {
		for {
			select {
			case ev := <-m.events:
				if !yield(ev, nil) {
					return
				}
				m.taken <- struct{}{}
			case <-ctx.Done():
				return
			}
		}
	}
}

func (m manual) send(rv int, idle bool) {
	w := newWidget("ns", fmt.Sprint("w", rv), "n")
	w.ResourceVersion = fmt.Sprint(rv)
	m.events <- reflector.Event[*widget]{Type: reflector.Added, Idle: idle, ResourceVersion: w.ResourceVersion, Object: w}
	<-m.taken
}

// TestIdleSource commits an event before the source goes on, if the source is idle after it and no
// handler is behind.
func TestIdleSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := manual{make(chan reflector.Event[*widget]), make(chan struct{})}
		inf := newInformer(t, m, informer.Options[*widget]{Reflector: reflector.Tuning{DisableWatchList: true}})
		informer.SetLag(inf, 1)
		hold, seen := make(chan struct{}), 0
		must1(inf.AddHandler(informer.HandlerFunc[key, *widget](func(informer.Event[key, *widget]) { seen++; <-hold }), handlerOptions{}))(t)
		stop := run(t, inf)
		synctest.Wait()
		m.send(2, true)
		if n := inf.Store().Len(); n != 1 {
			t.Errorf("%d objects right after an event of an idle source, want 1", n)
		}
		m.send(3, false)
		synctest.Wait()
		m.send(4, true)
		m.send(5, true) // does not wait for the handler, which is 2 events behind
		synctest.Wait()
		if n := inf.Store().Len(); n >= 4 {
			t.Errorf("%d objects in the store, although a handler is behind", n)
		}
		close(hold)
		synctest.Wait()
		if n := inf.Store().Len(); n != 4 || seen != 4 {
			t.Errorf("%d objects in the store, the handler has seen %d, want 4", n, seen)
		}
		stop()
	})
}

// TestUnmarkedSource commits an event before the source goes on, if the source never says that it is
// idle and a handler waits for the event. Another handler may be busy.
func TestUnmarkedSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := manual{make(chan reflector.Event[*widget]), make(chan struct{})}
		inf := newInformer(t, m, informer.Options[*widget]{Reflector: reflector.Tuning{DisableWatchList: true}})
		hold, seen := make(chan struct{}), 0
		must1(inf.AddHandler(informer.HandlerFunc[key, *widget](func(informer.Event[key, *widget]) { <-hold }), handlerOptions{}))(t)
		must1(inf.AddHandler(informer.HandlerFunc[key, *widget](func(informer.Event[key, *widget]) { seen++ }), handlerOptions{}))(t)
		stop := run(t, inf)
		for rv := 2; rv <= 4; rv++ {
			synctest.Wait()
			m.send(rv, false)
			if n := inf.Store().Len(); n != rv-1 {
				t.Errorf("%d objects right after event %d", n, rv-1)
			}
		}
		synctest.Wait()
		if seen != 3 {
			t.Errorf("the handler has seen %d, want 3", seen)
		}
		close(hold)
		stop()
	})
}

// TestUnmarkedBusySource: while no handler waits, what comes is committed too.
func TestUnmarkedBusySource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := manual{make(chan reflector.Event[*widget]), make(chan struct{})}
		inf := newInformer(t, m, informer.Options[*widget]{Reflector: reflector.Tuning{DisableWatchList: true}})
		hold, seen := make(chan struct{}), 0
		must1(inf.AddHandler(informer.HandlerFunc[key, *widget](func(informer.Event[key, *widget]) { seen++; <-hold }), handlerOptions{}))(t)
		stop := run(t, inf)
		synctest.Wait()
		for rv := 2; rv <= 9; rv++ {
			m.send(rv, false)
		}
		synctest.Wait()
		if n := inf.Store().Len(); n != 8 || seen != 1 {
			t.Errorf("%d objects in the store, the handler has seen %d, want 8 and 1", n, seen)
		}
		close(hold)
		synctest.Wait()
		if seen != 8 {
			t.Errorf("the handler has seen %d, want 8", seen)
		}
		stop()
	})
}

// TestGoroutines: an informer that has nothing to do has the goroutine of Run, and one for each
// handler, even after it was busy.
func TestGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := manual{make(chan reflector.Event[*widget]), make(chan struct{})}
		inf := newInformer(t, m, informer.Options[*widget]{Reflector: reflector.Tuning{DisableWatchList: true}})
		must1(inf.AddHandler(informer.HandlerFunc[key, *widget](func(informer.Event[key, *widget]) {}), handlerOptions{}))(t)
		stop := run(t, inf)
		m.send(2, true)
		m.send(3, false)
		m.send(4, false)
		synctest.Wait()
		if n := goroutines(); n != 2 || inf.Store().Len() != 3 {
			t.Errorf("%d goroutines, and %d objects in the store", n, inf.Store().Len())
		}
		stop()
	})
}

// goroutines returns the number of goroutines that run code of the package. Others, such as one of
// the test before, may be about to end.
func goroutines() (n int) {
	stacks := make([]byte, 1<<20)
	for stack := range bytes.SplitSeq(stacks[:runtime.Stack(stacks, true)], []byte("\n\n")) {
		running, _, _ := bytes.Cut(stack, []byte("\ncreated by "))
		if bytes.Contains(running, []byte("kinform/informer.")) {
			n++
		}
	}
	return n
}

// TestGoexitInCommit: if OnError ends the goroutine that commits, the report says so, whichever
// goroutine it is. Run ends in order, even if OnError ends each goroutine that calls it.
func TestGoexitInCommit(t *testing.T) {
	for n := range 4 {
		idle, always := n&1 > 0, n&2 > 0
		synctest.Test(t, func(t *testing.T) {
			m := manual{make(chan reflector.Event[*widget]), make(chan struct{}, 1)}
			var heard []error
			inf := newInformer(t, m, informer.Options[*widget]{
				Indexes: index.Of(index.New("bad", func([]string, *widget) []string { panic("index") })),
				OnError: func(err error) {
					if heard = append(heard, err); always || len(heard) == 1 {
						runtime.Goexit()
					}
				},
				Reflector: reflector.Tuning{DisableWatchList: true},
			})
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_ = inf.Run(t.Context())
			}()
			m.events <- reflector.Event[*widget]{Type: reflector.Added, Idle: idle, ResourceVersion: "2", Object: newWidget("ns", "w", "n")}
			<-ended
			var panicked *informer.PanicError
			if len(heard) != 2 || !errors.As(heard[1], &panicked) || panicked.Where != "commit" {
				t.Errorf("idle: %t, always: %t; OnError got %v", idle, always, heard)
			}
			if !isClosed(inf.Done()) {
				t.Errorf("idle: %t, always: %t; Done is open", idle, always)
			}
		})
	}
}
