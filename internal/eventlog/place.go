package eventlog

import "sync/atomic"

// place is a reader's position, and whether the writer waits for it to move. Both are in one
// word, so that no wake-up is lost: of a move and a question that meet, either the question
// finds the new position or the move finds the question. The zero value is position 0.
type place struct {
	word atomic.Uint64 // twice the position, and 1 more while somebody waits
}

// at returns the position.
func (p *place) at() uint64 { return p.word.Load() >> 1 }

// set begins at a position, before anybody else can look.
func (p *place) set(position uint64) { p.word.Store(position << 1) }

// advance moves on by n events and reports whether somebody waits for that.
func (p *place) advance(n int) (awaited bool) { return p.word.Add(uint64(n)<<1)&1 != 0 }

// ask returns the position and makes advance report true from now on.
func (p *place) ask() uint64 { return p.word.Or(1) >> 1 }

// answered ends what ask began.
func (p *place) answered() { p.word.And(^uint64(1)) }
