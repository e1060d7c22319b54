// Package loops finds keys whose reconcile goes on for ever: each call is made because of what the call before it wrote,
// or because another writer undid that. It has no clock and no goroutine.
//
// It counts rounds. A round is a call that only events have caused, and that writes an object which the call before has
// written, too: no resync, no retry, no delay. There are two kinds. In an own round, all events were results of what
// calls of the key have written, and nobody else has written the object meanwhile. In an answered round somebody has.
//
// Counting costs one look into a bounded table. From some rounds in a row on, the detector asks for more: see Suspects and
// Hears. The fields that the writes change tell a loop from progress, such as a rollout. And if there is news among the
// causes, which may be the reason of the writes, only a fight is a loop: others undo each time what the key writes again.
package loops

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kinform/kinform/internal/fieldpaths"
)

const (
	// suspectAfter is the number of rounds in a row after which fields are looked at.
	suspectAfter = 8
	// hearAfter is the number after which news is heard: that among the causes of the first look comes before the call.
	hearAfter = suspectAfter - 1
	// window is the number of looks that decide.
	window = 8
	// pause is how long a loop is not reported again. Rounds that are further apart are not in a row.
	pause = time.Hour
	// answer is how far answered rounds may be apart. Those that take longer come of something else.
	answer = time.Minute
	// steps is the number of rounds for which a number that goes one way, or a cursor, is progress.
	steps = 1000
	// maxKeys bounds the keys that a detector knows.
	maxKeys = 1000
	// maxWrites bounds the objects that a call writes and the detector knows.
	maxWrites = 8
	// maxFields bounds the fields of a key that are compared.
	maxFields = 64
)

// Write is what a call has made of an object. The members are hashes.
type Write struct {
	Object     uint64
	Base, Made uint64 // the version that it replaced, and the version that it made
}

// Writes are the writes of a call, one for each of the first objects. The zero value has none.
type Writes struct {
	made [maxWrites]Write
	n    int
}

// Add adds a write. Several writes of an object are one, unless there is somebody else's between them.
func (w *Writes) Add(is Write) {
	if had := w.of(is.Object); had != nil {
		if had.Made != is.Base {
			had.Base = 0 // of nobody
		}
		had.Made = is.Made
		return
	}
	if w.n < maxWrites {
		w.made[w.n] = is
		w.n++
	}
}

// of returns the write of an object, nil if there is none.
func (w *Writes) of(object uint64) *Write {
	for i := range w.made[:w.n] {
		if w.made[i].Object == object {
			return &w.made[i]
		}
	}
	return nil
}

// Call is a call of reconcile that has ended and has written something.
type Call struct {
	Key uint64 // a hash
	// Events says that only events have caused it, and Own that these were all results of what calls of the key wrote.
	Events, Own bool
	Writes      Writes
	Fields      []Field // that the writes changed, if the key was suspect
	Now         time.Time
	Name        string // of the key, for people
}

// Field is a field that a write changed.
type Field struct {
	Of uint64 // the object, as in Write
	// Object and Path name the field, for people.
	Object, Path string
	// Old and New are hashes of its value before and after.
	Old, New uint64
	// Step says how a number has changed: 1 is up and -1 is down. It is 1 for a text that may be a cursor, and 0 for other
	// values.
	Step int
	// Progress says that a new value each time is no sign of a loop if others write the object, too: it is a number, or a
	// part of the status.
	Progress bool
}

// Loop describes a loop.
type Loop struct {
	// Reconciles is the number of calls in Time. Rounds is the number of those that wrote the object of the field again.
	Reconciles, Rounds int
	Time               time.Duration
	// Object and Path name the field that keeps the loop going.
	Object, Path string
	// Fight says that others change the field, too. Answered says that others change the object after each write.
	Fight, Answered bool
}

// Detector finds the loops of a controller's keys. Make one with New. Its methods may be called from any goroutine;
// calls about one key come one after the other.
type Detector struct {
	// Seed is for the hashes.
	Seed maphash.Seed

	mu   sync.Mutex
	keys map[uint64]*key
	near atomic.Int32 // number of the keys that are near
}

// New returns a detector.
func New() *Detector { return &Detector{Seed: maphash.MakeSeed()} }

// key is what a detector knows about a key.
type key struct {
	wrote    Writes // of the last call that wrote
	answered bool   // the kind of the rounds in a row
	row      int    // rounds in a row
	began    time.Time
	last     time.Time // the last round
	calls    int       // since began
	rounds   int       // since began
	news     bool      // among the causes since the row or the looks began
	stepped  int       // rounds in a row that were progress of a number or a cursor
	looks    int
	fields   map[fieldName]*history // of the looks; nil before the first

	name     string
	loop     Loop
	reported time.Time // when loop was; zero for never
	near     bool      // has hearAfter rounds in a row, and loop was not reported a short time ago
}

type fieldName struct{ object, path string }

// history is how the value of a field has changed in the looks.
type history struct {
	last     int // the last look that found it changed
	looks    int // that found it changed
	back     int // times at which it got a value that it had before
	undone   int // times at which somebody else had changed it meanwhile
	up, down int // times at which a number, or a cursor, went there
	progress bool
	recent   fieldpaths.Recent
}

// Suspects reports whether the detector needs the fields of a write.
func (d *Detector) Suspects(hash uint64, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := d.keys[hash]
	return k != nil && k.row >= suspectAfter && !k.resting(now)
}

// Listens reports whether Hears may be true of a key. It is cheap enough for each event.
func (d *Detector) Listens() bool { return d.near.Load() > 0 }

// Hears reports whether Hear needs the changes by others that queue a key: one that says something new is enough for a
// round.
func (d *Detector) Hears(hash uint64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := d.keys[hash]
	return k != nil && k.near && !k.news
}

// Hear gets an object that others have changed, for which a key is queued. more says that they have changed more of it
// than its metadata and status, or that not all is known.
func (d *Detector) Hear(hash, object uint64, more bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if k := d.keys[hash]; k != nil {
		k.news = k.news || more || k.wrote.of(object) == nil
	}
}

// Idle counts a call that has written nothing.
func (d *Detector) Idle(hash uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := d.keys[hash]
	if k == nil {
		return
	}
	k.calls++
	if !k.answered {
		k.row, k.stepped = 0, 0 // there is nothing more to do
		d.mark(k, false)
	}
}

// mark notes whether a key is near.
func (d *Detector) mark(k *key, near bool) {
	switch {
	case near && !k.near:
		d.near.Add(1)
	case k.near && !near:
		d.near.Add(-1)
	}
	k.near = near
}

// Ended counts a call. It returns the loop that the key is in if that is to be reported.
func (d *Detector) Ended(c *Call) (loop Loop, found bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := d.keys[c.Key]
	if k == nil {
		k = d.keep(c.Key, c.Now)
	}
	k.calls++
	before := k.wrote
	k.wrote = c.Writes
	if answered, round := c.round(&before); round {
		k.count(answered, c.Now)
		if k.row > suspectAfter && !k.resting(c.Now) {
			k.see(c, &before)
			loop, found = k.decide(c)
		}
		d.mark(k, k.row >= hearAfter && !k.resting(c.Now))
	}
	return loop, found
}

// round says whether a call is a round, and of which kind.
func (c *Call) round(before *Writes) (answered, round bool) {
	if !c.Events {
		return false, false
	}
	again := false
	for _, now := range c.Writes.made[:c.Writes.n] {
		again = again || before.of(now.Object) != nil
		answered = answered || c.answered(before, now.Object)
	}
	return answered, answered || again && c.Own
}

// answered reports whether others have changed an object between a write of the call before and one of this call.
func (c *Call) answered(before *Writes, object uint64) bool {
	was, is := before.of(object), c.Writes.of(object)
	return was != nil && is != nil && was.Made != is.Base
}

// count counts a round.
func (k *key) count(answered bool, now time.Time) {
	gap := now.Sub(k.last)
	apart := k.answered != answered || gap > pause || gap < -pause
	if apart {
		k.stepped = 0
	}
	if apart || k.row == 0 {
		k.answered, k.row, k.news, k.looks, k.fields = answered, 0, false, 0, nil
		if !k.resting(now) {
			k.began, k.calls, k.rounds = now, 1, 0
		}
	}
	k.news = k.news || k.row > 0 && answered && gap > answer
	k.row++
	k.rounds++
	k.last = now
}

// resting reports whether a loop was reported a short time ago.
func (k *key) resting(now time.Time) bool {
	gap := now.Sub(k.reported)
	return !k.reported.IsZero() && gap < pause && gap > -pause
}

// keep adds a key and returns it. If there are too many, it forgets one of a few with the fewest rounds in a row, but none
// with a loop that was reported a short time ago. If there is no other, it does not add the key.
func (d *Detector) keep(hash uint64, now time.Time) *key {
	if d.keys == nil {
		d.keys = map[uint64]*key{}
	}
	if len(d.keys) < maxKeys {
		d.keys[hash] = &key{}
		return d.keys[hash]
	}
	last, k := d.least(now)
	if k == nil {
		return &key{}
	}
	d.mark(k, false)
	delete(d.keys, last)
	*k = key{}
	d.keys[hash] = k
	return k
}

// least returns the one of a few keys that has the fewest rounds in a row, nil if there are only keys with a loop that was
// reported a short time ago.
func (d *Detector) least(now time.Time) (hash uint64, least *key) {
	n := 0
	for at, k := range d.keys { // in random order
		if k.resting(now) {
			continue
		}
		if least == nil || k.row < least.row {
			hash, least = at, k
		}
		if n++; n == 8 {
			break
		}
	}
	return hash, least
}

// see adds a look. In an answered round, only the objects that others have changed count.
func (k *key) see(c *Call, before *Writes) {
	if k.fields == nil {
		k.fields = map[fieldName]*history{}
	}
	k.looks++
	for _, f := range c.Fields {
		answered := c.answered(before, f.Of)
		if k.answered && !answered {
			continue
		}
		is := fieldName{f.Object, f.Path}
		h := k.fields[is]
		if h == nil {
			if len(k.fields) == maxFields {
				continue
			}
			h = &history{progress: f.Progress}
			k.fields[is] = h
		}
		if h.last != k.looks {
			h.last = k.looks
			h.looks++
		}
		h.see(f, answered)
	}
}

// see adds a change. answered says that others have changed the object before it.
func (h *history) see(f Field, answered bool) {
	if last, ok := h.recent.Last(); answered && ok && last != f.Old {
		h.undone++
	}
	if h.recent.Add(f.New) {
		h.back++
	}
	switch f.Step {
	case 1:
		h.up++
	case -1:
		h.down++
	}
}

// decide returns the loop that the looks show. There must be enough of them.
func (k *key) decide(c *Call) (loop Loop, found bool) {
	if k.looks < window {
		return Loop{}, false
	}
	steps := k.steps()
	is, fight, found := k.culprit(steps)
	k.looks, k.fields, k.news = 0, nil, false
	if !found {
		if k.stepped += k.row; !steps {
			k.stepped = 0
		}
		k.row = 0 // it is progress: the next rounds are not looked at
		return Loop{}, false
	}
	k.loop = Loop{
		Reconciles: k.calls, Rounds: k.rounds, Time: c.Now.Sub(k.began),
		Object: is.object, Path: is.path, Fight: fight, Answered: k.answered,
	}
	k.name, k.reported = c.Name, c.Now
	k.began, k.calls, k.rounds = c.Now, 0, 0
	return k.loop, true
}

// steps reports whether the looks are progress because a number goes one way, or a cursor never comes back.
func (k *key) steps() bool {
	if k.stepped >= steps {
		return false
	}
	for _, h := range k.fields {
		if most := max(h.up, h.down); most >= window/2 && most == h.up+h.down && h.back == 0 && h.undone == 0 {
			return true
		}
	}
	return false
}

// culprit returns the field that keeps the loop going: others change it, too, or it is different each time, or, in own
// rounds, it gets the values that it had. steps says that the looks are progress.
func (k *key) culprit(steps bool) (is fieldName, fight, found bool) {
	for name, h := range k.fields {
		fights, back := h.undone >= window/2, h.back >= window/2
		alone := h.looks == window && !(k.answered && h.progress) || back && !k.answered
		guilty := fights && (back || !k.news) || alone && !k.news && !steps
		better := !found || fights && !fight || fights == fight && name.object+name.path < is.object+is.path
		if guilty && better {
			is, fight, found = name, fights, true
		}
	}
	return is, fight, found
}

// Reported is a key with the loop that was reported last, and when.
type Reported struct {
	Key string
	Loop
	At time.Time
}

// Loops returns the loops that were reported in the last hour, in no order.
func (d *Detector) Loops(now time.Time) (all []Reported) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, k := range d.keys {
		if k.resting(now) {
			all = append(all, Reported{k.name, k.loop, k.reported})
		}
	}
	return all
}
