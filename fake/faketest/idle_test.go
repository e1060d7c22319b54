package faketest_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faketest"
	"github.com/kinform/kinform/fake/faults"
)

// TestWaitIdle: what two watches have seen, one of them delayed, is known exactly.
func TestWaitIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		check(t, s.Inject(must(faults.Parse("delay watch pods by=1m call=2"))(t)...))
		var seen [2]atomic.Int64
		for i := range seen {
			src := must(fake.NewSource[*pod](s, fake.Selection{}))(t)
			go func() {
				for range src.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "1"}) {
					seen[i].Add(1)
				}
			}()
			faketest.WaitIdle() // the first watch has begun
		}
		for n := int64(1); n <= 10; n++ {
			must(fake.Create(s, &pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", GenerateName: "p-"}}))(t)
			faketest.WaitIdle()
			if got := [2]int64{seen[0].Load(), seen[1].Load()}; got != [2]int64{n, 0} {
				t.Fatalf("after %d writes %v are seen", n, got)
			}
		}
		time.Sleep(time.Hour)
		faketest.WaitIdle()
		if got := [2]int64{seen[0].Load(), seen[1].Load()}; got != [2]int64{10, 10} {
			t.Errorf("after the delay %v are seen", got)
		}
	})
}
