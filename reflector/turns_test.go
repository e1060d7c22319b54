package reflector

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Lists that broke off go on in turn, one a second. A complete list lets two more go, and a watch that succeeds one,
// but not twice in a second. A reflector that ends leaves the line.
func TestListsInTurn(t *testing.T) {
	inBubble(t, func(t *testing.T, ctx context.Context, b *Breaker) {
		var gone atomic.Int32
		inLine := func(ctx context.Context) {
			go func() { b.turnToList(ctx, time.Second); gone.Add(1) }()
			synctest.Wait()
		}
		went := func(want int32, when string) {
			t.Helper()
			synctest.Wait()
			if got := gone.Swap(0); got != want {
				t.Errorf("%s: %d of them went, want %d", when, got, want)
			}
		}
		for range 20 {
			inLine(ctx)
		}
		went(1, "at first")
		time.Sleep(3*time.Second - 1)
		went(2, "after almost three seconds")
		time.Sleep(1)
		went(1, "after three seconds")
		b.letListsGo(true, time.Second)
		b.letListsGo(true, time.Second)
		went(4, "after two complete lists")
		b.letListsGo(false, time.Second)
		b.letListsGo(false, time.Second)
		went(1, "after two watches")
		time.Sleep(2*time.Second - 1)
		went(0, "that one is not paid for yet")
		if got := b.listTurn(time.Second); got != 1+11*time.Second {
			t.Errorf("one more would wait for %v", got)
		}
		time.Sleep(1)
		went(1, "it is now")
		ended, end := context.WithCancel(ctx)
		b.letListsGo(true, time.Second)
		went(2, "after another list")
		for range 7 {
			b.letListsGo(true, time.Second)
		}
		went(8, "all others")
		b.letListsGo(false, time.Second)
		inLine(ended)
		inLine(ctx)
		end()
		went(1, "the first ends")
		time.Sleep(time.Second)
		went(1, "its place is free, and a success without anybody in line cost nothing")
		if n := len(b.lists.waiting); n != 0 {
			t.Errorf("%d are left", n)
		}
	})
}

// A long outage ends the waits of lists, a short one does not.
func TestOutageEndsTurns(t *testing.T) {
	for lasts, want := range map[time.Duration]bool{longOutage - 1: false, longOutage: true} {
		inBubble(t, func(t *testing.T, ctx context.Context, b *Breaker) {
			b.lists.pay(time.Now(), time.Hour)
			went := make(chan struct{})
			go func() { b.turnToList(ctx, time.Second); close(went) }()
			synctest.Wait()
			b.failed(time.Now(), Backoff{}.withDefaults())
			time.Sleep(lasts)
			b.answered()
			synctest.Wait()
			select {
			case <-went:
				if !want {
					t.Errorf("went on after %v", lasts)
				}
			default:
				if want {
					t.Errorf("waits after %v", lasts)
				}
			}
		})
	}
}
