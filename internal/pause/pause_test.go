package pause_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/kinform/kinform/internal/pause"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFor(t *testing.T) {
	for name, c := range map[string]struct {
		d, limit, takes time.Duration
		want            error
	}{
		"the whole time":     {time.Second, time.Minute, time.Second, nil},
		"ends before":        {time.Minute, time.Second, time.Second, context.DeadlineExceeded},
		"no time":            {0, time.Minute, 0, nil},
		"less than no time":  {-time.Second, time.Minute, 0, nil},
		"no time, and ended": {0, -time.Second, 0, context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), c.limit)
				defer cancel()
				began := time.Now()
				if err := pause.For(ctx, c.d); !errors.Is(err, c.want) {
					t.Errorf("%v, want %v", err, c.want)
				}
				if took := time.Since(began); took != c.takes {
					t.Errorf("it took %v, want %v", took, c.takes)
				}
			})
		})
	}
}

func TestWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if !pause.Within(time.Minute, func() { time.Sleep(time.Second) }) || time.Since(began) != time.Second {
			t.Errorf("returned after %v, want a second", time.Since(began))
		}
		if pause.Within(time.Minute, func() { time.Sleep(time.Hour) }) || time.Since(began) != time.Minute+time.Second {
			t.Errorf("returned after %v, want a minute more", time.Since(began))
		}
		time.Sleep(time.Hour) // the goroutine ends
	})
}
