package queue

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestSnapshotAny(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[int]{Timing: true})
		for key := range 6 {
			q.AddWith(key, AddOptions{Priority: key})
		}
		mustGet(t, q)
		mustGet(t, q)
		q.Add(5)
		q.AddAfter(7, time.Hour)
		q.AddRateLimited(8)
		if got, want := fmt.Sprint(q.Untyped().SnapshotAny()), fmt.Sprint(q.Snapshot()); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}
