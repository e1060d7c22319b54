package events

import (
	"container/heap"
	"container/list"
	"math"
	"time"
)

const (
	firstGap, maxGap = 10 * time.Second, 5 * time.Minute // between two writes of one series
	finish           = 6 * time.Minute                   // after the last write of a series that got no further event
	firstDelay       = 500 * time.Millisecond            // after a failure
	maxDelay         = 30 * time.Second
	maxTries         = 12
	pace             = time.Second / 20 // between two requests in the long run
	burst            = 100              // requests at once
	tellEvery        = time.Minute      // reports of events that limits have dropped
)

// key tells series apart.
type key struct {
	about                      Reference
	kind, reason, action, note string
}

// series is equal events. It is in one of three places: on the table's heap if it has events that
// wait, in the list of the idle if it has none, or with the sender.
type series struct {
	key         key
	name        string // of the Event; empty before the first request
	first, last time.Time
	count       uint64    // events recorded
	sent        uint64    // the count in the request under way
	written     uint64    // the count that the server has acknowledged
	exists      bool      // the server has the Event
	doubtful    bool      // a create failed that may have been done
	refused     bool      // the server refused it: nothing is sent until it is over
	tries       int       // failures in a row
	due, end    time.Time // when it may be written, and when it is over if no event comes
	gap         time.Duration
	place       int           // on the heap
	idle        *list.Element // in the list; nil if it is not there
}

// table has the series of a recorder, and decides what is written when. It knows neither clock nor
// requests: its caller says what time it is. The fields are guarded by the lock of its owner.
type table struct {
	maxSeries, perObject int

	all     map[key]*series
	objects map[Reference]int // series of each object
	waiting dueHeap
	idle    *list.List // of *series, in the order of their last writes

	hurry    bool      // what waits is due now
	failures int       // of requests in a row
	pause    time.Time // no request before
	paid     time.Time // the time up to which the requests so far use the pace

	untold uint64 // events dropped by limits since the last report
	toldAt time.Time

	stats Stats
}

func newTable(maxSeries, perObject int) *table {
	return &table{maxSeries: maxSeries, perObject: perObject, all: map[key]*series{}, objects: map[Reference]int{}, idle: list.New()}
}

// add counts an event.
func (t *table) add(k key, now time.Time) {
	t.stats.Recorded++
	s := t.all[k]
	if s != nil && s.refused && !now.Before(s.end) {
		t.forget(s)
		s = nil
	}
	switch {
	case s != nil && s.refused:
		t.stats.Dropped.Refused++
		return
	case s != nil:
	case t.objects[k.about] >= t.perObject:
		t.stats.Dropped.PerObject++
		t.untold++
		return
	case len(t.all) >= t.maxSeries && t.idle.Len() == 0:
		t.stats.Dropped.Full++
		t.untold++
		return
	default:
		s = t.begin(k, now)
	}
	s.count++
	s.last = now
	if s.idle != nil {
		t.idle.Remove(s.idle)
		s.idle = nil
		heap.Push(&t.waiting, s)
	}
}

// begin makes a series. If the table is full, it forgets the one that was idle for the longest
// time.
func (t *table) begin(k key, now time.Time) *series {
	if len(t.all) >= t.maxSeries {
		t.forget(t.idle.Front().Value.(*series))
	}
	s := &series{key: k, first: now, due: now, gap: firstGap}
	t.all[k] = s
	t.objects[k.about]++
	heap.Push(&t.waiting, s)
	return s
}

// next returns a series to write now, which the caller must give to settle after that. Otherwise it
// returns when to ask again, and the zero time if only a new event can change something.
func (t *table) next(now time.Time) (*series, time.Time) {
	var at time.Time
	for e := t.idle.Front(); e != nil; e = t.idle.Front() {
		s := e.Value.(*series)
		if now.Before(s.end) {
			at = s.end
			break
		}
		t.forget(s)
	}
	if len(t.waiting) == 0 {
		return nil, at
	}
	if ready := t.ready(); now.Before(ready) {
		if at.IsZero() || ready.Before(at) {
			at = ready
		}
		return nil, at
	}
	s := heap.Pop(&t.waiting).(*series)
	if t.paid.Before(now) {
		t.paid = now
	}
	t.paid = t.paid.Add(pace)
	s.sent = s.count
	t.stats.Requests++
	return s, at
}

// ready returns when the first series that waits may be written.
func (t *table) ready() time.Time {
	ready := t.pause
	if t.hurry {
		return ready
	}
	for _, at := range []time.Time{t.waiting[0].due, t.paid.Add(-burst * pace)} {
		if at.After(ready) {
			ready = at
		}
	}
	return ready
}

// outcome is the result of a request.
type outcome uint8

const (
	written outcome = iota
	// failed means that the request may succeed later. A create may have been done.
	failed
	// taken means that there is an Event of this name.
	taken
	// gone means that there is no Event of this name.
	gone
	// refused means that the request will not succeed.
	refused
)

// settle takes the series back from the sender, and returns the number of events that are lost.
// after is a delay that the server asked for.
func (t *table) settle(s *series, what outcome, after time.Duration, now time.Time) (lost uint64) {
	creating := !s.exists
	if what == taken && !s.doubtful {
		s.name = "" // somebody else's: the next request takes another name
		what = failed
	}
	switch what {
	case written:
		s.exists, s.doubtful, s.tries, t.failures = true, false, 0, 0
		t.acknowledge(s, s.sent)
		t.later(s, now)
	case taken:
		// It comes from an earlier try, with a count that is not known.
		s.exists, s.doubtful = true, false
		t.acknowledge(s, max(s.written, 1))
		t.later(s, now)
		if s.idle == nil {
			s.due = now
			heap.Fix(&t.waiting, s.place)
		}
	case gone:
		s.exists, s.doubtful = false, false
		return t.again(s, now)
	case failed:
		t.stats.Failures++
		t.failures++
		s.doubtful = creating && s.name != ""
		t.pause = now.Add(max(delay(t.failures), after))
		return t.again(s, now.Add(delay(s.tries+1)))
	case refused:
		t.stats.Failures++
		t.failures = 0
		lost = s.count - s.written
		t.stats.Dropped.Refused += lost
		// To send each event of a series that is not permitted would be a request per event.
		s.refused, s.count, s.end = true, s.written, now.Add(finish)
		s.idle = t.idle.PushBack(s)
	}
	return lost
}

// acknowledge notes that the server has a count.
func (t *table) acknowledge(s *series, count uint64) {
	t.stats.Written += count - s.written
	s.written = count
}

// later puts a series back, to be written after its gap if it has events that wait.
func (t *table) later(s *series, now time.Time) {
	s.due, s.end = now.Add(s.gap), now.Add(finish)
	s.gap = min(2*s.gap, maxGap)
	if s.count > s.written {
		heap.Push(&t.waiting, s)
	} else {
		s.idle = t.idle.PushBack(s)
	}
}

// again puts a series back after a failure, and gives it up after too many.
func (t *table) again(s *series, due time.Time) (lost uint64) {
	if s.tries++; s.tries >= maxTries {
		lost = s.count - s.written
		t.stats.Dropped.GaveUp += lost
		t.forget(s)
		return lost
	}
	s.due = due
	heap.Push(&t.waiting, s)
	return 0
}

// forget removes a series that is not on the heap.
func (t *table) forget(s *series) {
	if s.idle != nil {
		t.idle.Remove(s.idle)
	}
	delete(t.all, s.key)
	if t.objects[s.key.about]--; t.objects[s.key.about] == 0 {
		delete(t.objects, s.key.about)
	}
}

// stop drops the waiting events. It returns the number of events that it
// dropped, and of those that limits have dropped since the last report.
func (t *table) stop() (lost, limited uint64) {
	for _, s := range t.all {
		lost += s.count - s.written
	}
	t.stats.Dropped.Stopped += lost
	clear(t.all)
	clear(t.objects)
	t.waiting = nil
	t.idle.Init()
	limited, t.untold = t.untold, 0
	return lost, limited
}

// tell returns the number of events to report that limits have dropped, or when to ask again.
func (t *table) tell(now time.Time) (lost uint64, at time.Time) {
	if t.untold == 0 {
		return 0, time.Time{}
	}
	if at = t.toldAt.Add(tellEvery); !t.toldAt.IsZero() && now.Before(at) {
		return 0, at
	}
	lost, t.untold, t.toldAt = t.untold, 0, now
	return lost, time.Time{}
}

// delay is the time after a number of failures in a row.
func delay(failures int) time.Duration {
	return min(firstDelay<<min(failures-1, 10), maxDelay)
}

// count32 returns a count for a field of 32 bits.
func count32(count uint64) int32 { return int32(min(count, math.MaxInt32)) }

// dueHeap has the series that is due first in front.
type dueHeap []*series

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].due.Before(h[j].due) }
func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *dueHeap) Push(s any) {
	s.(*series).place = len(*h)
	*h = append(*h, s.(*series))
}

func (h *dueHeap) Pop() any {
	last := len(*h) - 1
	s := (*h)[last]
	(*h)[last], *h = nil, (*h)[:last]
	return s
}
