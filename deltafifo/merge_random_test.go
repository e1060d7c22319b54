package deltafifo

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/reflector"
)

var (
	mergeSeeds = flag.Int("merge.seeds", 3000, "number of seeds of TestRandomMerges")
	firstMerge = flag.Uint64("merge.first", 0, "its first seed")
	mergeNo    = flag.String("merge.no", "", "the checks and steps that it leaves out, see has")
	mergeKeys  = flag.Int("merge.keys", 3, "its number of keys")
)

// state is one state of an object.
type state struct {
	key   string
	uid   int
	at    uint64
	class int
	metav1.Object
}

func (s state) GetUID() types.UID {
	if s.uid == 0 {
		return ""
	}
	return types.UID(fmt.Sprint(s.uid))
}

func (s state) GetName() string            { return s.key }
func (s state) GetNamespace() string       { return "" }
func (s state) GetResourceVersion() string { return fmt.Sprint(s.at) }
func (s state) String() string {
	return fmt.Sprintf("{%s %d at %d class %d}", s.key, s.uid, s.at, s.class)
}

// change is one change of the past; now nil for a deletion.
type change struct {
	key string
	now *state
}

// past has all changes that the server has made. A restore begins another one.
type past struct {
	changes []change // version i+1+base
	uids    int
}

func (w *past) head() uint64 { return uint64(len(w.changes)) }

// at returns all objects at a version.
func (w *past) at(v uint64) map[string]*state {
	all := map[string]*state{}
	for _, c := range w.changes[:v] {
		if c.now == nil {
			delete(all, c.key)
		} else {
			all[c.key] = c.now
		}
	}
	return all
}

// watcher is a member with its list and watch.
type watcher struct {
	*Member[string, state]
	name    string
	covered map[string]bool // nil for all
	classes map[int]bool    // nil for all

	// The reflector.
	at     uint64
	w      *past // the past that it has seen a part of; nil if it has seen nothing
	listed bool  // in this session
	first  uint64
	blind  bool // it does not notice the last restore itself
	told   bool // the Merge has asked for another reflector
	lacks  bool // its last list had an unreadable object
	ever   bool // there was a list, so the first list of a session need not be the newest

	list     uint64 // version of a list on its way; 0 none
	listOf   *past
	restored bool // the list follows a restore that the reflector has noticed
}

func (c *watcher) sends(s *state) bool {
	return s != nil && (c.covered == nil || c.covered[s.key]) && (c.classes == nil || c.classes[s.class])
}

// truths is the consumer's store.
type truths map[string]state

func (s truths) Get(key string) (state, bool)  { obj, ok := s[key]; return obj, ok }
func (s truths) Len() int                      { return len(s) }
func (s truths) All() iter.Seq2[string, state] { return maps.All(s) }

// comparing is a store that keeps unchanged objects of lists out of the queue.
type comparing struct {
	truths
	omits func() bool
}

func (c comparing) Same(_ string, known state, listed State) bool {
	return known.GetResourceVersion() == listed.ResourceVersion && known.GetUID() == listed.UID
}
func (c comparing) GetSum(key string) (state, uint64, bool) {
	obj, ok := c.Get(key)
	return obj, 0, ok
}
func (c comparing) Equal(known, listed state) bool   { return known == listed }
func (c comparing) Omits(string) bool                { return c.omits() }
func (c comparing) Brought(key string) (state, bool) { return c.Get(key) }
func (c comparing) Awaits(string) bool               { return false }
func (c comparing) Ahead() bool                      { return false }
func (c comparing) Awaited() ([]string, uint64)      { return nil, 0 }

// mergeLife is one random life of a Merge. log has what happened in it, up to the first failure.
type mergeLife struct {
	t       *testing.T
	r       *rand.Rand
	w       *past
	fifo    *DeltaFIFO[string, state]
	merge   *Merge[string, state]
	store   truths
	clients []*watcher
	n       int
	log     []string
	seen    map[string]uint64 // newest version of a key in the store so far
	backs   int
	left    map[string]uint64 // newest version of a member when it lost a key
	lost    uint64            // newest version that a restore has lost
	unknown bool              // no member was left that could notice a restore: objects may go back without a mark
	bad     bool
	ending  bool
	skipped map[string]bool // keys that a list skipped
}

func (a *mergeLife) say(f string, args ...any) {
	if !a.bad {
		a.put(f, args...)
	}
}

func (a *mergeLife) put(f string, args ...any) { a.log = append(a.log, fmt.Sprintf(f, args...)) }

func (a *mergeLife) fail(f string, args ...any) {
	if !a.bad {
		a.bad = true
		a.put("FAIL: "+f, args...)
	}
}

// begin begins a session.
func (a *mergeLife) begin() {
	var known KnownObjects[string, state] = a.store
	if a.r.IntN(2) == 0 {
		known = comparing{a.store, func() bool { return a.r.IntN(3) > 0 }}
	}
	a.fifo = New[string, state](known, Options{Limit: 1 << 20})
	a.merge.Begin(a.fifo)
	a.merge.Check()
	for _, c := range a.clients {
		c.start()
	}
}

// has reports whether the flag merge.no leaves something in: one of lacks, back, doubt, session,
// rewind, leave, orphan, refuse, late, skip.
func has(no string) bool { return !strings.Contains(*mergeNo, no) }

// join adds a member with a random selection.
func (a *mergeLife) join() {
	a.n++
	c := &watcher{name: fmt.Sprint("m", a.n)}
	if a.r.IntN(3) == 0 {
		c.covered = map[string]bool{}
		for k := range *mergeKeys {
			if a.r.IntN(2) == 0 {
				c.covered[string(rune('a'+k))] = true
			}
		}
	}
	if a.r.IntN(3) > 0 {
		c.classes = map[int]bool{}
		for k := range 3 {
			if a.r.IntN(2) == 0 {
				c.classes[k] = true
			}
		}
	}
	var covers func(string) bool
	if c.covered != nil {
		covers = func(k string) bool { return c.covered[k] }
	}
	c.Member = a.merge.Join(covers)
	c.start()
	a.clients = append(a.clients, c)
	a.say("join %s covers %v classes %v", c.name, keysIn(c.covered), keysIn(c.classes))
}

// start gives c another reflector.
func (c *watcher) start() {
	if c.list != 0 {
		c.Discard()
	}
	c.at, c.w, c.listed, c.blind, c.told, c.list = 0, nil, false, false, false, 0
	c.first = number(c.Begin(func() { c.told = true }))
}

// isLost reports whether the reflector has seen a part of a lost past, and the Merge has not asked for
// another one.
func (a *mergeLife) isLost(c *watcher) bool { return c.w != nil && c.w != a.w && !c.told }

// isUnknown follows a restore, and the end of a reflector that may have seen a lost past. It notes
// whether no member is left that could notice the restore.
func (a *mergeLife) isUnknown(is bool) {
	a.unknown = a.unknown || is && !slices.ContainsFunc(a.clients, a.isLost)
}

func keysIn[K cmp.Ordered](m map[K]bool) any {
	if m == nil {
		return "all"
	}
	return slices.Sorted(maps.Keys(m))
}

// write creates, changes or deletes a random object.
func (a *mergeLife) write() {
	k := string(rune('a' + a.r.IntN(*mergeKeys)))
	now := a.w.at(a.w.head())[k]
	at := a.w.head() + 1
	c := change{key: k}
	switch {
	case now == nil:
		a.w.uids++
		c.now = &state{key: k, uid: a.w.uids, at: at, class: a.r.IntN(3)}
	case a.r.IntN(3) > 0:
		c.now = &state{key: k, uid: now.uid, at: at, class: a.r.IntN(3)}
	}
	a.w.changes = append(a.w.changes, c)
	a.say("write %s at %d: %v", k, at, c.now)
}

var bg = context.Background()

// advance lets c get its next events, of at most so many changes.
func (a *mergeLife) advance(c *watcher, most uint64) {
	if !c.listed || c.list != 0 || a.isLost(c) && !c.blind || c.at > a.w.head() {
		return
	}
	w := min(a.w.head(), c.at+most)
	view := a.w.at(c.at)
	for v := c.at + 1; v <= w; v++ {
		ch := a.w.changes[v-1]
		old, now := view[ch.key], ch.now
		var ev reflector.Event[state]
		rv := strconv.FormatUint(v, 10)
		switch {
		case c.sends(old) && !c.sends(now):
			o := *old
			o.at = v
			ev = reflector.Event[state]{Type: reflector.Deleted, Object: o, ResourceVersion: rv}
		case !c.sends(old) && c.sends(now):
			ev = reflector.Event[state]{Type: reflector.Added, Object: *now, ResourceVersion: rv}
		case c.sends(now):
			ev = reflector.Event[state]{Type: reflector.Modified, Object: *now, ResourceVersion: rv}
		}
		if now == nil {
			delete(view, ch.key)
		} else {
			view[ch.key] = now
		}
		if ev.Type == reflector.Deleted {
			a.loses(c, ch.key, v)
		}
		if ev.Type != 0 {
			a.say("%s: %v %v at %s", c.name, ev.Type, ev.Object, rv)
			must(a.t, c.Apply(bg, ev))
		} else if v == w && a.r.IntN(2) == 0 || most > 1000 && v == w {
			a.say("%s: bookmark %s", c.name, rv)
			must(a.t, c.Apply(bg, reflector.Event[state]{Type: reflector.Bookmark, ResourceVersion: rv}))
		}
		c.at = v
	}
}

// loses notes that c loses a key at a version. If c was the only one that had brought the object,
// the store lacks it until another member has reached the version: until then, the Merge cannot
// know that the other one still has it.
func (a *mergeLife) loses(c *watcher, key string, at uint64) {
	if c.w == a.w {
		a.left[key] = max(a.left[key], at)
	}
}

// losesAll notes that c loses its objects that keeps does not report.
func (a *mergeLife) losesAll(c *watcher, at uint64, keeps func(*state) bool) {
	if !c.listed || c.w != a.w {
		return
	}
	for key, s := range c.w.at(c.at) {
		if c.sends(s) && !keeps(s) {
			a.loses(c, key, at)
		}
	}
}

// beginList chooses the version of the next list of c, as the server may.
func (a *mergeLife) beginList(c *watcher) {
	if a.w.head() == 0 {
		a.write()
	}
	low := max(c.at, c.first)
	switch {
	case c.told:
		c.start()
		low = a.w.head()
	case a.isLost(c) && !c.blind:
		c.restored, low = true, a.w.head()
		c.Rewound(true)
	case low > a.w.head(): // noticed with the answer
		c.restored, low = true, a.w.head()
	case !c.ever:
		low = a.w.head()
	}
	low = max(low, 1)
	c.list, c.listOf = low+a.r.Uint64N(a.w.head()-low+1), a.w
	if a.r.IntN(2) == 0 {
		c.list = a.w.head()
	}
	a.say("%s: a list begins at %d, restored %v", c.name, c.list, c.restored)
}

// endList hands over the list that c has begun.
func (a *mergeLife) endList(c *watcher) {
	v := c.list
	c.list = 0
	doubtful := false
	if c.restored {
		c.Rewound(true)
	} else if has("doubt") && a.r.IntN(6) == 0 {
		doubtful = true
		c.Rewound(false)
	}
	view := c.listOf.at(v)
	c.lacks = false
	var text []string
	for _, k := range slices.Sorted(maps.Keys(view)) {
		if s := view[k]; c.sends(s) && has("skip") && !a.ending && a.r.IntN(12) == 0 {
			c.lacks, a.skipped[k] = true, true
			text = append(text, fmt.Sprint("skipped ", k))
			c.Skipped(&reflector.ObjectError{Key: k, Err: errFails})
		} else if c.sends(s) {
			text = append(text, fmt.Sprint(*s))
			must(a.t, c.Listed(bg, reflector.Event[state]{Type: reflector.Added, Object: *s, ResourceVersion: strconv.FormatUint(s.at, 10)}))
		}
	}
	a.say("%s: list at %d doubtful %v: %v", c.name, v, doubtful, text)
	a.losesAll(c, v, func(s *state) bool { return c.sends(view[s.key]) })
	must(a.t, c.Replace(bg, strconv.FormatUint(v, 10)))
	was := a.isLost(c) && !c.restored
	c.at, c.w, c.listed, c.ever, c.restored, c.first, c.blind = v, c.listOf, true, true, false, 0, false
	a.isUnknown(was)
	if c.w != a.w {
		c.blind = a.r.IntN(3) == 0
	}
}

// pop commits the next batch, and checks that no object goes back.
func (a *mergeLife) pop() {
	if !a.fifo.pending.moved && a.fifo.Len() == 0 {
		// ends the batch in flight
		a.fifo.mu.Lock()
		a.fifo.processed()
		a.fifo.mu.Unlock()
		return
	}
	b, err := a.fifo.Pop(bg)
	must(a.t, err)
	var text []string
	for key, deltas := range b.All() {
		for _, d := range deltas {
			old, had := a.store[key]
			if d.Type == Deleted {
				if !had {
					a.fail("deleted %s, which is not there", key)
				}
				delete(a.store, key)
				text = append(text, fmt.Sprint(d.Type, " ", d.Object, d.FinalStateUnknown))
				continue
			}
			free := b.Rewound() || b.Doubtful() && a.lost > 0 || a.unknown
			if had && old.at > d.Object.at && !free {
				a.fail("%s goes back from %v to %v", key, old, d.Object)
			}
			if d.Object.at < a.seen[key] && !free {
				// Until it is noticed, and in what was pending at that moment.
				if has("back") && !slices.ContainsFunc(a.clients, a.isLost) && !a.merge.unmarked {
					a.fail("%s goes back from %d to %v after a deletion", key, a.seen[key], d.Object)
				}
				a.backs++
			}
			if a.isPresent(d.Object) {
				a.seen[key] = d.Object.at
			}
			a.store[key] = d.Object
			text = append(text, fmt.Sprint(d.Type, " ", d.Object))
		}
	}
	if b.Rewound() {
		clear(a.seen) // what the batch does not have may be of what was lost
		for key := range b.All() {
			if obj, ok := a.store[key]; ok && a.isPresent(obj) {
				a.seen[key] = obj.at
			}
		}
	}
	a.merge.Committed(b)
	a.say("batch %v at %q rewound %v", text, b.ResourceVersion(), b.Rewound())
}

// isPresent reports whether the server has made s since the last restore, or a backup has it.
func (a *mergeLife) isPresent(s state) bool {
	if s.at > a.w.head() {
		return false
	}
	now := a.w.changes[s.at-1].now
	return now != nil && *now == s
}

// check checks the table of the Merge. final says that all members have everything: then the store
// has exactly what they select, and nothing else is remembered.
func (a *mergeLife) check(final bool) {
	if a.bad {
		return
	}
	g := a.merge
	counts := map[string]int{}
	for m := range g.members {
		for k := range m.keys {
			counts[k]++
		}
	}
	for k, h := range g.held {
		if int(h.members) != counts[k] {
			a.fail("held %s has %+v, %d members have it", k, h, counts[k])
		}
	}
	for k := range counts {
		if _, ok := g.held[k]; !ok {
			a.fail("%s has no holding", k)
		}
	}
	if g.restore != 0 && a.lost == 0 {
		a.fail("a restore was noticed, and there was none")
	}
	if !final {
		return
	}
	truth := a.w.at(a.w.head())
	want := truths{}
	for _, s := range truth {
		for _, c := range a.clients {
			if c.sends(s) {
				want[s.key] = *s
			}
		}
	}
	if !maps.EqualFunc(want, a.store, a.isFinal) {
		a.fail("the store has %v, want %v", a.store, want)
	}
	for k, n := range counts {
		m := 0
		for _, c := range a.clients {
			if s := truth[k]; c.sends(s) {
				m++
			}
		}
		if n != m {
			a.fail("%d members hold %s, want %d", n, k, m)
		}
	}
	for k := range g.held {
		if _, ok := want[k]; !ok && len(a.clients) > 0 {
			a.fail("a leak: held %s %+v, buried %v", k, g.held[k], g.buried)
		}
	}
	if len(a.clients) > 0 && g.at != a.w.head() {
		a.fail("the version is %d, the past is at %d", g.at, a.w.head())
	}
}

// isFinal reports whether the store has the right state of an object. If nobody could notice a
// restore, it may have another change of the object that had the same version in a lost past.
func (a *mergeLife) isFinal(want, got state) bool {
	if a.unknown && want.uid == got.uid && want.at == got.at {
		got.class = want.class
	}
	return want == got
}

// checkVersion checks that the store is as new as its version says.
func (a *mergeLife) checkVersion() {
	if a.bad || a.unknown || a.merge.Waiting() || a.fifo.pending.deltas > 0 {
		return
	}
	v := a.merge.at
	if v == 0 || slices.ContainsFunc(a.clients, func(c *watcher) bool { return c.told || a.isLost(c) }) {
		return
	}
	for i := range *mergeKeys {
		k := string(rune('a' + i))
		if a.skipped[k] || !a.merge.Covers(k) || !a.merge.MayHave(k) {
			continue
		}
		got, ok := a.store[k]
		lacks := true
		for _, c := range a.clients {
			if c.covered != nil && !c.covered[k] {
				continue
			}
			l := false
			for u := v; u <= a.w.head(); u++ {
				s := a.w.at(u)[k]
				if !c.sends(s) {
					l = true
				}
			}
			if s := a.w.at(v)[k]; c.sends(s) && ok && got.at < s.at {
				a.fail("at %d the store has %v, %s has %v", v, got, c.name, *s)
			}
			lacks = lacks && l
		}
		if !ok && !lacks && a.left[k] <= v && has("lacks") {
			a.fail("at %d the store lacks %s", v, k)
		}
	}
}

// on returns a random member, nil if there is none.
func (a *mergeLife) on() *watcher {
	if len(a.clients) == 0 {
		return nil
	}
	return a.clients[a.r.IntN(len(a.clients))]
}

// run lives the life: random steps, and then all members catch up.
func (a *mergeLife) run() {
	for range a.r.IntN(6) {
		a.write()
	}
	for range 1 + a.r.IntN(3) {
		a.join()
	}
	a.begin()
	for range 60 {
		if a.bad {
			return
		}
		if n, c := a.r.IntN(100), a.on(); !a.happens(n) && c != nil {
			a.does(n, c)
		}
		a.check(false)
	}
	a.end()
}

// happens takes a step of the server, the consumer or the session, if n says so.
func (a *mergeLife) happens(n int) bool {
	switch {
	case n < 30:
		a.write()
	case n < 38:
		a.pop()
		a.checkVersion()
	case n < 40:
		if len(a.clients) < 4 {
			a.join()
		}
	case n < 41:
		if has("session") {
			a.restart()
		}
	case n < 42:
		if has("rewind") && a.w.head() > 3 {
			a.restore()
		}
	default:
		return false
	}
	return true
}

// does takes the step of the member c that n stands for.
func (a *mergeLife) does(n int, c *watcher) {
	switch {
	case n < 72:
		a.advance(c, 1+a.r.Uint64N(4))
	case n < 80:
		if c.list == 0 {
			a.beginList(c)
		}
	case n < 90:
		if c.list != 0 {
			a.endList(c)
		}
	case n < 92:
		if has("leave") && (has("orphan") || !a.isLost(c)) {
			a.say("leave %s", c.name)
			a.losesAll(c, c.at, func(*state) bool { return false })
			must(a.t, c.Leave(bg))
			a.clients = slices.DeleteFunc(a.clients, func(x *watcher) bool { return x == c })
			a.isUnknown(a.isLost(c))
		}
	case n < 94:
		if has("refuse") {
			a.say("refuse %s", c.name)
			must(a.t, c.Refuse(bg))
		}
	case has("late"):
		a.say("late %s", c.name)
		must(a.t, c.Late(bg))
	}
}

// restart ends the session and begins another one.
func (a *mergeLife) restart() {
	a.say("session")
	// A reflector of the next session knows no more than one version, and the server may have
	// overtaken it.
	a.unknown = a.unknown || slices.ContainsFunc(a.clients, a.isLost)
	a.fifo.Close()
	a.begin()
}

// restore restores the server from a backup. A list that is on its way may still come.
func (a *mergeLife) restore() {
	a.lost = max(a.lost, a.w.head())
	to := 1 + a.r.Uint64N(a.w.head()-1)
	a.say("restored to %d", to)
	clear(a.left)
	a.w = &past{changes: slices.Clone(a.w.changes[:to]), uids: a.w.uids}
	a.isUnknown(true)
	for _, c := range a.clients {
		if c.list != 0 && a.r.IntN(3) > 0 {
			c.Discard()
			c.list, c.restored = 0, false
		}
		c.blind = a.r.IntN(3) == 0
		a.say("%s is blind %v, list at %d", c.name, c.blind, c.list)
	}
}

// end lets all members catch up, and the server pass all lost versions. If nobody has noticed a
// restore, one of the members that have seen a part of the lost past notices it now.
func (a *mergeLife) end() {
	a.say("quiescence")
	a.ending = true
	a.r.Shuffle(len(a.clients), func(i, j int) { a.clients[i], a.clients[j] = a.clients[j], a.clients[i] })
	for a.write(); a.w.head() <= a.lost; {
		a.write()
	}
	for _, c := range a.clients {
		if c.list != 0 {
			a.endList(c)
		}
	}
	for range 4 {
		if i := slices.IndexFunc(a.clients, a.isLost); i >= 0 {
			a.clients[i].blind = false
		}
		for _, c := range a.clients {
			if !c.listed || c.told || c.lacks || a.isLost(c) && !c.blind {
				a.beginList(c)
				a.endList(c)
			}
		}
		for _, c := range a.clients {
			a.advance(c, 1<<40)
		}
		a.write()
	}
	for _, c := range a.clients {
		a.advance(c, 1<<40)
	}
	a.pop()
	a.pop()
	a.check(true)
}

// TestRandomMerges: members with overlapping selections list, watch, fall behind, are
// refused, come and go. A key's states never go back, not even after a deletion, and in the end the
// store has exactly what the members have.
func TestRandomMerges(t *testing.T) {
	failures, backs := 0, 0
	kinds, shortest := map[string]int{}, map[string][]string{}
	for seed := *firstMerge; seed < *firstMerge+uint64(*mergeSeeds); seed++ {
		a := &mergeLife{t: t, r: rand.New(rand.NewPCG(seed, 5)), w: &past{}, store: truths{}, seen: map[string]uint64{}, left: map[string]uint64{}, skipped: map[string]bool{}}
		a.merge = NewMerge[string, state](func(s state) (string, error) { return s.key, nil }, func(*reflector.ObjectError) {})
		a.run()
		backs += a.backs
		if a.bad {
			failures++
			last := a.log[len(a.log)-1]
			kind := strings.Join(strings.Fields(last)[:3], " ")
			if strings.Contains(last, "goes back") {
				kind = "back"
			}
			kinds[kind]++
			a.log = append([]string{fmt.Sprint("seed ", seed)}, a.log...)
			if shortest[kind] == nil || len(a.log) < len(shortest[kind]) {
				shortest[kind] = a.log
			}
		}
	}
	t.Log(backs, "times back after a deletion")
	if failures > 0 {
		t.Errorf("%d failures %v", failures, kinds)
		for _, log := range shortest {
			t.Log(strings.Join(log, "\n"))
		}
	}
}
