package controller

import (
	"sync"

	"github.com/kinform/kinform/internal/note"
)

// underway are the reconciles that run, each with the events that came meanwhile. The watch may bring what a write made
// before the write is answered, so whose an event is can be told when reconcile has returned. That delays nothing,
// because the queue does not hand a key out while its reconcile runs. The zero value has none.
type underway[Q comparable] struct {
	mu   sync.Mutex
	held map[Q][]heldEvent // a key that is not there does not run
}

// heldEvent is an event that queues a key unless it is the key's own. settle says whether it is, and otherwise why it
// queues the key.
type heldEvent struct {
	settle   func() (why note.Note, own bool)
	priority int
}

// maxHeld is the number of events that a call holds. The next one queues its key.
const maxHeld = 64

func (u *underway[Q]) begin(key Q) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.held == nil {
		u.held = map[Q][]heldEvent{}
	}
	u.held[key] = nil
}

func (u *underway[Q]) end(key Q) []heldEvent {
	u.mu.Lock()
	defer u.mu.Unlock()
	held := u.held[key]
	delete(u.held, key)
	return held
}

// room reports whether the reconcile of key runs and can hold an event.
func (u *underway[Q]) room(key Q) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	held, runs := u.held[key]
	return runs && len(held) < maxHeld
}

// hold keeps an event if the reconcile of key runs. Otherwise it returns false.
func (u *underway[Q]) hold(key Q, ev heldEvent) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	held, runs := u.held[key]
	if runs {
		u.held[key] = append(held, ev)
	}
	return runs
}
