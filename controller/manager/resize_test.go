package manager_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/queue"
)

// resized is a reign with a controller that has four workers until a test sends another number. Each reconcile takes a
// second and comes back at once.
type resized struct {
	*reign
	resize chan int
	busy   atomic.Int32
}

func newResized(t *testing.T, filters ...func(informer.Event[key, *gadget]) bool) *resized {
	r := &resized{reign: newReign(t, manager.Options{}), resize: make(chan int)}
	c := controller.New("gadgets", func(ctx context.Context, _ key) error {
		r.busy.Add(1)
		defer r.busy.Add(-1)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
			return controller.Again(0)
		}
	}, controller.Options[key]{Run: queue.RunOptions{Workers: 4, Resize: r.resize}})
	controller.For(c, r.inf, filters...)
	r.m.AddControllers(c)
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"} {
		r.create(t, name)
	}
	return r
}

// wants checks the number of calls that run at the same time.
func (r *resized) wants(t *testing.T, when string, n int32) {
	t.Helper()
	time.Sleep(2500 * time.Millisecond) // those that are too many have ended
	synctest.Wait()
	if busy := r.busy.Load(); busy != n {
		t.Errorf("%s: %d calls at a time, want %d", when, busy, n)
	}
}

// taken checks that somebody receives the number.
func (r *resized) taken(t *testing.T, when string, n int) {
	t.Helper()
	synctest.Wait()
	select {
	case r.resize <- n:
	default:
		t.Errorf("%s: nobody takes the number %d", when, n)
	}
	synctest.Wait()
}

// The last number of workers holds in all later terms, whenever it was sent. A sender does not wait for a term.
func TestResizeOverTerms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newResized(t)
		end := begin(t, r.m)
		synctest.Wait()
		r.win()
		r.wants(t, "at first", 4)
		r.taken(t, "in a term", 7)
		r.wants(t, "in the term", 7)
		r.lose()
		r.wants(t, "between two terms", 0)
		r.win()
		r.wants(t, "in the next term", 7)
		r.lose()
		for _, n := range []int{1, 9, 3} {
			r.taken(t, "between two terms", n)
		}
		r.wants(t, "with a number between two terms", 0)
		for range 3 {
			r.win()
			r.wants(t, "with a number from before the term", 3)
			r.lose()
		}
		for _, pause := range []int{0, -5} {
			r.taken(t, "between two terms", pause)
			r.win() // no reconcile may begin, not even for a moment
			if n := r.busy.Load(); n != 0 {
				t.Errorf("%d calls in a paused term", n)
			}
			r.taken(t, "in a paused term", 2)
			r.wants(t, "after the pause", 2)
			r.taken(t, "in a term", pause)
			r.wants(t, "a pause in a term", 0)
			r.lose()
			r.win()
			r.wants(t, "the pause in the next term", 0)
			r.lose()
		}
		r.taken(t, "between two terms", 5)
		close(r.resize)
		for range 2 {
			r.win()
			r.wants(t, "with a closed channel", 5)
			r.lose()
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

// The number is taken while the caches of the controller fill, and nobody takes it before Run and after it.
func TestResizeBeforeAndAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		r := newResized(t, func(informer.Event[key, *gadget]) bool { <-release; return true })
		refused := func(when string) {
			t.Helper()
			synctest.Wait()
			select {
			case r.resize <- 9:
				t.Errorf("%s: somebody takes the number", when)
			default:
			}
		}
		end := begin(t, r.m)
		refused("before the first term")
		r.win()
		r.taken(t, "while the handler is busy", 2)
		close(release)
		r.wants(t, "then", 2)
		r.lose()
		if err := end(); err != nil {
			t.Error(err)
		}
		refused("after Run")
	})
}

// Many send while the leadership comes and goes. Each number is taken, and none is kept back by an earlier one.
func TestResizeByMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newResized(t)
		end := begin(t, r.m)
		synctest.Wait()
		r.win()
		r.lose()
		var senders sync.WaitGroup
		for n := range 8 {
			senders.Go(func() {
				for i := range 100 {
					r.resize <- (n+i)%6 - 1
					time.Sleep(time.Duration(n*i%7) * 100 * time.Millisecond)
				}
			})
		}
		for n := range 50 {
			r.win()
			time.Sleep(time.Duration(n%5) * 300 * time.Millisecond)
			r.lose()
		}
		senders.Wait()
		for _, n := range []int{2, 6, 1} {
			r.taken(t, "at last", n)
			r.win()
			r.wants(t, "at last", int32(n))
			r.lose()
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

// A reconcile that sends a number when its context ends delays neither the end of a term nor that of Run.
func TestResizeByReconcile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReign(t, manager.Options{})
		resize := make(chan int)
		c := controller.New("gadgets", func(ctx context.Context, _ key) error {
			<-ctx.Done()
			for _, n := range []int{0, -1, 3} {
				resize <- n
			}
			return ctx.Err()
		}, controller.Options[key]{Run: queue.RunOptions{Resize: resize}})
		controller.For(c, r.inf)
		r.m.AddControllers(c)
		for _, name := range []string{"a", "b", "c", "d"} {
			r.create(t, name)
		}
		end := begin(t, r.m)
		synctest.Wait()
		for n := range 50 {
			r.win()
			if want := min(1+2*n, 3); c.Metrics().Running != want {
				t.Errorf("term %d: %d calls, want %d", n, c.Metrics().Running, want)
			}
			r.lose()
			r.want(t, "gives up")
		}
		r.win()
		began := time.Now()
		if err := end(); err != nil || time.Since(began) > 0 {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}
