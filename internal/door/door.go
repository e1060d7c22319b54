// Package door decides which states of objects enter a cache: for each key the newest one that is
// known, whoever brings it: a watch, a list, or the server's answer to a write of this process.
//
// A [Door] serves one part of a collection, which has one watch; no key is in two parts. It holds no
// object, clock or goroutine, and belongs to the lock under which the cache changes. The cache asks
// it about each state, does what the [Verdict] says, and keeps the [State] beside the object.
//
// Versions order states, so a resourceVersion has to be a number
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions, KEP-5504). One
// transaction of etcd gives several objects the same version, and no object two states of one. Where
// a source has no such versions, each state of a list or watch is newer than the one before, and no
// answer to a write enters.
package door

// State says which object a state is of, how new it is, and what it contains.
type State struct {
	UID     string // empty if the source gives none: then there is one object of each key
	Version uint64 // 0 if it cannot be compared with others
	Sum     uint64 // of the bytes that the object came from; 0 if there are none
}

// Held is what the cache has under a key. The zero value is nothing.
type Held struct {
	State
	Any bool
}

// Verdict says what becomes of a state.
type Verdict uint8

const (
	// Stays: the cache stays as it is.
	Stays Verdict = iota
	// Enters: the state replaces what the cache has under the key. A deletion empties the key.
	Enters
	// Compares: uid and version are the same as in the cache's object, and no sum says that the
	// contents are, too. The state enters if the objects differ. If not, only its sum replaces the old
	// one.
	Compares
	// Aside: the state or deletion stays out until [Passed] returns the key, and enters then.
	// It takes the place of what was put aside for the key before. Nothing is aside for a key of which
	// no own write is ahead.
	Aside
)

// Door is the state of one part. The zero value is the state of an empty cache. What it does are functions
// and not methods, because the compiler makes those for each type of keys, used or not.
type Door[K comparable] struct {
	at    uint64 // the version that list and watch have reached
	made  Moment
	ahead map[K]own
	queue pending[K]
}

// Moment counts own writes. A list is compared with the cache at a moment, and what is written later is
// not in it.
type Moment uint64

// own is the newest state of a key that came from a write of this process, until list or watch have
// reached it.
type own struct {
	State
	gone   bool // this process deleted the object, and State is the last known one
	absent bool // at State.Version, the selection had no object of the key
	left   bool // because the selection has left it since
	shown  bool // list and watch are at an object of the key, so that they will bring its end
	told   bool // list or watch have said what there is under the key since the write
	stays  bool // the watch has brought a state that cannot be used, so passing says nothing
	queued bool // it is in the queue
	made   Moment
}

// At returns the version that list and watch have reached.
func At[K comparable](d *Door[K]) uint64 { return d.at }

// Event follows an event of the watch. is is the state that it brings, or the last one of an object
// that was deleted, at the version of the deletion. [Bookmark] and [Passed] follow.
func Event[K comparable](d *Door[K], key K, has Held, is State, deleted bool) Verdict {
	o, waits := d.ahead[key]
	verdict, then := o.event(waits, d.at, has, is, deleted)
	follow(d, key, o, then)
	return verdict
}

// step is what becomes of an own write.
type step uint8

const (
	none    step = iota // it is as before
	note                // it has changed
	enqueue             // it has changed, and waits to be passed again
	drop                // it is forgotten
)

// follow does a step to the own write of key, which is now o.
func follow[K comparable](d *Door[K], key K, o own, then step) {
	switch then {
	case note:
		d.ahead[key] = o
	case enqueue:
		put(d, key, o)
	case drop:
		delete(d.ahead, key)
	}
}

// event is [Event] while list and watch are at a version. o is the own write of the key if waits is set.
func (o *own) event(waits bool, at uint64, has Held, is State, deleted bool) (Verdict, step) {
	if is.Version == 0 {
		return unordered(has, is, deleted), none
	}
	then, repeated := none, is.Version < at
	if waits {
		if !o.reached(is, deleted) {
			if repeated {
				return Stays, none
			}
			o.shown, o.told = !deleted, true
			return Aside, note
		}
		then = drop
	}
	switch {
	case has.Any && has.UID == is.UID && has.Version == is.Version && !deleted:
		return contents(has, is), then
	case repeated, deleted && !has.Any:
		return Stays, then
	}
	return Enters, then
}

// reached reports whether a state that the watch brings is not older than o. A deletion that is older
// than the last state of o says that the object left the selection, and not that it ended.
func (o own) reached(is State, deleted bool) bool {
	if o.gone && !deleted {
		return is.Version > o.Version && !o.ended(is)
	}
	return is.Version >= o.Version
}

// ending reports whether the end of the object is still to come.
func (o own) ending() bool { return o.gone && o.shown }

// ended reports whether is is certainly of the object that this process deleted.
func (o own) ended(is State) bool { return o.gone && o.UID == is.UID && o.UID != "" }

// contents is the verdict on a state whose uid and version the cache has.
func contents(has Held, is State) Verdict {
	if has.Sum == is.Sum && is.Sum != 0 {
		return Stays
	}
	return Compares
}

// unordered is the verdict on a state without a version that is newer than all others.
func unordered(has Held, is State, deleted bool) Verdict {
	switch {
	case deleted && !has.Any:
		return Stays
	case deleted, !has.Any:
		return Enters
	}
	return contents(has, is)
}

// Bookmark follows a version: list or watch have brought everything up to it. [Passed] follows.
func Bookmark[K comparable](d *Door[K], version uint64) { d.at = max(d.at, version) }

// Waits returns the version of the own write of a key that list and watch have not reached, and whether
// there is one.
//
//go:noinline
func Waits[K comparable](d *Door[K], key K) (version uint64, waits bool) {
	o, waits := d.ahead[key]
	return o.Version, waits
}

// Len returns the number of own writes that list and watch have not reached.
func Len[K comparable](d *Door[K]) int { return len(d.ahead) }

// Ends reports whether the cache waits for the end of an object that this process deleted: the event
// of it matters although the cache does not have the object.
//
//go:noinline
func Ends[K comparable](d *Door[K], key K) bool { return d.ahead[key].gone || d.ahead[key].absent }

// Ending reports whether an own write says that an object ended, which the watch has shown and not
// ended yet. [Passed] never returns such a key.
//
//go:noinline
func Ending[K comparable](d *Door[K], key K) bool { return d.ahead[key].ending() }

// Told reports whether list and watch, which are at a version, have said what there is under a key since
// its own write, or have passed a deletion and not brought it. If they go on for long without the write, it
// was of a history that the server has lost: Drop it, and what was put aside enters.
func Told[K comparable](d *Door[K], key K, at uint64) bool {
	o := d.ahead[key]
	return o.told || o.ending() && o.Version <= at
}

// Unusable follows a state of a key, from list or watch, that cannot be used. It says that the object is
// in the selection: an own write of it becomes an ordinary state of the cache when it is passed, and
// what was put aside is forgotten.
func Unusable[K comparable](d *Door[K], key K) {
	if o, waits := d.ahead[key]; waits {
		o.stays = true
		d.ahead[key] = o
	}
}

// Known is what a door knows of the own write of a key, if there is one.
type Known struct{ own own }

// Version returns the version of the own write, 0 for none.
func (k Known) Version() uint64 { return k.own.Version }

// Knows returns what the door knows of the own write of a key.
//
//go:noinline
func Knows[K comparable](d *Door[K], key K) Known { return Known{d.ahead[key]} }

// Undo goes back to what the door knew of a key before [Wrote] or [Removed], because the cache
// refused the write.
//
//go:noinline
func Undo[K comparable](d *Door[K], key K, before Known) {
	if before.own.made == 0 {
		delete(d.ahead, key)
		return
	}
	before.own.queued = false // its entry may be gone
	put(d, key, before.own)
}

// Made returns the number of own writes so far.
func Made[K comparable](d *Door[K]) Moment { return d.made }

// Drop forgets an own write, because what list and watch bring has no version, or the caller knows better.
func Drop[K comparable](d *Door[K], key K) { delete(d.ahead, key) }

// Leaves reports whether what the cache has of an own write leaves when it is passed: see [Unusable].
//
//go:noinline
func Leaves[K comparable](d *Door[K], key K) bool { return !d.ahead[key].stays }

// Since reports whether the own write of a key is later than a moment.
func Since[K comparable](d *Door[K], key K, moment Moment) bool { return d.ahead[key].made > moment }

// Passed returns the keys of own writes that list or watch have passed without a state of the key. The
// objects of left are not in the selection: what the cache has under these keys, if anything, leaves as
// deletions, and what was put aside enters. The objects of stay remain, see [Unusable]. The cost is
// one comparison if there are none.
func Passed[K comparable](d *Door[K]) (left, stay []K) {
	for {
		version, key, ok := pop(&d.queue, d.at)
		if !ok {
			return left, stay
		}
		o, waits := d.ahead[key]
		if !waits || o.Version != version { // reached, or written again
			continue
		}
		then := o.pass()
		follow(d, key, o, then)
		switch {
		case then == note:
		case o.stays:
			stay = append(stay, key)
		default:
			left = append(left, key)
		}
	}
}

// pass follows the end of the queue: list and watch have come to the write.
func (o *own) pass() step {
	if o.ending() {
		o.queued = false
		return note
	}
	return drop
}

// Each calls f for each own write that list and watch have not reached.
//
//go:noinline
func Each[K comparable](d *Door[K], f func(key K, version uint64)) {
	for key, o := range d.ahead {
		f(key, o.Version)
	}
}

// Relisted begins a list that was compared with the cache at a moment: [Listed] for each key of
// which they had different states, or that had an own write then, and [Bookmark] follow. What was
// put aside for the keys returned is forgotten: for own writes until that moment, the list says what
// there is. The end of an object that it does not show is no more to come. O(own writes).
func Relisted[K comparable](d *Door[K], moment Moment) (forget []K) {
	for key, o := range d.ahead {
		if o.made > moment {
			continue
		}
		forget = append(forget, key)
		then := o.relisted()
		follow(d, key, o, then)
	}
	return forget
}

// relisted follows a list that says what there is under the key.
func (o *own) relisted() step {
	o.told = true
	if o.ending() {
		o.shown = false
		return enqueue
	}
	return note
}

// Wrote follows the server's answer to a write. is has no sum unless it is comparable with the sums of
// list and watch. What list or watch have brought of the key is put aside if the key had no own write
// before.
func Wrote[K comparable](d *Door[K], key K, has Held, is State) Verdict {
	o, waits := d.ahead[key]
	if is.Version <= d.at || waits && (o.Version >= is.Version || o.ended(is)) {
		return Stays
	}
	write(d, key, own{State: is, shown: has.Any && !waits || o.shown})
	return Enters
}

// Removed follows the deletion of an object by a request of this process, once it is gone: the answer to a
// request that leaves it to finalizers is one of [Wrote]. is is the last known state. If the object has
// changed since, left the selection and come back, it may show once more for a moment. Without a uid,
// is.Version is the deletion's or a later one. What list or watch have brought is put aside as for
// [Wrote].
func Removed[K comparable](d *Door[K], key K, has Held, is State) Verdict {
	o, waits := d.ahead[key]
	if !o.remove(waits, d.at, has, is) {
		return Stays
	}
	write(d, key, o)
	if !has.Any {
		return Stays
	}
	return Enters
}

// remove makes o the own write of a deletion, see [Removed]. It returns false if the deletion says nothing new.
func (o *own) remove(waits bool, at uint64, has Held, is State) bool {
	if is.Version == 0 || is.UID == "" && is.Version <= at || waits && (o.succeeds(is) || o.absent && o.Version >= is.Version) || has.Any && has.succeeds(is) {
		return false
	}
	if is.UID != "" && (has.UID == is.UID || has.UID == "") {
		is.Version = max(is.Version, has.Version)
	}
	*o = own{State: is, gone: is.UID != "", absent: is.UID == "", shown: has.Any && !waits || o.shown}
	return true
}

// Leave follows a change of the selection, which leaves the object of an own write. The cache has nothing under the
// key then, and no older state of the key enters before list and watch pass the write.
func Leave[K comparable](d *Door[K], key K) {
	o := d.ahead[key]
	write(d, key, own{State: State{Version: o.Version}, absent: true, left: true, shown: o.shown, told: o.told})
}

// HasLeft reports whether the selection has left the object of an own write, see [Leave].
//
//go:noinline
func HasLeft[K comparable](d *Door[K], key K) bool { return d.ahead[key].left }

// succeeds reports whether s is of a later object of the key than the one whose last state is is.
func (s State) succeeds(is State) bool {
	if is.UID == "" {
		return s.Version > is.Version
	}
	return s.UID != "" && s.UID != is.UID && s.Version >= is.Version
}

// write puts a new own write in.
func write[K comparable](d *Door[K], key K, o own) {
	d.made++
	o.made = d.made
	put(d, key, o)
}

func put[K comparable](d *Door[K], key K, o own) {
	if d.ahead == nil {
		d.ahead = map[K]own{}
	}
	queued := o.queued
	o.queued = true
	d.ahead[key] = o
	if queued {
		return
	}
	if len(d.queue) > 2*len(d.ahead) { // an object that is written over and over has many entries
		tidy(d)
	}
	push(&d.queue, o.Version, key)
}

// tidy drops the entries of the queue whose keys have been written again.
//
//go:noinline
func tidy[K comparable](d *Door[K]) {
	left := d.queue[:0]
	for _, p := range d.queue {
		if d.ahead[p.key].Version == p.version {
			left = append(left, p)
		}
	}
	clear(d.queue[len(left):])
	d.queue = left
}

// Listed follows a list, for each key of which the list and the cache have different states: listed is
// what the list has. [Relisted] begins the list, and [Bookmark] ends it: own writes that the list
// lacks stay until then.
func Listed[K comparable](d *Door[K], key K, has, listed Held) Verdict {
	o, waits := d.ahead[key]
	verdict, then := o.listed(waits, has, listed)
	follow(d, key, o, then)
	return verdict
}

// listed is [Listed]. o is the own write of the key if waits is set.
func (o *own) listed(waits bool, has, listed Held) (Verdict, step) {
	then := none
	if waits {
		if o.later(listed) {
			o.shown = listed.Any
			return Aside, enqueue
		}
		then = drop
	}
	switch {
	case !listed.Any && !has.Any:
		return Stays, then
	case listed.Any && has.Any && has.UID == listed.UID && has.Version == listed.Version:
		return contents(has, listed.State), then
	}
	return Enters, then
}

// later reports whether o is later than what a list has.
func (o own) later(listed Held) bool {
	return !listed.Any || o.ended(listed.State) || listed.Version < o.Version
}

// Rewound follows the discovery that the server was restored: no version compares with those before.
// A list follows.
func Rewound[K comparable](d *Door[K]) { *d = Door[K]{made: d.made} }
