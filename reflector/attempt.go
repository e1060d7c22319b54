package reflector

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// errSilent gives up a watch that may be on a connection that is half open.
var errSilent = errors.New("the watch may be on a lost connection")

// Attempt is one request of a reflector to a [Server], from its beginning to its end. The
// source says how far it has come, so that requests that hang while a server is away can be
// told from those that have nothing to say. All methods may be called on nil, which does
// nothing, from any goroutine and any number of times.
type Attempt struct {
	// Set by begin and never changed.
	b          *Breaker
	began      time.Time
	list       bool
	cancel     context.CancelCauseFunc
	onAccepted func() // called when it is accepted, with no lock held

	heard atomic.Bool // since the breaker opened

	// Guarded by b.mu.
	connected, answered bool
	timer               *time.Timer   // nil if there is no limit
	delay               time.Duration // to wait after errSilent
}

type attemptKey struct{}

// AttemptOf returns the attempt that a context of [Source.List] or [Source.Watch] belongs to,
// nil if there is none.
func AttemptOf(ctx context.Context) *Attempt {
	a, _ := ctx.Value(attemptKey{}).(*Attempt)
	return a
}

// begin begins an attempt. Its context ends when the attempt does, or is given up. well is
// called when it is accepted; it may be nil.
func (b *Breaker) begin(ctx context.Context, list bool, well func()) (context.Context, *Attempt) {
	ctx, cancel := context.WithCancelCause(ctx)
	a := &Attempt{b: b, began: time.Now(), list: list, cancel: cancel, onAccepted: well}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.unanswered == nil {
		b.unanswered, b.streams = map[*Attempt]struct{}{}, map[*Attempt]struct{}{}
	}
	b.unanswered[a] = struct{}{}
	return context.WithValue(ctx, attemptKey{}, a), a
}

// Send says that the request is about to be sent, and reports whether it should go through a
// connection of its own making: others found the server away. It does for one attempt of those
// that begin after that.
func (a *Attempt) Send() (fresh bool) {
	if a == nil {
		return false
	}
	b := a.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if (b.outage.away || b.suspect) && a.timer == nil && !a.answered {
		b.attempts++
		limit := connectLimit
		if b.attempts%patientEvery == 0 {
			limit = patientLimit
		}
		a.setLimit(limit)
	}
	fresh, b.stale = b.stale, false
	return fresh
}

// Connected says that there is a connection to the server, with TLS if it has TLS.
func (a *Attempt) Connected() {
	if a == nil {
		return
	}
	a.b.mu.Lock()
	defer a.b.mu.Unlock()
	if a.connected = true; a.timer != nil && !a.answered {
		a.setLimit(answerLimit * time.Duration(a.b.extensions+1))
	}
}

// Answered says that the server has begun to answer, whatever it says.
func (a *Attempt) Answered() {
	if a == nil {
		return
	}
	a.b.mu.Lock()
	if a.answered {
		a.b.mu.Unlock()
		return
	}
	a.answered = true
	a.settle()
	if !a.list {
		a.heard.Store(true)
		a.b.streams[a] = struct{}{}
	}
	gone := a.b.close(time.Now())
	a.b.mu.Unlock()
	gone.cancel()
}

// pending reports whether nothing has come from the server yet. It is false on nil.
func (a *Attempt) pending() bool {
	if a == nil {
		return false
	}
	a.b.mu.Lock()
	defer a.b.mu.Unlock()
	return !a.answered
}

// Accepted says that the answer is not a refusal. It is called in the goroutine that List or
// Watch was called in.
func (a *Attempt) Accepted() {
	if a != nil && a.onAccepted != nil {
		a.onAccepted()
	}
}

// setLimit bounds the wait for an answer. The caller holds b.mu.
func (a *Attempt) setLimit(limit time.Duration) {
	if a.timer != nil {
		a.timer.Reset(limit)
		return
	}
	a.timer = time.AfterFunc(limit, a.timeOut)
}

// settle ends the wait for an answer. The caller holds b.mu.
func (a *Attempt) settle() {
	if a.timer != nil {
		a.timer.Stop()
	}
	delete(a.b.unanswered, a)
}

// timeOut gives the attempt up. It runs in a timer's goroutine.
func (a *Attempt) timeOut() {
	a.b.mu.Lock()
	hung := !a.answered
	if hung {
		a.b.stale = true
		if a.connected && a.began.After(a.b.extendedAt) {
			a.b.extensions, a.b.extendedAt = a.b.extensions+1, time.Now()
		}
		a.settle()
	}
	a.b.mu.Unlock()
	if hung {
		a.cancel(ErrUnanswered)
	}
}

// received says that something came.
func (a *Attempt) received() {
	if a != nil && !a.heard.Load() {
		a.heard.Store(true)
	}
}

// end ends the attempt, and returns what to wait before the next one.
func (a *Attempt) end() time.Duration {
	if a == nil {
		return 0
	}
	a.b.mu.Lock()
	a.settle()
	delete(a.b.streams, a)
	delay := a.delay
	a.b.mu.Unlock()
	a.cancel(nil)
	return delay
}
