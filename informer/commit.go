package informer

import (
	"log/slog"
	"time"

	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/internal/eventlog"
	"github.com/kinform/kinform/internal/keytext"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// commitPending commits batches until nothing is pending.
func commitPending[K comparable, T any](f *feed[K, T]) error {
	for {
		batch, ok := f.to.TryPop()
		if !ok {
			return nil
		}
		if err := commitPopped(f, batch); err != nil {
			return err
		}
	}
}

// commitPopped commits a batch once no handler is too far behind.
func commitPopped[K comparable, T any](f *feed[K, T], batch deltafifo.Batch[K, T]) error {
	i := f.part.inf
	select {
	case i.turn <- struct{}{}:
		defer func() { <-i.turn }()
	case <-f.session.run.Ctx.Done():
		return f.session.run.Ctx.Err()
	}
	if err := waitForHandlers(f.session.run.Ctx, i); err != nil {
		return err
	}
	began := time.Now()
	if err := commitBatch(f, batch); err != nil {
		return err
	}
	reportPace(&i.base, began, batch.Len(), f.to.Len())
	return nil
}

// reportPace follows a commit of deltas, while others are pending.
func reportPace(i *base, began time.Time, deltas, pending int) {
	if took, slow := i.pace.Slow(began, deltas, pending); slow {
		report(i, &deltafifo.SlowError{Resource: i.name, Deltas: deltas, Took: took, Pending: pending})
	}
}

// largeChunk is the number of ops of a large batch that exist at a time. All of them together
// would be the largest part of the memory that an initial list needs.
const largeChunk = 256

// writeBatch writes batch to the store, and moves it to version rv.
func writeBatch[K comparable, T any](p *part[K, T], c *changes[K, T], batch deltafifo.Batch[K, T], rv string) error {
	i, n := p.inf, batch.Len()
	if n > keepChanges {
		return i.store.CommitChunks(rv, n, func(yield func([]store.Op[K, T]) bool) { writeChunks(p, c, batch, yield) })
	}
	for key, deltas := range batch.All() {
		addOps(p, c, key, deltas)
	}
	if err := i.store.Commit(rv, c.ops); err != nil {
		return err
	}
	takeOutcomes(i, c)
	return nil
}

// writeChunks makes the ops of a large batch chunk by chunk, and records the outcomes of each.
func writeChunks[K comparable, T any](p *part[K, T], c *changes[K, T], batch deltafifo.Batch[K, T], yield func([]store.Op[K, T]) bool) {
	chunk := func() bool {
		goOn := yield(c.ops)
		takeOutcomes(p.inf, c)
		c.begun += len(c.ops)
		clear(c.ops)
		clear(c.versions)
		c.ops, c.versions = c.ops[:0], c.versions[:0]
		return goOn
	}
	for key, deltas := range batch.All() {
		if addOps(p, c, key, deltas); len(c.ops) >= largeChunk && !chunk() {
			return
		}
	}
	chunk()
}

// addOps adds the ops of a key to c.
func addOps[K comparable, T any](p *part[K, T], c *changes[K, T], key K, deltas []deltafifo.Delta[T]) {
	last := -1 // the last one that is not older than an own write
	for n := range deltas {
		d := &deltas[n]
		c.deltas++
		if stays(p, key, d, c.undated) {
			c.stayed = append(c.stayed, c.deltas-1)
			continue
		}
		if d.Initial {
			c.initial++
		}
		c.ops = append(c.ops, store.Op[K, T]{
			Key: key, Object: d.Object, Delete: d.Type == deltafifo.Deleted, Packed: d.Packed, Keep: keepsStored(p.inf, key, deltas, last, n), Sum: d.Sum,
		})
		last = n
		c.versions = append(c.versions, d.ResourceVersion)
	}
}

// keepsStored reports whether delta n of a key brings nothing new, for objects that do not carry their
// version. last is the delta that enters before it, -1 if the store has the state before it.
func keepsStored[K comparable, T any](i *core[K, T], key K, deltas []deltafifo.Delta[T], last, n int) bool {
	d := &deltas[n]
	if last >= 0 {
		before := &deltas[last]
		return repeats(&i.versions, before, d) && i.versions.same(before.Object, d.Object)
	}
	if !repeatsStored(&i.versions, key, d) {
		return false
	}
	known, sum, ok := i.store.GetSum(key)
	if !ok || sum != 0 && sum == d.Sum || i.versions.same(known, d.Object) {
		return ok
	}
	i.versions.variations.note(keytext.Of(key), d.ResourceVersion, known, d.Object)
	return false
}

// takeOutcomes records the outcomes of the ops.
func takeOutcomes[K comparable, T any](i *core[K, T], c *changes[K, T]) {
	watchCommitted(i, c.ops)
	for n := range c.ops {
		op := &c.ops[n]
		noteCommitted(&i.versions, op, c.versions[n])
		if op.Err != nil {
			c.failed = append(c.failed, badKey(op.Key, op.Err))
		}
		i.loose.note(op.Key, op.Kept)
		if op.Unchanged && i.unchanged == 0 {
			op.Old = *new(T) // no handler gets it
		}
		if op.Had || op.Err != nil {
			c.outcomes = append(c.outcomes, outcome[T]{
				at: c.begun + n, old: op.Old, had: op.Had, unchanged: op.Unchanged, failed: op.Err != nil,
			})
		}
	}
}

// commitBatch writes the changes to the store and appends their events to the log. An error comes
// from the store and ends Run. f.changes is empty before and after.
func commitBatch[K comparable, T any](f *feed[K, T], batch deltafifo.Batch[K, T]) error {
	i, c := f.part.inf, &f.changes
	began, synced := time.Now(), hasSyncedAll(&i.base)
	i.care.later()
	if err := commitLocked(f.part, c, batch); err != nil {
		return err
	}
	if !synced && hasSyncedAll(&i.base) {
		tellFilled(&i.base, i.store.Len(), i.store.ResourceVersion())
	}
	reportCommit(&i.base, c.failed, c.lost, c.vary)
	reportLoose(&i.base)
	i.counted.committed(batch.Len(), time.Since(began))
	reset(c)
	return nil
}

func tellFilled(i *base, objects int, version string) {
	i.logger.Debug("cache is filled", slog.Int("objects", objects), slog.String("resourceVersion", version))
}

// reportCommit reports what went wrong in a commit. vary may be nil.
func reportCommit(i *base, failed []*reflector.ObjectError, lost []*LostWriteError, vary error) {
	for _, bad := range failed {
		badObject(i, bad)
	}
	reportLost(i, lost)
	if vary != nil {
		report(i, about(i.name, vary))
	}
}

func commitLocked[K comparable, T any](p *part[K, T], c *changes[K, T], batch deltafifo.Batch[K, T]) error {
	i := p.inf
	i.mu.Lock()
	defer i.mu.Unlock()
	if p.removed {
		return nil
	}
	cutLagging(i)
	begins, empty := !hasSyncedAll(&i.base), i.store.Len() == 0
	rv := batch.ResourceVersion()
	_, listed := batch.Listed()
	c.undated = listed && parseVersion(rv) == 0
	ahead := beginOwn(&p.own, batch)
	if batch.Rewound() && i.places.restored(&p.place) {
		i.store.Rewind()
	}
	if listed {
		p.hasListed()
	}
	if !isOnly(p) {
		rv = versionText(i.places.reach(&p.place, parseVersion(rv)))
	}
	if err := writeBatch(p, c, batch, rv); err != nil {
		return err
	}
	ends := begins && i.places.haveListed()
	if ends && empty && eventlog.End(&i.log) == 0 && isInitialList(c, batch) {
		logInitialList(i)
		close(i.synced)
	} else {
		logEvents(i, c, batch, begins)
		if ends {
			endInitialList(i)
		}
	}
	c.lost = lostOf(p, ahead)
	c.failed = append(c.failed, dropPassed(p)...)
	c.vary = i.versions.variations.take()
	eventlog.Publish(&i.log)
	if listed && i.over != nil {
		i.over.await(present(&i.base))
	}
	return nil
}

// logInitialList appends the initial list, which is in the store already. One mark stands for
// all its events, which would take as much memory as the store's own tables.
func logInitialList[K comparable, T any](i *core[K, T]) {
	list := i.store.Snapshot()
	for l := range i.listeners {
		l.initial = &list
	}
	traceInitial(i)
	eventlog.Append(&i.log, Event[K, T]{Type: initialMark})
}

// logEvents appends the events of a batch after its commit.
func logEvents[K comparable, T any](i *core[K, T], c *changes[K, T], batch deltafifo.Batch[K, T], begins bool) {
	var plain outcome[T]
	at, number, outcomes, stayed := 0, 0, c.outcomes, c.stayed
	for key, deltas := range batch.All() {
		for n := range deltas {
			if number++; len(stayed) > 0 && stayed[0] == number-1 {
				stayed = stayed[1:]
				continue
			}
			o := &plain
			if len(outcomes) > 0 && outcomes[0].at == at {
				o, outcomes = &outcomes[0], outcomes[1:]
			}
			at++
			if ev, ok := eventOf(i.versions.meta, key, &deltas[n], o); ok {
				ev.Initial = ev.Initial && begins
				traceEvent(i, &ev, deltas[n].ResourceVersion)
				eventlog.Append(&i.log, ev)
			} else if o.unchanged && i.unchanged > 0 && deltas[n].Type == deltafifo.Replaced {
				eventlog.Append(&i.log, Event[K, T]{Type: Updated, Sync: true, Key: key, Object: o.old, Old: o.old})
			}
		}
	}
}
