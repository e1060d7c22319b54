package informer

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/kinform/kinform/internal/door"
	"github.com/kinform/kinform/internal/eventlog"
	"github.com/kinform/kinform/internal/keytext"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// This file finds the own writes that list and watch do not reach.

// ownFor is the time after which an own write that list and watch have not reached counts as lost.
// The watch of an idle resource brings a bookmark every minute, so a longer delay means that
// something is wrong.
const ownFor = 2 * time.Minute

// expect sets a timer for a write. Called with mu held.
func expect[K comparable, T any](p *part[K, T], w *dueWrite[K]) {
	o := &p.own
	if len(o.due) >= 2*door.Len(&o.door) { // as long as most of them are ahead, they come off in takeDue
		n := 0
		for from := range o.due {
			if ownWaits(o, &o.due[from]) {
				o.due[n] = o.due[from]
				n++
			}
		}
		clear(o.due[n:])
		o.due = o.due[:n]
	}
	o.due = append(o.due, *w)
	if o.timer == nil {
		o.timer = time.AfterFunc(ownFor, func() { expireOwn(p) })
	}
}

// resumeOwn waits for the writes that were ahead at the end of the run before. Called with mu held.
func resumeOwn[K comparable, T any](p *part[K, T]) {
	until := time.Now().Add(ownFor)
	door.Each(&p.own.door, func(key K, version uint64) {
		expect(p, &dueWrite[K]{key: key, version: version, until: until})
	})
}

// restOwn ends the wait for own writes at the end of Run. The door still knows them: the first list of
// the next Run takes none of them back. Called with mu held.
func restOwn[K comparable, T any](p *part[K, T]) {
	o := &p.own
	if o.timer != nil {
		o.timer.Stop()
	}
	o.due, o.timer = nil, nil
}

// expireOwn reports the writes that are due.
func expireOwn[K comparable, T any](p *part[K, T]) {
	i := p.inf
	i.mu.Lock()
	if i.phase != phaseRunning {
		i.mu.Unlock()
		return
	}
	s := present(&i.base)
	s.run.Add(1) // Run waits for the report
	lost, failed := takeDue(p, time.Now())
	eventlog.Publish(&i.log)
	i.mu.Unlock()
	defer s.run.Done()
	reportLost(&i.base, lost)
	for _, bad := range failed {
		badObject(&i.base, bad)
	}
}

// takeDue returns the writes that are due and still ahead. They are due again after some time. If list and
// watch have told of a lost one, and have gone on without it, it was of a history that the server has lost:
// it is undone. Called with mu held.
func takeDue[K comparable, T any](p *part[K, T], now time.Time) (lost []*LostWriteError, failed []*reflector.ObjectError) {
	o, at := &p.own, reached(p)
	var undone []K
	for len(o.due) > 0 && !o.due[0].until.After(now) {
		due := &o.due[0]
		o.due = o.due[1:]
		if !ownWaits(o, due) {
			continue
		}
		due.gone = door.Ends(&o.door, due.key)
		if door.HasLeft(&o.door, due.key) {
			due.lost = true // nobody misses it
		} else if report := lose(p, due); !due.lost {
			lost = append(lost, report)
		}
		if due.told && at > due.at {
			undone = append(undone, due.key)
			continue
		}
		if due.lost = true; !due.told {
			due.told, due.at = door.Told(&o.door, due.key, at), at
		}
		due.until = now.Add(ownFor)
		o.due = append(o.due, *due)
	}
	for _, key := range undone {
		failed = withdraw(p, key, failed)
	}
	forgetOwn(o, undone...)
	o.timer = nil
	if len(o.due) > 0 {
		o.timer = time.AfterFunc(o.due[0].until.Sub(now), func() { expireOwn(p) })
	} else {
		o.due = nil
	}
	sortLost(lost)
	return lost, failed
}

// lose notes that a write is lost, or still is. Called with mu held.
func lose[K comparable, T any](p *part[K, T], w *dueWrite[K]) *LostWriteError {
	i := p.inf
	if len(i.losses) == maxOwn {
		i.losses = slices.Clone(i.losses[maxOwn/2:])
	}
	i.losses = append(i.losses, w.key)
	if i.lost.times.Add(1); !w.lost {
		i.lost.once.Add(1)
	}
	return lostWrite(w.key, w.version, w.gone)
}

func lostWrite(key any, version uint64, gone bool) *LostWriteError {
	return &LostWriteError{Key: keytext.Of(key), ResourceVersion: strconv.FormatUint(version, 10), Deleted: gone}
}

// lostOf returns the writes that the list of a restored server does not have. What was recorded after
// that list was compared with the store leaves the store. Called with mu held.
func lostOf[K comparable, T any](p *part[K, T], ahead []dueWrite[K]) (lost []*LostWriteError) {
	for n := range ahead {
		w := &ahead[n]
		has := held(p.inf, w.key)
		stored := has.Any && has.Version == w.version
		switch {
		case stored && w.late:
			_ = commitAhead(p.inf, &store.Op[K, T]{Key: w.key, Delete: true}, "", false) // the store is open while the informer runs
		case stored, w.gone && !has.Any:
			continue
		}
		lost = append(lost, lose(p, w))
	}
	sortLost(lost)
	return lost
}

func sortLost(lost []*LostWriteError) {
	slices.SortFunc(lost, func(a, b *LostWriteError) int { return cmp.Compare(a.Key, b.Key) })
}

func reportLost(i *base, all []*LostWriteError) {
	for _, lost := range all {
		lost.Resource = i.name
		report(i, lost)
	}
}
