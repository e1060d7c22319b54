package eventlog

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// TestPlaceMeets asks again and again while a reader moves without a pause: the first move
// after the position that a question found must find the question. If advance or ask takes
// two looks at the word, hundreds of questions are lost. It ends early once enough of them
// have met a move, which takes two processors.
func TestPlaceMeets(t *testing.T) {
	const moves, enough = 50_000_000, 10_000
	var (
		p       place
		stopped atomic.Bool
		told    = map[uint64]bool{} // positions from which a move found a question
		wg      sync.WaitGroup
	)
	wg.Go(func() {
		for at := range uint64(moves) {
			if p.advance(1) {
				told[at] = true
				if stopped.Load() {
					return
				}
			}
		}
	})
	rnd := rand.New(rand.NewPCG(1, 5))
	var found []uint64
	for len(found) < enough && p.at() < moves {
		at := p.ask()
		for n := 1; p.at() == at && at < moves; n++ {
			if n%100 == 0 {
				runtime.Gosched() // there may be one processor only
			}
		}
		p.answered()
		found = append(found, at)
		spin(rnd.IntN(100))
	}
	stopped.Store(true)
	p.ask()
	wg.Wait()
	lost := slices.DeleteFunc(found, func(at uint64) bool { return told[at] || at == moves })
	if len(lost) > 0 {
		t.Errorf("%d questions were lost, the first one at %d", len(lost), lost[0])
	}
}

func TestPlace(t *testing.T) {
	var p place
	p.set(1 << 40)
	if p.advance(3) || p.at() != 1<<40+3 {
		t.Errorf("at %d, want 3 more than 1<<40 and nobody to tell", p.at())
	}
	if at := p.ask(); at != 1<<40+3 || p.at() != at {
		t.Errorf("asked at %d, now at %d", at, p.at())
	}
	for range 2 {
		if !p.advance(1) {
			t.Error("a move did not find the question")
		}
	}
	p.answered()
	if p.advance(1) || p.at() != 1<<40+6 {
		t.Errorf("at %d after the answer", p.at())
	}
}
