package reflector

import (
	"context"
	"errors"
	"net"
	"reflect"
	"sync/atomic"
	"time"
)

var (
	// errSilent is the cause that ends a watch whose connection may be half open.
	errSilent = errors.New("the watch may be on a lost connection")
	// errOtherConnection is the cause that ends a request which keepTo has bound to another connection.
	errOtherConnection = errors.New("the request has another connection than the watch before it")
)

// Attempt is one request of a reflector, from its beginning to its end. The source reports how far
// the request has come, so that a [Breaker] can tell a request that hangs from a watch that has
// nothing to say. If the source is no [Server], only Connected counts. On nil the methods do nothing.
// You may call them any number of times and from any goroutine; only Accepted belongs to the
// goroutine of List or Watch.
type Attempt struct {
	// Set by begin and never changed.
	b          *Breaker
	began      time.Time
	list       bool
	plain      bool // the source is no Server
	cancel     context.CancelCauseFunc
	onAccepted func() // called by Accepted, with no lock held; may be nil

	heard atomic.Bool // something came since the breaker opened

	// Guarded by b.mu.
	connected, answered bool
	conn                net.Conn      // nil before Connected, and if the source does not know it
	only                net.Conn      // the request is given up on any other connection; nil allows all
	ended               bool          // what the source reports after that is ignored
	timer               *time.Timer   // nil if there is no limit
	within              time.Duration // from Connected to Answered; zero if there is no limit
	delay               time.Duration // to wait after errSilent
}

type attemptKey struct{}

// AttemptOf returns the attempt that the context of a [Source.List] or [Source.Watch] belongs
// to, or nil if there is none.
func AttemptOf(ctx context.Context) *Attempt {
	a, _ := ctx.Value(attemptKey{}).(*Attempt)
	return a
}

// begin starts an attempt. Its context ends when the attempt ends or is given up. Accepted
// calls well, which may be nil.
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

// beginPlain starts an attempt of a source that is no Server.
func (b *Breaker) beginPlain(ctx context.Context) (context.Context, *Attempt) {
	ctx, cancel := context.WithCancelCause(ctx)
	a := &Attempt{b: b, plain: true, cancel: cancel}
	return context.WithValue(ctx, attemptKey{}, a), a
}

// Send reports that the request is about to be sent. It returns true if the request should use
// a new connection, because other requests found the server away. Only the first attempt to
// call Send after such a failure gets true.
func (a *Attempt) Send() (fresh bool) {
	if a == nil || a.plain {
		return false
	}
	b := a.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if a.ended {
		return false
	}
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

// Connected reports that the request has a connection to the server, including TLS if it uses TLS,
// and is not sent yet. Requests that share a connection name the same conn. By that the reflector
// sees that a watch which ended early was not ended by a restart of the server. conn is nil if the
// source does not know it. If a source never calls Connected, its errors have to say when there was
// no connection.
func (a *Attempt) Connected(conn net.Conn) {
	if a == nil {
		return
	}
	if conn != nil && !reflect.TypeOf(conn).Comparable() {
		conn = nil
	}
	a.b.mu.Lock()
	a.conn = conn
	if !a.plain {
		a.connected, a.b.traced = true, true
	}
	switch {
	case a.answered || a.ended || a.plain:
	case a.timer != nil:
		a.setLimit(answerLimit * time.Duration(a.b.extensions+1))
	case a.within > 0:
		a.setLimit(a.within)
	}
	other := a.only != nil && a.only != conn
	a.b.mu.Unlock()
	if other {
		a.cancel(errOtherConnection)
	}
}

// keepTo gives the request up if its connection is not conn. It is called before the request is sent.
func (a *Attempt) keepTo(conn net.Conn) { a.only = conn }

// answerWithin gives the request up if the server has not begun to answer after so long. It is called
// before the request is sent.
func (a *Attempt) answerWithin(limit time.Duration) {
	if a != nil {
		a.within = limit
	}
}

// progress is how far a request has come.
type progress struct {
	conn                net.Conn // nil if it is not known
	connected, answered bool
	traced              bool // the source would have called Connected if there had been a connection
}

// reached reports whether there was a connection to the server.
func (p progress) reached() bool { return p.connected || p.answered }

// hung reports whether there was a connection to the server and no answer.
func (p progress) hung() bool { return p.connected && !p.answered }

// progress returns how far the request has come. The request of a source that is no Server is taken to be
// answered.
func (a *Attempt) progress() progress {
	if a == nil {
		return progress{answered: true}
	}
	a.b.mu.Lock()
	defer a.b.mu.Unlock()
	return progress{conn: a.conn, connected: a.connected, answered: a.answered || a.plain, traced: a.b.traced}
}

// Answered reports that the server has begun to answer, whatever it says.
func (a *Attempt) Answered() {
	if a == nil || a.plain {
		return
	}
	a.b.mu.Lock()
	if a.answered || a.ended {
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
	a.b.letWatchGo()
	a.b.mu.Unlock()
	gone.cancel()
}

// wasUnreached reports whether there was no connection to the server for a request that failed with err. a is
// nil if the source is no Server.
func wasUnreached(a *Attempt, err error) bool {
	if p := a.progress(); p.traced {
		return !p.reached()
	}
	return isUnconnected(err)
}

// Accepted reports that the answer is not a refusal. Call it in the goroutine that called List
// or Watch.
func (a *Attempt) Accepted() {
	if a != nil && a.onAccepted != nil {
		a.onAccepted()
	}
}

// setLimit bounds the wait for the next step of the answer. The caller holds b.mu.
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
	hung := !a.answered && !a.ended
	if hung {
		a.b.stale = true
		if a.connected && a.began.After(a.b.extendedAt) {
			a.b.extensions, a.b.extendedAt = a.b.extensions+1, time.Now()
		}
		a.settle()
	}
	a.b.mu.Unlock()
	if hung {
		a.cancel(errUnanswered)
	}
}

// received records that something came.
func (a *Attempt) received() {
	if a != nil && !a.heard.Load() {
		a.heard.Store(true)
	}
}

// end ends the attempt and returns how long to wait before the next one.
func (a *Attempt) end() time.Duration {
	if a == nil {
		return 0
	}
	a.b.mu.Lock()
	a.ended = true
	a.settle()
	delete(a.b.streams, a)
	delay := a.delay
	a.b.mu.Unlock()
	a.cancel(nil)
	return delay
}
