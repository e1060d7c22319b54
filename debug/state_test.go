package debug

import (
	"testing"
	"time"

	"github.com/kinform/kinform/queue"
)

// What one State of 10,000 queued keys costs. All viewers share it for a second.
func BenchmarkState(b *testing.B) {
	p := New(Options{})
	q := queue.New(queue.Options[int]{})
	for i := range 10_000 {
		q.Add(i)
	}
	if err := p.AddQueue("q", q); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		p.read(time.Now())
	}
}
