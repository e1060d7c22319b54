package leader

import (
	"errors"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/shard/internal/leases"
)

// core makes the decisions of a candidate. It is a state machine without clock, goroutine or network. A
// run (run.go) feeds it with events, and does what it says.

// moment is a reading of a candidate's clocks, and a random number for a jitter.
type moment struct {
	mono time.Duration // since the run began; it alone decides
	wall time.Time     // for people
	rand float64       // at least 0, below 1
}

// never is a time that does not come.
const never time.Duration = math.MaxInt64

// phase is a stage of a call of Lead.
type phase uint8

const (
	waiting   phase = iota // for the Lease
	leading                // work runs
	draining               // the caller wants an end: work is to return, and the Lease is kept until it has
	lost                   // the leadership is over, and work is to return
	releasing              // work has returned or was never called, and the Lease is given up
	over
)

// verb is a request about the Lease.
type verb string

const (
	verbGet    verb = "get"
	verbCreate verb = "create"
	verbPatch  verb = "patch"
)

// request is a request that is to be sent. One is under way at a time.
type request struct {
	verb  verb
	base  *Lease // the state that a patch is based on
	write record // the content that create and patch write
	limit time.Duration

	sent time.Duration
}

// event is an input of a candidate's state machine.
type event struct {
	what  happening
	lease *Lease // of an answer
	err   error  // of an answer, or of work
}

type happening uint8

const (
	woke      happening = iota // time has passed
	answered                   // the request under way has ended
	cancelled                  // the caller wants an end; at most once
	returned                   // work has returned; once, if it was called
)

// actions are the steps that follow an event.
type actions struct {
	endWork   error    // if not nil: end the context of work, for this reason
	startWork bool     // call work
	abort     bool     // end the request under way: an answer comes all the same
	send      *request // send this
	reports   []error  // for OnError
	over      bool     // nothing is under way any more
}

// core decides for one candidate, from the begin of Lead to its end.
type core struct {
	key      types.NamespacedName
	identity string
	timing   timing

	phase  phase
	result error // of Lead

	// What the server has, as far as known. since is when seen was first seen by the own clock, so
	// it is later than the write. lease has the resourceVersion for the next write, nil if there is
	// no Lease.
	known bool
	seen  record
	since time.Duration
	lease *Lease

	// own is the newest record that this candidate has certainly written, zero if there is none.
	// renewed is when it was sent, which is earlier than the write: this candidate may lead until
	// RenewDeadline after that, and others wait for LeaseDuration after they have seen it.
	own     record
	renewed time.Duration

	// unanswered are the renew times of later writes that may be carried out or not.
	unanswered []int64

	under     *request      // under way; nil means none
	next      time.Duration // when to send the next one
	stale     bool          // a write has met another state than expected: read before the next write
	conflicts int           // since the last success
	giveUp    time.Duration // when releasing ends
	aborted   bool          // the request under way was ended

	// past is of the last leadership of an earlier call of Lead. If the Lease still has a record of it, nobody can have led
	// since, and the writes of that leadership have arrived at pastOver.
	past     past
	pastOver time.Duration

	lastFailure error // of a renewal, since the last success
	strangers   int   // records with the own identity that somebody else has written
	outlived    bool  // it was reported that work goes on
}

// step handles an event.
func (c *core) step(now moment, ev event) (do actions) {
	c.watchClock(now, &do)
	switch ev.what {
	case answered:
		c.answer(now, ev, &do)
	case cancelled:
		c.cancel(now, &do)
	case returned:
		c.finish(now, ev.err, &do)
	case woke:
		if c.under == nil && now.mono >= c.next {
			c.act(now, &do)
		}
	}
	do.over = c.phase == over && c.under == nil
	return do
}

// until is the time at which the leadership ends unless the Lease is renewed.
func (c *core) until() time.Duration { return c.renewed + c.timing.renewDeadline }

// wake returns the time of the next step if no event comes before.
func (c *core) wake() time.Duration {
	at := never
	if c.under == nil && (c.phase <= draining || c.phase == releasing) {
		at = c.next
	}
	switch {
	case c.keeps():
		at = min(at, c.until())
	case c.phase == lost && !c.outlived:
		at = min(at, c.renewed+c.timing.leaseDuration)
	}
	return at
}

// keeps reports whether the Lease is to be renewed.
func (c *core) keeps() bool { return c.phase == leading || c.phase == draining }

// watchClock ends a leadership that was not renewed in time, whatever else happens.
func (c *core) watchClock(now moment, do *actions) {
	if c.keeps() && now.mono >= c.until() {
		c.lose(ErrExpired, do)
	}
	if c.phase == lost && !c.outlived && now.mono >= c.renewed+c.timing.leaseDuration {
		c.outlived = true
		do.reports = append(do.reports, &LostError{Lease: c.key, Reason: ErrOutlived, Holder: c.seen.holder})
	}
}

// lose ends the leadership.
func (c *core) lose(reason error, do *actions) {
	err := &LostError{Lease: c.key, Reason: reason, Holder: c.seen.holder, Err: c.lastFailure}
	if err.Err == nil && c.under != nil {
		err.Err = &RequestError{Lease: c.key, Verb: string(c.under.verb), Err: ErrNoAnswer}
	}
	if c.phase == leading {
		do.endWork, c.result = err, err
	} else {
		do.reports = append(do.reports, err) // the result is as for an orderly end
	}
	c.phase = lost
}

// cancel begins an orderly end.
func (c *core) cancel(now moment, do *actions) {
	switch c.phase {
	case waiting:
		c.release(now, do)
	case leading:
		c.phase = draining
	}
}

// finish takes the return of work.
func (c *core) finish(now moment, err error, do *actions) {
	switch {
	case c.result == nil:
		c.result = err
	case err != nil: // work panicked after the loss
		c.result = errors.Join(c.result, err)
	}
	if c.phase == lost { // somebody else may have the Lease
		c.phase = over
		do.abort = c.under != nil
		return
	}
	c.release(now, do)
}

// release gives the Lease up, if it is held. A request under way is ended first.
func (c *core) release(now moment, do *actions) {
	c.phase, c.conflicts = releasing, 0
	c.giveUp = now.mono + c.timing.request()
	if c.under != nil {
		c.aborted, do.abort = true, true
		return
	}
	c.act(now, do)
}

// act sends the request that is due.
func (c *core) act(now moment, do *actions) {
	switch {
	case c.phase == lost, c.phase == over:
	case c.phase == releasing && (c.own == record{} || now.mono >= c.giveUp):
		c.phase = over
	case c.phase == waiting, c.stale:
		c.send(now, request{verb: verbGet}, do)
	case c.keeps():
		c.write(now, c.renewal(now), do)
	case c.mine(c.seen):
		t := now.wall.UnixMicro()
		c.write(now, record{seconds: 1, acquired: t, renewed: t, transitions: c.seen.transitions}, do)
	default:
		c.phase = over
	}
}

// write sends a create or a patch.
func (c *core) write(now moment, r record, do *actions) {
	if r.holder != "" && r.renewed == c.seen.renewed {
		r.renewed++ // others must see a change
	}
	c.unanswered = append(c.unanswered, r.renewed)
	if c.lease == nil {
		c.send(now, request{verb: verbCreate, write: r}, do)
	} else {
		c.send(now, request{verb: verbPatch, base: c.lease, write: r}, do)
	}
}

// send sends a request, and limits it so that another one has time before the leadership ends.
func (c *core) send(now moment, r request, do *actions) {
	r.sent, r.limit = now.mono, now.mono+c.timing.request()
	switch {
	case c.keeps():
		r.limit = min(r.limit, c.until())
	case c.phase == releasing:
		r.limit = min(r.limit, c.giveUp)
	}
	c.under, do.send = &r, &r
}

// renewal is the record of the leader.
func (c *core) renewal(now moment) record {
	return record{
		holder: c.identity, seconds: c.timing.seconds(), acquired: c.own.acquired, renewed: now.wall.UnixMicro(),
		transitions: c.own.transitions,
	}
}

// takeover is the record of a new leader.
func (c *core) takeover(now moment) record {
	t := now.wall.UnixMicro()
	r := record{holder: c.identity, seconds: c.timing.seconds(), acquired: t, renewed: t, transitions: c.seen.transitions}
	if r.transitions < math.MaxInt32 {
		r.transitions++
	}
	return r
}

// answer takes the end of the request under way.
func (c *core) answer(now moment, ev event, do *actions) {
	sent, aborted := *c.under, c.aborted
	c.under, c.aborted = nil, false
	if ev.err == nil {
		ev.err = unfit(sent, ev.lease)
	}
	switch {
	case ev.err == nil && sent.verb == verbGet:
		c.read(now, ev.lease, do)
	case sent.verb == verbGet && leases.Missing(ev.err):
		c.read(now, nil, do)
	case ev.err == nil:
		c.wrote(now, sent, ev.lease, do)
	case raced(sent.verb, ev.err):
		c.raced(now)
	case aborted:
		c.act(now, do)
	default:
		c.failed(now, sent, ev.err, do)
	}
}

// pause is the time to the next request: longer by up to a fifth, so that candidates spread.
func (c *core) pause(now moment) time.Duration {
	return c.timing.retryPeriod + time.Duration(now.rand*(jitter-1)*float64(c.timing.retryPeriod))
}

// again is the time of the next try. The pauses get shorter towards the end of the leadership.
func (c *core) again(now moment) time.Duration {
	pause := c.pause(now)
	switch {
	case c.keeps():
		pause = min(pause, max((c.until()-now.mono)/2, c.timing.retryPeriod/8))
	case c.phase == releasing:
		pause = min(pause, c.giveUp-now.mono)
	}
	return now.mono + pause
}

// failed handles an error that leaves the server's state open.
func (c *core) failed(now moment, sent request, err error, do *actions) {
	c.next = c.again(now)
	if c.phase == lost || c.phase == over {
		return
	}
	c.lastFailure = &RequestError{Lease: c.key, Verb: string(sent.verb), Err: err}
	do.reports = append(do.reports, c.lastFailure)
	if c.phase == releasing {
		c.phase = over
	}
}

// raced takes a write that met another state than expected. It is no failure.
func (c *core) raced(now moment) {
	c.stale = true
	c.conflicts++
	c.next = c.again(now)
	if c.conflicts == 1 {
		c.next = now.mono
	}
}

// wrote takes a write that was carried out.
func (c *core) wrote(now moment, sent request, l *Lease, do *actions) {
	c.stale, c.conflicts, c.lastFailure, c.unanswered = false, 0, nil, nil
	c.lease, c.known, c.seen, c.since = l, true, recordOf(l), now.mono
	if sent.write.holder == "" {
		if c.phase == releasing {
			c.phase = over
		}
		c.next = now.mono + c.pause(now)
		return
	}
	c.own, c.renewed = c.seen, sent.sent
	c.next = sent.sent + c.timing.retryPeriod
	switch {
	case c.phase == releasing:
		c.act(now, do)
	case c.phase == waiting && now.mono < c.until():
		c.phase, do.startWork = leading, true
	case c.phase == waiting: // the answer came too late to lead by it
		c.write(now, c.renewal(now), do)
	}
}

// read takes the state of the Lease; nil means that there is none.
func (c *core) read(now moment, l *Lease, do *actions) {
	r := recordOf(l)
	c.stale, c.lease = false, l
	if !c.known || r != c.seen {
		if r.renewed != c.seen.renewed {
			c.notice(r, do)
		}
		c.known, c.seen, c.since = true, r, now.mono
	}
	switch mine := c.mine(r); {
	case c.phase == waiting:
		c.unanswered = nil
		c.stand(now, do)
	case c.keeps() && (mine || r.holder == ""): // nobody else can have led since, or this write fails
		c.write(now, c.renewal(now), do)
	case c.keeps() && r.holder == c.identity:
		c.lose(ErrIdentity, do)
	case c.keeps():
		c.lose(ErrTaken, do)
	case c.phase == releasing && mine:
		c.act(now, do)
	case c.phase == releasing:
		c.phase = over
	}
}

// mine reports whether this candidate has written r as a leader. The identity alone proves nothing,
// since a process of the same name may have been there before, or run beside this one.
func (c *core) mine(r record) bool {
	return c.own != record{} && r.holder == c.identity && (r.renewed == c.own.renewed || slices.Contains(c.unanswered, r.renewed))
}

// notice reports another process that uses the own identity, once it has renewed the Lease.
func (c *core) notice(r record, do *actions) {
	if c.phase != waiting || r.holder != c.identity || r == c.own || slices.Contains(c.unanswered, r.renewed) || c.past.has(r) {
		return
	}
	c.strangers++
	if c.strangers == 2 {
		do.reports = append(do.reports, &LostError{Lease: c.key, Reason: ErrIdentity, Holder: r.holder})
	}
}

// stand takes the Lease over, or waits. A Lease that is missing may have been deleted, and its
// leader may not know. So it is created without a holder, and taken like any other if that leader
// does not come back.
func (c *core) stand(now moment, do *actions) {
	free := c.free()
	switch {
	case c.seen.absent:
		c.write(now, record{seconds: c.timing.seconds()}, do)
	case now.mono >= free:
		c.write(now, c.takeover(now), do)
	default:
		c.next = min(now.mono+c.pause(now), free)
	}
}

// free is the time from which on the Lease may be taken.
func (c *core) free() time.Duration {
	switch {
	case c.seen.released():
		return c.since
	case c.past.has(c.seen):
		return c.pastOver
	}
	return c.since + max(c.timing.leaseDuration, c.seen.duration())
}

// leader is the holder, as far as known.
func (c *core) leader() string { return c.seen.holder }
