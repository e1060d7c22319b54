package informer_test

import (
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/store"
)

// The estimate follows the number of objects at once, and their size after a minute.
func TestBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inf, err := informer.New(&live[*widget]{}, store.ObjectKey[*widget], informer.Options[*widget]{})
		if err != nil {
			t.Fatal(err)
		}
		if n := inf.Bytes(); n != 0 {
			t.Errorf("an empty store has %d bytes", n)
		}
		put := func(from, to, size int) {
			for i := from; i < to; i++ {
				if err := informer.Writer(inf).Set(newWidget("a", strconv.Itoa(i), strings.Repeat("x", size))); err != nil {
					t.Fatal(err)
				}
			}
		}
		put(0, 100, 10_000)
		near := func(want float64) {
			t.Helper()
			if got := float64(inf.Bytes()); got < want*0.9 || got > want*1.2 {
				t.Errorf("estimated are %.0f bytes, want about %.0f", got, want)
			}
		}
		near(1e6)
		put(100, 200, 10_000)
		near(2e6)
		put(0, 200, 1000)
		near(2e6)
		time.Sleep(time.Minute)
		near(0.25e6)
	})
}
