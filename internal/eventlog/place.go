package eventlog

import "sync/atomic"

// place is a reader's position, and whether the writer waits for it to move. Both are in one atomic
// word, so that no wake-up is lost: of a concurrent ask and advance, either ask returns the new
// position or advance returns true. The zero value is position 0.
type place struct {
	word atomic.Uint64 // twice the position, plus 1 while the writer waits
}

// at returns the position.
func (p *place) at() uint64 { return p.word.Load() >> 1 }

// set sets the first position. Call it before the place is shared.
func (p *place) set(position uint64) { p.word.Store(position << 1) }

// advance moves the position by n events, and reports whether the writer waits for a move.
func (p *place) advance(n int) (awaited bool) { return p.word.Add(uint64(n)<<1)&1 != 0 }

// ask returns the position and makes advance report true from now on.
func (p *place) ask() uint64 { return p.word.Or(1) >> 1 }

// answered makes advance report false again.
func (p *place) answered() { p.word.And(^uint64(1)) }
