package door

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kinform/kinform/internal/longtest"
)

// object is an object on the model's server.
type object struct {
	uid       string
	version   uint64
	selected  bool // it is in the selection of the watch
	finalizer bool
	marked    bool // it waits for its finalizer
}

// change is an event of the watch.
type change struct {
	key     int
	object  object
	deleted bool
}

// history is what has happened on a server since it was last restored.
type history struct {
	objects map[int]object            // now
	past    map[uint64]map[int]object // by version
	base    uint64                    // its first version
	began   map[int]object            // the selected objects then
}

// stored is what the model's cache has under a key.
type stored struct {
	State
	object   object
	contents string
}

// kind is what can be different from world to world.
type kind struct {
	parts     int
	uids      bool // the source gives uids
	versions  bool // and versions that compare
	sums      bool // and sums of lists and events
	bookmarks bool
	ownSums   bool // answers to writes have comparable sums
}

// world is a server, a cache that follows it, and what has to hold after each step.
type world struct {
	t    *testing.T
	rand *rand.Rand
	kind
	trace []string

	rv, made   uint64
	definition int // of the objects: it makes other contents of a state
	history
	restored bool           // and nobody has noticed
	lost     int            // number of histories that nobody has seen but this process, in answers to its writes
	keys     map[string]int // of all objects, by uid
	stale    map[int]bool   // keys whose own write, ahead, is of such a history

	parts   []part
	waited  bool // an own write was ahead when a verdict was asked for
	cache   map[int]stored
	aside   map[int]stored // what stays out until a version at which there was nothing
	pending []func()       // answers on their way
	defined bool           // the definition has changed since the last list

	last [5]uint64 // versions of the last own writes, by key
	// By uid.
	written map[string]uint64 // the newest version of an own write whose answer came
	removed map[string]bool   // by this process, and the answer came
	absent  map[string]bool   // the object ended, or left the selection, at some time
}

// part is one watch with its door.
type part struct {
	Door[int]
	log  []change // of its keys
	pos  int      // the watch brings log[pos] next
	seen int      // it has brought log[:seen]
}

func newWorld(t *testing.T, seed uint64) *world {
	r := rand.New(rand.NewPCG(seed, 1))
	w := &world{t: t, rand: r, cache: map[int]stored{}, aside: map[int]stored{}, written: map[string]uint64{}, removed: map[string]bool{}, absent: map[string]bool{}, stale: map[int]bool{}, keys: map[string]int{}}
	w.kind = kind{parts: 1 + r.IntN(3), uids: r.IntN(6) > 0, versions: r.IntN(8) > 0, sums: r.IntN(3) > 0, bookmarks: r.IntN(3) > 0, ownSums: r.IntN(2) > 0}
	w.history = history{objects: map[int]object{}, past: map[uint64]map[int]object{1: {}}, base: 1, began: map[int]object{}}
	w.rv = 1
	w.parts = make([]part, w.kind.parts)
	return w
}

func (w *world) note(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf(format, args...))
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	for _, line := range w.trace[max(0, len(w.trace)-400):] {
		w.t.Log(line)
	}
	w.t.Fatalf("%+v: "+format, append([]any{w.kind}, args...)...)
}

func (w *world) part(key int) *part { return &w.parts[key%len(w.parts)] }

func (w *world) contents(o object) string { return fmt.Sprint(o, w.definition) }

// state is what the source says of an object.
func (w *world) state(o object, summed bool) State {
	var s State
	if w.uids {
		s.UID = o.uid
	}
	if w.versions {
		s.Version = o.version
	}
	if summed {
		s.Sum = 1
		for _, c := range w.contents(o) {
			s.Sum = s.Sum*31 + uint64(c)
		}
	}
	return s
}

// held is what the cache has under a key, before a verdict on it.
func (w *world) held(key int) Held {
	_, w.waited = Waits(&w.part(key).Door, key)
	s, any := w.cache[key]
	return Held{State: s.State, Any: any}
}

// listed is what a list has under a key.
func (w *world) listed(objects map[int]object, key int) Held {
	o, any := objects[key]
	if !any {
		return Held{}
	}
	return Held{State: w.state(o, w.sums), Any: true}
}

// carryOut does what a verdict says. anew: the cache may go back, because the server was restored.
func (w *world) carryOut(v Verdict, key int, is State, o object, deleted, anew bool) {
	w.t.Helper()
	old, had := w.cache[key]
	w.note("  at %d, ahead %v: key %d: %v, had %v %v, is %v deleted %v", At(&w.part(key).Door), w.part(key).ahead, key, v, had, old, is, deleted)
	switch {
	case v == Aside && deleted:
		delete(w.aside, key)
		return
	case v == Aside:
		w.aside[key] = stored{State: is, object: o, contents: w.contents(o)}
		return
	case v == Stays:
		if _, waits := Waits(&w.part(key).Door, key); !waits {
			delete(w.aside, key)
		}
		return
	}
	if _, waits := Waits(&w.part(key).Door, key); !waits {
		delete(w.aside, key)
	} else if !w.waited && had {
		w.aside[key] = old
	}
	switch {
	case deleted && !had:
		w.fail("key %d: deletion of nothing", key)
	case deleted:
		delete(w.cache, key)
		return
	case v == Compares && !had:
		w.fail("key %d: compared with nothing", key)
	case v == Compares && old.contents == w.contents(o):
		old.State.Sum = is.Sum
		w.cache[key] = old
		return
	case had && w.versions && !anew && o.version < old.object.version:
		w.fail("key %d goes back: %v to %v", key, old.object, o)
	case had && old.object == o && old.contents == w.contents(o):
		w.fail("key %d: an event for what is there: %v", key, o)
	}
	w.cache[key] = stored{State: is, object: o, contents: w.contents(o)}
}

// set makes o the state of key at the present version; a zero object is none.
func (w *world) set(key int, o object) {
	old, had := w.objects[key]
	if had && (old.uid != o.uid || !o.selected) {
		w.absent[old.uid] = true
	}
	if o.uid != "" && !o.selected {
		w.absent[o.uid] = true
	}
	var c *change
	switch {
	case o.uid != "" && o.selected:
		c = &change{key: key, object: o}
	case had && old.selected:
		old.version = w.rv
		c = &change{key: key, object: old, deleted: true}
	}
	if delete(w.objects, key); o.uid != "" {
		w.objects[key] = o
	}
	w.past[w.rv] = maps.Clone(w.objects)
	if c != nil {
		w.note("server: %+v", *c)
		w.part(key).log = append(w.part(key).log, *c)
	}
}

// write changes one object, or two by one transaction. own: this process does it.
func (w *world) write(own bool) {
	key := w.rand.IntN(5)
	w.rv++
	o, exists := w.objects[key]
	o.version = w.rv
	removed, ended := false, w.rv
	switch n := w.rand.IntN(8); {
	case !exists:
		w.made++
		o = object{uid: fmt.Sprint("u", w.made), version: w.rv, selected: w.rand.IntN(4) > 0, finalizer: w.rand.IntN(4) == 0}
		w.keys[o.uid] = key
		w.set(key, o)
	case o.marked && n < 4: // the finalizer goes, and the object with it
		answer := o
		if w.rand.IntN(2) == 0 {
			answer.version = w.objects[key].version
		}
		w.set(key, object{})
		o = answer
	case n < 2 && o.finalizer && !o.marked:
		o.marked = true
		w.set(key, o)
	case n < 2 && !o.finalizer:
		o.version = w.objects[key].version // the answer to a deletion has the last state, or says nothing
		if c := w.cache[key].object; c.uid == o.uid && w.uids && !w.absent[o.uid] && w.rand.IntN(2) == 0 {
			o.version = min(o.version, c.version)
		}
		removed = true
		w.set(key, object{})
		if other := (key + 1) % 5; !own && w.objects[other].uid != "" && w.rand.IntN(2) == 0 {
			w.set(other, object{})
		}
	case n < 4:
		o.selected = !o.selected
		w.set(key, o)
	default:
		w.set(key, o)
	}
	if own {
		w.last[key] = ended
		lost := w.lost
		w.answer(func() { w.answered(key, o, removed, ended, w.lost != lost) })
	}
}

// answered follows the answer to an own write. lost: of a history that nobody else has seen.
func (w *world) answered(key int, o object, removed bool, ended uint64, lost bool) {
	p := w.part(key)
	is := w.state(o, w.sums && w.ownSums)
	counts := !w.restored && w.versions && !lost && !w.stale[key]
	w.note("answer: key %d %+v removed %v", key, o, removed)
	if lost {
		defer w.spoil(key)
	}
	if removed && !w.uids && w.versions {
		is.Version = ended
		if w.last[key] == ended && w.rand.IntN(2) == 0 {
			is.Version = w.rv // of a list that followed
		}
	}
	if w.rand.IntN(8) == 0 {
		w.refused(key, is, removed)
		return
	}
	if has := w.cache[key].State; removed && w.uids && has.UID == is.UID && has.Version >= is.Version && is.Version > 0 && w.rand.IntN(2) == 0 {
		is.Version = 1 + w.rand.Uint64N(is.Version) // the cache knows the last state
	}
	if removed {
		w.removed[o.uid] = w.removed[o.uid] || counts && w.uids
		w.carryOut(Removed(&p.Door, key, w.held(key), is), key, is, o, true, false)
		return
	}
	if counts {
		w.written[o.uid] = max(w.written[o.uid], o.version)
	}
	w.carryOut(Wrote(&p.Door, key, w.held(key), is), key, is, o, false, w.restored)
}

// refused follows an answer that the cache refuses, if it is to enter: nothing has changed then.
func (w *world) refused(key int, is State, removed bool) {
	p := w.part(key)
	before, had := p.ahead[key]
	known := Knows(&p.Door, key)
	if removed {
		Removed(&p.Door, key, w.held(key), is)
	} else {
		Wrote(&p.Door, key, w.held(key), is)
	}
	w.note("  refused: key %d", key)
	Undo(&p.Door, key, known)
	after, has := p.ahead[key]
	if before.queued, after.queued = false, false; before != after || had != has {
		w.fail("key %d: %v ahead before a write that was refused, %v after it", key, before, after)
	}
}

// spoil notes that an own write of a key is of a lost history, if it is ahead. Until list and watch are past
// it, reads may miss other writes of the key.
func (w *world) spoil(key int) {
	if !w.part(key).has(key) {
		return
	}
	w.stale[key] = true
	maps.DeleteFunc(w.written, func(uid string, _ uint64) bool { return w.keys[uid] == key })
	maps.DeleteFunc(w.removed, func(uid string, _ bool) bool { return w.keys[uid] == key })
}

// has reports whether an own write of a key is ahead.
func (p *part) has(key int) bool {
	_, waits := Waits(&p.Door, key)
	return waits
}

// answer brings an answer now or later.
func (w *world) answer(f func()) {
	if w.rand.IntN(2) == 0 {
		f()
	} else {
		w.pending = append(w.pending, f)
	}
}

// late brings one of the answers that are on their way.
func (w *world) late() {
	if len(w.pending) > 0 {
		n := w.rand.IntN(len(w.pending))
		f := w.pending[n]
		w.pending = slices.Delete(w.pending, n, n+1)
		f()
	}
}

// deliver brings the next event, or a bookmark.
func (w *world) deliver(p *part) {
	if w.restored {
		return // the watch is silent, or has broken
	}
	if p.pos == len(p.log) {
		if w.bookmarks && w.versions {
			w.note("bookmark at %d", w.rv)
			Bookmark(&p.Door, w.rv)
			w.leave(p)
			w.checkEnding(p)
		}
		return
	}
	c := p.log[p.pos]
	p.pos++
	repeated := p.pos <= p.seen
	p.seen = max(p.seen, p.pos)
	is := w.state(c.object, w.sums)
	w.note("event: %+v", c)
	w.carryOut(Event(&p.Door, c.key, w.held(c.key), is, c.deleted), c.key, is, c.object, c.deleted, false)
	if p.has(c.key) && !repeated && !Told(&p.Door, c.key, 0) {
		w.fail("an event has told of key %d", c.key)
	}
	Bookmark(&p.Door, is.Version)
	w.leave(p)
	w.checkEnding(p)
}

func (w *world) leave(p *part) {
	left, _ := Passed(&p.Door)
	for _, key := range left {
		w.note("passed: key %d", key)
		if o := w.cache[key].object; w.objects[key] == o && o.selected && w.aside[key].object != o {
			w.fail("key %d leaves, and the server has it: %v", key, o)
		}
		w.withdraw(key)
	}
}

// checkAhead makes sure that the cache has the own writes which are ahead.
func (w *world) checkAhead() {
	for n := range w.parts {
		for key, o := range w.parts[n].ahead {
			if s, any := w.cache[key]; !o.gone && !o.absent && (!any || s.State.Version != o.Version) {
				w.fail("key %d: %v is ahead, and the cache has %v", key, o, s)
			}
		}
	}
}

// checkEnding makes sure that list and watch tell of each deletion that they have passed.
func (w *world) checkEnding(p *part) {
	for key, o := range p.ahead {
		if o.Version <= At(&p.Door) && !Told(&p.Door, key, At(&p.Door)) {
			w.fail("list and watch are past the own write of key %d, and do not tell: %v", key, o)
		}
	}
}

// withdraw takes an own write back.
func (w *world) withdraw(key int) {
	Drop(&w.part(key).Door, key)
	delete(w.cache, key)
	if s, any := w.aside[key]; any {
		w.cache[key] = s
	}
	delete(w.aside, key)
}

// expire withdraws the own writes of a part whose time is over, if list and watch have gone on without them:
// that they are lost is certain in the model.
func (w *world) expire(p *part) {
	for key := range 5 {
		if w.stale[key] && p.has(key) && Told(&p.Door, key, At(&p.Door)) {
			w.note("expired: key %d", key)
			w.withdraw(key)
		}
	}
}

// resume repeats events, as a watch that begins early does.
func (w *world) resume(p *part) {
	if w.versions {
		p.pos -= w.rand.IntN(min(3, p.pos) + 1)
	}
}

// at returns the objects of a part after log[:to], and a version of which that is true.
func (w *world) at(p *part, to int) (objects map[int]object, version uint64) {
	objects, version = map[int]object{}, w.base
	for key, o := range w.began {
		if w.part(key) == p {
			objects[key] = o
		}
	}
	for _, c := range p.log[:to] {
		if version = c.object.version; c.deleted {
			delete(objects, c.key)
		} else {
			objects[c.key] = c.object
		}
	}
	for to < len(p.log) && p.log[to].object.version == version {
		return w.at(p, to+1) // a list has the whole of a transaction
	}
	return objects, version
}

// list lists a part at some time since the last event.
func (w *world) list(p *part, anew bool) {
	if w.restored {
		return
	}
	to := len(p.log)
	if w.versions {
		to -= w.rand.IntN(len(p.log) - p.seen + 1)
	}
	objects, version := w.at(p, to)
	for p.pos = to; p.pos < len(p.log) && p.log[p.pos].object.version <= version; {
		p.pos++
	}
	p.seen = p.pos
	if version = max(version, At(&p.Door)); !w.versions {
		version = 0
	}
	if to == len(p.log) && w.versions {
		version = w.rv
	}
	w.note("list at %d: %v", version, objects)
	for _, key := range Relisted(&p.Door, Made(&p.Door)) {
		delete(w.aside, key)
	}
	for key := range 5 {
		if w.part(key) != p {
			continue
		}
		has, listed := w.held(key), w.listed(objects, key)
		if _, waits := Waits(&p.Door, key); !waits && (has == listed && (listed.Sum != 0 || w.cache[key].contents == w.contents(objects[key])) || !has.Any && !listed.Any) {
			continue // the cache does not ask about what it has
		} else if waits && !has.Any && !listed.Any {
			continue
		}
		w.carryOut(Listed(&p.Door, key, has, listed), key, listed.State, objects[key], !listed.Any, anew)
		if p.has(key) && !Told(&p.Door, key, 0) {
			w.fail("a list has told of key %d", key)
		}
	}
	Bookmark(&p.Door, version)
	w.leave(p)
}

// restore brings the server back to an earlier version. Answers of before may still come.
func (w *world) restore() {
	if !w.versions {
		return
	}
	version := w.base + w.rand.Uint64N(w.rv-w.base+1)
	objects, known := w.past[version]
	for !known {
		version--
		objects, known = w.past[version]
	}
	w.note("restored to %d", version)
	w.rv, w.base, w.restored = version, version, true
	w.objects = maps.Clone(objects)
	w.past = map[uint64]map[int]object{version: maps.Clone(objects)}
	w.began = map[int]object{}
	for key, o := range objects {
		if o.selected {
			w.began[key] = o
		}
	}
	for n := range w.parts {
		w.parts[n].log, w.parts[n].pos, w.parts[n].seen = nil, 0, 0
	}
	w.lost++
	clear(w.written)
	clear(w.stale)
	clear(w.removed)
}

// lose brings the server back to an earlier version, which no list or watch has passed. So they go on, and
// notice nothing. Own writes of after that version are lost. Their answers may still come.
func (w *world) lose() {
	if !w.versions || w.restored {
		return
	}
	version := w.base
	for n := range w.parts {
		version = max(version, At(&w.parts[n].Door))
	}
	version += w.rand.Uint64N(w.rv - version + 1)
	for known := false; !known; {
		if _, known = w.past[version]; !known {
			version--
		}
	}
	for n := range w.parts {
		if version < At(&w.parts[n].Door) {
			return
		}
	}
	w.note("lost all from %d to %d", version+1, w.rv)
	w.rv, w.objects = version, maps.Clone(w.past[version])
	maps.DeleteFunc(w.past, func(at uint64, _ map[int]object) bool { return at > version })
	for n := range w.parts {
		p := &w.parts[n]
		for len(p.log) > p.seen && p.log[len(p.log)-1].object.version > version {
			p.log = p.log[:len(p.log)-1]
		}
		p.pos = min(p.pos, len(p.log))
		for key := range 5 {
			o := p.ahead[key]
			w.stale[key] = w.stale[key] || o.Version > version || o.gone && o.UID == w.objects[key].uid
		}
	}
	w.lost++
	clear(w.written)
	clear(w.removed)
}

// notice finds that the server was restored. One part does, and all list.
func (w *world) notice() {
	if !w.restored {
		return
	}
	w.restored = false
	for n := range w.parts {
		Rewound(&w.parts[n].Door)
		clear(w.aside)
		w.list(&w.parts[n], true)
	}
}

// check is what holds after each step: reads have what this process wrote, and have not what it
// deleted.
func (w *world) check() {
	if w.restored {
		return
	}
	w.checkAhead()
	read := map[string]uint64{}
	for key, s := range w.cache {
		if read[s.object.uid] = s.object.version; w.removed[s.object.uid] {
			w.fail("key %d: %v is read after its own deletion", key, s.object)
		}
	}
	for key := range w.stale {
		if !w.part(key).has(key) {
			delete(w.stale, key)
		}
	}
	for uid, version := range w.written {
		if got, any := read[uid]; any && got < version || !any && !w.absent[uid] {
			w.fail("%s: read %d %v after own write %d", uid, got, any, version)
		}
	}
}

// settle lets all come to an end, and compares the cache with the server.
func (w *world) settle() {
	for len(w.pending) > 0 {
		w.late()
		w.check()
	}
	w.notice()
	for n := range w.parts {
		p := &w.parts[n]
		for p.pos < len(p.log) {
			w.deliver(p)
			w.check()
		}
		w.deliver(p) // a bookmark
	}
	for n := range w.parts {
		p := &w.parts[n]
		for key := range p.ahead {
			if w.bookmarks && !w.stale[key] {
				w.fail("an own write of key %d is left over: %v", key, p.ahead[key])
			}
		}
		if w.defined || Len(&p.Door) > 0 {
			w.list(p, false)
			w.expire(p)
		}
		if Len(&p.Door) > 0 {
			w.fail("own writes of %v are left over", p.ahead)
		}
	}
	for key := range 5 {
		o, s := w.objects[key], w.cache[key]
		if !o.selected && s.object.uid == "" {
			continue
		}
		if o != s.object || s.contents != w.contents(o) || s.State.Version != w.state(o, false).Version {
			w.fail("key %d: the cache has %+v, the server %+v", key, s, o)
		}
	}
}

// TestModel has random worlds: after each step, reads have own writes and nothing goes back; in the
// end, the cache has what the server has, and nothing is left over.
func TestModel(t *testing.T) {
	rounds := longtest.N(10_000, 1_000_000)
	first := rand.Uint64N(1 << 40)
	for round := range rounds {
		w := newWorld(t, first+uint64(round))
		w.note("seed %d", first+uint64(round))
		for range 5 + w.rand.IntN(60) {
			p := &w.parts[w.rand.IntN(len(w.parts))]
			switch n := w.rand.IntN(45); {
			case n < 8:
				w.write(false)
			case n < 18:
				w.write(true)
			case n < 28:
				w.deliver(p)
			case n < 33:
				w.late()
			case n < 35:
				w.list(p, false)
			case n < 36:
				w.lose()
			case n < 37:
				w.expire(p)
			case n < 41:
				w.resume(p)
			case n < 42:
				w.definition++
				w.defined = true
			case n < 43 && w.rand.IntN(4) == 0:
				w.restore()
			default:
				w.notice()
			}
			w.check()
		}
		w.settle()
	}
}

// The selection leaves the object of an own write: no older state of the key enters until it is passed, and a newer
// write is one like any other.
func TestLeave(t *testing.T) {
	var d Door[string]
	Bookmark(&d, 10)
	Wrote(&d, "a", Held{State: State{UID: "u", Version: 5}, Any: true}, State{UID: "u", Version: 30})
	Leave(&d, "a")
	if version, waits := Waits(&d, "a"); version != 30 || !waits || !HasLeft(&d, "a") || Len(&d) != 1 {
		t.Fatalf("version %d, waits %t, left %t, %d ahead", version, waits, HasLeft(&d, "a"), Len(&d))
	}
	if got := Event(&d, "a", Held{}, State{UID: "u", Version: 20}, false); got != Aside {
		t.Errorf("an older state: %d", got)
	}
	Bookmark(&d, 30)
	if left, stay := Passed(&d); len(left) != 1 || len(stay) != 0 || Len(&d) != 0 {
		t.Errorf("passed: %v left, %v stay, %d ahead", left, stay, Len(&d))
	}
	Wrote(&d, "a", Held{}, State{UID: "u", Version: 40})
	Leave(&d, "a")
	if got := Wrote(&d, "a", Held{}, State{UID: "v", Version: 50}); got != Enters || HasLeft(&d, "a") {
		t.Errorf("a newer write: %d, left %t", got, HasLeft(&d, "a"))
	}
}

// A version has one state of a key. If the cache has that of another object, the one that the watch or a list brings
// replaces it, whatever they contain.
func TestAnotherObjectEnters(t *testing.T) {
	has := Held{State: State{UID: "u", Version: 5}, Any: true}
	is := State{UID: "v", Version: 5}
	var d Door[string]
	if got := Event(&d, "a", has, is, false); got != Enters {
		t.Errorf("an event: %d", got)
	}
	if got := Listed(&d, "a", has, Held{State: is, Any: true}); got != Enters {
		t.Errorf("a list: %d", got)
	}
}

// A deletion that names an older state keeps all out that the cache knows to be before the end: the object left the
// selection and came back meanwhile.
func TestRemovedAtOlderState(t *testing.T) {
	var d Door[string]
	Bookmark(&d, 5)
	Wrote(&d, "a", Held{State: State{UID: "u", Version: 5}, Any: true}, State{UID: "u", Version: 8})
	if got := Removed(&d, "a", Held{State: State{UID: "u", Version: 8}, Any: true}, State{UID: "u", Version: 5}); got != Enters {
		t.Errorf("the deletion: %d", got)
	}
	if got := Event(&d, "a", Held{}, State{UID: "u", Version: 7}, true); got != Aside {
		t.Errorf("the object leaves the selection: %d", got)
	}
	if got := Event(&d, "a", Held{}, State{UID: "u", Version: 8}, false); got != Aside {
		t.Errorf("the object comes back: %d", got)
	}
	if got := Event(&d, "a", Held{}, State{UID: "u", Version: 9}, true); got != Stays || Len(&d) != 0 {
		t.Errorf("the end: %d, %d ahead", got, Len(&d))
	}
}

// This process deletes what has left the selection. If list and watch are at the object, only its end lets go.
func TestRemovedAfterLeave(t *testing.T) {
	var d Door[string]
	Bookmark(&d, 10)
	Wrote(&d, "a", Held{State: State{UID: "u", Version: 5}, Any: true}, State{UID: "u", Version: 30})
	Leave(&d, "a")
	if got := Removed(&d, "a", Held{}, State{UID: "u", Version: 31}); got != Stays || !Ending(&d, "a") {
		t.Errorf("the deletion: %d, waits for the end: %t", got, Ending(&d, "a"))
	}
	Bookmark(&d, 35)
	if left, _ := Passed(&d); len(left) > 0 {
		t.Errorf("%v are passed", left)
	}
	is := State{UID: "u", Version: 31}
	if got := Listed(&d, "a", Held{}, Held{State: is, Any: true}); got != Aside {
		t.Errorf("the object comes back with a list: %d", got)
	}
}

// A deletion without a UID is one, too: its end matters.
func TestEndsWithoutUID(t *testing.T) {
	var d Door[string]
	Removed(&d, "a", Held{}, State{Version: 20})
	if !Ends(&d, "a") {
		t.Error("no end")
	}
}
