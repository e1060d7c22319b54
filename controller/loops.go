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
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/controller/internal/loops"
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
// count, and neither do writes other than through handles with the context of reconcile. A reconcile that writes
// nothing costs 0.1 µs for that, and no allocation. A controller looks at the 1,000 keys that wrote last.
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
	mu  sync.Mutex // reconcile may write in several goroutines
	all *callWrites
}

type callWrites struct {
	writes loops.Writes
	fields []loops.Field
}

// objectState is a state of an object.
type objectState struct {
	resource string
	key      types.NamespacedName
	version  string
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
	resource, _, _ := strings.Cut(through.resource(), " ") // "pods in namespace prod"
	m, d, hash := call.made()
	of := func(version string) uint64 { return maphash.Comparable(d.Seed, objectState{resource, w.key, version}) }
	var fields []loops.Field
	if w.was != nil && d.Suspects(hash, time.Now()) {
		if is, _, version, _ := cache.shown(w.key); version == w.now || version == "" {
			fields = changedFields(d.Seed, resource, w, is)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil {
		m.all = &callWrites{}
	}
	m.all.writes.Add(loops.Write{Object: of("all versions"), Base: of(w.base), Made: of(w.now)})
	m.all.fields = append(m.all.fields, fields...)
}

// changedFields returns the fields that a write has changed. is has its result.
func changedFields(seed maphash.Seed, resource string, w *changed, is any) (all []loops.Field) {
	object := keytext.Printable(resource + " " + keytext.Of(w.key))
	hash := func(value any) uint64 {
		text, _ := json.Marshal(value) // it was JSON
		return maphash.Bytes(seed, text)
	}
	fieldpaths.Each(w.was, is, func(path string, old, now any) {
		if path == "metadata.generation" || path == fieldpaths.More {
			return
		}
		_, number := now.(json.Number)
		all = append(all, loops.Field{
			Object: object, Path: path, Old: hash(old), New: hash(now),
			Progress: number || path == "status" || strings.HasPrefix(path, "status."),
		})
	})
	if len(all) == 0 {
		all = append(all, loops.Field{Object: object, Old: hash(w.base), New: hash(w.now)})
	}
	return all
}

// judge has the detector of loops look at a call that has ended.
func (c *Controller[Q]) judge(call *callContext[Q]) {
	made, d, hash := call.made()
	made.mu.Lock()
	all := made.all
	made.all = nil // what still writes with the context gets its own
	made.mu.Unlock()
	if all == nil {
		d.Idle(hash)
		return
	}
	report(d, c.logger, calledFor(hash, keytext.Of(call.from.key), all, &call.notes))
}

// calledFor returns a call of reconcile for the detector. notes are its causes.
func calledFor(hash uint64, key string, made *callWrites, notes *note.Notes) *loops.Call {
	c := &loops.Call{Key: hash, Name: key, Writes: made.writes, Fields: made.fields, Now: time.Now(), Events: notes.Adds() > 0, Own: true}
	for _, is := range notes.Newest() {
		c.Events = c.Events && caused(is)
		c.Own = c.Own && is&ownKey != 0
	}
	return c
}

// report logs the loop that a call shows.
func report(d *loops.Detector, to logs.Log, c *loops.Call) {
	if l, found := d.Ended(c); found {
		to.KeyError(c.Name, "reconcile goes in a loop", errors.New(loopText(l)))
	}
}
