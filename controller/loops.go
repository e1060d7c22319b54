package controller

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/controller/internal/loops"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/fieldpaths"
	"github.com/kinform/kinform/internal/keytext"
	"github.com/kinform/kinform/internal/logs"
	"github.com/kinform/kinform/internal/note"
)

// Loop is a key whose reconcile goes on for ever: see [Controller.Loops].
type Loop struct {
	// Key is the text of the key, as in logs.
	Key string
	// Text says what goes on, such as "412 reconciles in 5m0s, 409 after deployments.apps prod/shop changed
	// metadata.annotations.at, written by this controller". Names in it are printable, and there are no values.
	Text string
	// At is when it was found.
	At time.Time
}

// Loops returns the keys that were found in a loop in the last hour, sorted by their texts. In a loop, each reconcile is
// called because of what the one before it wrote, or because another writer undid that. Each loop is also logged to
// Options.Logger at level Warn, once an hour.
//
// A key is found after 16 such reconciles in a row. Resyncs, retries, [Again] and keys that are added by hand do not
// count, and neither do writes other than through handles with the context of reconcile.
//
// If others write the object, too, each write may have another reason: an event of an object that reconcile does not
// write again, or a change of more than the object's metadata and status. It also may if there is more than a minute
// between the writes. After such a write in the row, only a field that others undo, and that gets the same values again,
// makes a loop. So others who answer each write with another spec are not found.
//
// Two things are progress for 1,000 reconciles: a number that goes one way, such as the partition of a rollout, and a text
// of the status that is new each time, such as a cursor. Nobody can tell such a text from a hash. A time is no cursor, and
// neither is a text in a condition, or in the rest of the object.
//
// A reconcile that writes nothing costs 0.1 µs for that, and no allocation. A controller looks at 1,000 keys. If more
// write, it forgets one with few such reconciles in a row, and never one that was found in the last hour.
func (c *Controller[Q]) Loops() []Loop { return loopsOf(c.loops) }

func loopsOf(d *loops.Detector) (all []Loop) {
	for _, l := range d.Loops(time.Now()) {
		all = append(all, Loop{l.Key, loopText(l.Loop), l.At})
	}
	slices.SortFunc(all, func(a, b Loop) int { return cmp.Compare(a.Key, b.Key) })
	return all
}

// loopText says what goes on in a loop.
func loopText(l loops.Loop) string {
	what := cmp.Or(l.Path, "something that the cache does not show")
	how := "written by this controller"
	switch {
	case l.Fight:
		how = "which others change, too"
	case l.Answered:
		how += " and answered by others"
	}
	return fmt.Sprintf("%d reconciles in %v, %d after %s changed %s, %s", l.Reconciles, l.Time.Round(time.Second), l.Rounds, l.Object, what, how)
}

// madeByCall are the writes of a call of reconcile. The zero value has none.
type madeByCall struct {
	some atomic.Bool // all is set
	mu   sync.Mutex  // reconcile may write in several goroutines
	all  *callWrites
}

type callWrites struct {
	writes loops.Writes
	fields []loops.Field
}

// take returns the writes so far, nil for none. What still writes with the context gets its own.
func (m *madeByCall) take() *callWrites {
	if !m.some.Load() {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.all
	m.all = nil
	return all
}

// objectState is a state of an object.
type objectState struct {
	resource string
	key      types.NamespacedName
	version  string
}

// objectHash returns the hash of an object.
func objectHash(seed maphash.Seed, resource string, key types.NamespacedName) uint64 {
	return maphash.Comparable(seed, objectState{resource, key, "all versions"})
}

// changed is a write that may have changed an object.
type changed struct {
	key       types.NamespacedName
	base, now string // versions
	was       any    // what reads had before, nil for nothing
}

// noteMade notes a write for the detector of loops, if it is a reconcile's. The cache has what the write made.
func noteMade(ctx context.Context, through subject, w *changed, cache requestCache) {
	call := callOf(ctx)
	if call == nil || w.base == w.now {
		return
	}
	resource, _ := keytext.Resource(through.resource())
	m, d, hash := call.made()
	object := objectHash(d.Seed, resource, w.key)
	of := func(version string) uint64 { return maphash.Comparable(d.Seed, objectState{resource, w.key, version}) }
	var fields []loops.Field
	if w.was != nil && d.Suspects(hash, time.Now()) {
		if is, _, version, _ := cache.shown(w.key); version == w.now || version == "" {
			fields = changedFields(d.Seed, object, keytext.Printable(resource+" "+keytext.Of(w.key)), w, is)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil {
		m.all = &callWrites{}
		m.some.Store(true)
	}
	m.all.writes.Add(loops.Write{Object: object, Base: of(w.base), Made: of(w.now)})
	m.all.fields = append(m.all.fields, fields...)
}

// changedFields returns the fields that a write has changed. is has its result, and name is the object's.
func changedFields(seed maphash.Seed, object uint64, name string, w *changed, is any) (all []loops.Field) {
	hash := func(value any) uint64 { return fieldpaths.Hash(seed, value) }
	fieldpaths.Each(w.was, is, func(path string, old, now any) {
		if path == "metadata.generation" || path == fieldpaths.More {
			return
		}
		_, number := now.(json.Number)
		all = append(all, loops.Field{
			Of: object, Object: name, Path: path, Old: hash(old), New: hash(now), Step: stepOf(path, old, now),
			Progress: number || within(path, "status"),
		})
	})
	if len(all) == 0 {
		all = append(all, loops.Field{Of: object, Object: name, Old: hash(w.base), New: hash(w.now)})
	}
	return all
}

// stepOf says which way a number has gone. One that is not there is 0. An observed generation only follows what is
// written. A token goes up.
func stepOf(path string, old, now any) int {
	if isToken(path, now) {
		return 1
	}
	was, wasNumber := old.(json.Number)
	is, isNumber := now.(json.Number)
	if (old != nil && !wasNumber) || (now != nil && !isNumber) || strings.HasSuffix(path, "observedGeneration") {
		return 0
	}
	before, _ := was.Float64() // 0 for ""
	after, _ := is.Float64()
	return cmp.Compare(after, before)
}

// isToken reports whether a value may be a cursor whose next value nobody can foresee: a text of the status, outside
// conditions, that is no time.
func isToken(path string, value any) bool {
	text, ok := value.(string)
	return ok && within(path, "status") && !strings.Contains(path, ".conditions[") && !isTime(text)
}

// isTime reports whether a text begins with a date, or is a time in one of the older formats.
func isTime(text string) bool {
	if _, err := time.Parse(time.DateOnly, text[:min(len(text), len(time.DateOnly))]); err == nil {
		return true
	}
	for _, layout := range []string{time.RFC1123, time.RFC1123Z, time.RFC850, time.UnixDate, time.ANSIC} {
		if _, err := time.Parse(layout, text); err == nil {
			return true
		}
	}
	return false
}

// within reports whether a path is that of a member of the object, or of a part of it.
func within(path, member string) bool {
	rest, ok := strings.CutPrefix(path, member)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// judge has the detector of loops look at a call that has ended, and logs the loop that it shows.
func judge(call anyCall, notes *note.Notes, to logs.Log) {
	made, d, hash := call.made()
	all := made.take()
	if all == nil {
		d.Idle(hash)
		return
	}
	c := &loops.Call{Key: hash, Events: notes.All()&note.Event != 0, Writes: all.writes, Fields: all.fields, Now: time.Now(), Name: call.name()}
	c.Own = c.Events && notes.All()&ownKey != 0
	for _, is := range notes.Newest() {
		c.Events = c.Events && caused(is)
	}
	if l, found := d.Ended(c); found {
		to.KeyError(c.Name, "reconcile runs in a loop", errors.New(loopText(l)))
	}
}

// byOthers reports whether a note is of a change that the reconcile of the key has not made.
func byOthers(is note.Note) bool { return caused(is) && is&ownKey == 0 }

// hear tells the detector of loops of a change by others for which a key is queued.
func hear(d *loops.Detector, hash uint64, c Cause) {
	key, ok := keytext.Parse(c.Key)
	d.Hear(hash, objectHash(d.Seed, c.Resource, key), !ok || changesMore(&c))
}

// changesMore reports whether the event of a cause has changed more of an object than its metadata and status, or that is
// not known.
func changesMore(c *Cause) bool {
	if typeOf(c.note) != informer.Updated || c.note&isReplaced != 0 || c.Old == "" {
		return true
	}
	return slices.ContainsFunc(c.Changed(), func(path string) bool { return !within(path, "metadata") && !within(path, "status") })
}
