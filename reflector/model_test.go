package reflector

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
)

// The model of the fault tests is a history that is written before the test begins: what
// the server has at a moment follows from the clock alone, so that a seed always plays
// out in the same way.

// thing is an object of the model, without metadata.
type thing struct {
	key string
	val int
}

func (o thing) model() thing { return o }

// namedThing is a thing with metadata.
type namedThing struct {
	metav1.ObjectMeta
	thing
}

// modelObject is what the objects of the model are for a reflector.
type modelObject interface{ model() thing }

func bareThing(c change) thing { return c.obj }

func withMetadata(c change) *namedThing {
	namespace, name, _ := strings.Cut(c.obj.key, "/")
	return &namedThing{thing: c.obj, ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID(strconv.Itoa(c.uid)), ResourceVersion: strconv.Itoa(c.rv),
	}}
}

// selects reports whether a list with the options has the object of a key.
func selects(opts metav1.ListOptions, key string) bool {
	namespace, name, _ := strings.Cut(key, "/")
	return fields.ParseSelectorOrDie(opts.FieldSelector).Matches(fields.Set{"metadata.namespace": namespace, "metadata.name": name})
}

// poison is a key whose object no client can decode.
const poison = "ns/poison"

// change is one write to the server.
type change struct {
	at  time.Duration // after the beginning
	rv  int
	typ EventType // zero for a write to another collection, which only moves rv
	obj thing
	uid int // of the object
}

// history is all that is ever written, oldest first, and when old versions are dropped.
type history struct {
	changes     []change
	compactions []compaction
	faultsEnd   time.Duration // from here on the servers are well and honest
	lastChange  time.Duration
}

type compaction struct {
	at time.Duration
	rv int // everything before is dropped
}

// newHistory makes a history. With transactions, some changes to different objects share a
// version, as etcd gives all changes of a transaction one.
func newHistory(r *rand.Rand, transactions bool) *history {
	h := &history{faultsEnd: time.Duration(60+r.IntN(600)) * time.Second}
	h.lastChange = h.faultsEnd + 30*time.Second
	var times []time.Duration
	for range 20 + r.IntN(180) {
		at := time.Duration(r.Int64N(int64(h.lastChange)))
		for range 1 + r.IntN(1+r.IntN(5)) { // a burst at one moment
			times = append(times, at)
		}
	}
	slices.Sort(times)
	keys := []string{"ns/a", "ns/b", "ns/c", "ns/d", "ns/e", "ns/f", "ns/g", poison}
	uids := map[string]int{}      // of the objects that exist
	rv := 90                      // so that versions get a digit longer on the way
	together := map[string]bool{} // keys of the changes at version rv
	for i, at := range times {
		c := change{at: at, obj: thing{key: keys[r.IntN(len(keys))], val: i}}
		if !transactions || i == 0 || at != times[i-1] || together[c.obj.key] || r.IntN(3) > 0 {
			rv += 1 + r.IntN(3)
			clear(together)
		}
		c.rv, together[c.obj.key] = rv, true
		switch {
		case r.IntN(10) == 0:
			c.obj = thing{}
		case uids[c.obj.key] == 0:
			c.typ, c.uid, uids[c.obj.key] = Added, rv, rv
		case r.IntN(3) == 0:
			c.typ, c.uid, uids[c.obj.key] = Deleted, uids[c.obj.key], 0
		default:
			c.typ, c.uid = Modified, uids[c.obj.key]
		}
		h.changes = append(h.changes, c)
	}
	for range r.IntN(10) {
		at := time.Duration(r.Int64N(int64(h.faultsEnd)))
		back := r.IntN(10)
		h.compactions = append(h.compactions, compaction{at, h.rvAfter(max(0, h.count(at)-back))})
	}
	return h
}

// count is the number of changes up to a moment.
func (h *history) count(at time.Duration) int {
	n, _ := slices.BinarySearchFunc(h.changes, at+1, func(c change, at time.Duration) int { return int(c.at - at) })
	return n
}

// rvAfter is the server's version after the first n changes.
func (h *history) rvAfter(n int) int {
	if n == 0 {
		return 90
	}
	return h.changes[n-1].rv
}

// after is the number of changes up to version rv.
func (h *history) after(rv int) int {
	n, _ := slices.BinarySearchFunc(h.changes, rv+1, func(c change, rv int) int { return c.rv - rv })
	return n
}

// changesAt is the number of changes of version rv.
func (h *history) changesAt(rv int) int { return h.after(rv) - h.after(rv-1) }

// compacted is the oldest version that is left at a moment.
func (h *history) compacted(at time.Duration) int {
	rv := 0
	for _, c := range h.compactions {
		if c.at <= at {
			rv = max(rv, c.rv)
		}
	}
	return rv
}

// content is what the server has after the first n changes: the last change of each key.
func (h *history) content(n int) map[string]change {
	all := map[string]change{}
	for _, c := range h.changes[:n] {
		switch c.typ {
		case Added, Modified:
			all[c.obj.key] = c
		case Deleted:
			delete(all, c.obj.key)
		}
	}
	return all
}

// sorted is the content in the order of a list.
func (h *history) sorted(n int) []change {
	all := h.content(n)
	var list []change
	for _, key := range slices.Sorted(maps.Keys(all)) {
		list = append(list, all[key])
	}
	return list
}
