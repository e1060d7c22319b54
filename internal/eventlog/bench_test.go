package eventlog

import (
	"context"
	"fmt"
	"sync"
	"testing"
)

// event is about what an informer publishes.
type event struct {
	Namespace, Name string
	Old, New        *int
	Type            uint8
}

// BenchmarkFanOut passes each event to all readers, in batches of 64, with a writer that waits
// for them. Reported per event.
func BenchmarkFanOut(b *testing.B) {
	for _, cursors := range []int{1, 4, 16} {
		b.Run(fmt.Sprintf("cursors=%d", cursors), func(b *testing.B) { fanOut(b, cursors, 64) })
	}
}

// BenchmarkFanOutSingly is the same with a Publish for every event.
func BenchmarkFanOutSingly(b *testing.B) {
	for _, cursors := range []int{1, 4, 16} {
		b.Run(fmt.Sprintf("cursors=%d", cursors), func(b *testing.B) { fanOut(b, cursors, 1) })
	}
}

func fanOut(b *testing.B, cursors, batch int) {
	ctx := context.Background()
	var log Log[event]
	var wg sync.WaitGroup
	var open []*Cursor[event]
	for range cursors {
		c := NewCursor(&log)
		open = append(open, c)
		wg.Go(func() {
			for types := 0; ; {
				run, err := Next(c)
				if err != nil {
					return
				}
				for i := range run {
					types += int(run[i].Type)
				}
			}
		})
	}
	ev := event{Namespace: "default", Name: "name", New: new(int)}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		Append(&log, ev)
		if n++; n%batch == 0 {
			Publish(&log)
			_ = log.WaitLag(ctx, 4096)
		}
	}
	Publish(&log)
	_ = log.WaitLag(ctx, 0)
	b.StopTimer()
	for _, c := range open {
		Close(c)
	}
	wg.Wait()
}
