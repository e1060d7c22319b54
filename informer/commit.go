package informer

import (
	"log/slog"
	"slices"

	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// changes is a batch on its way into the store: what to write, and the delta that each
// write comes from.
type changes[K comparable, T any] struct {
	ops    []store.Op[K, T]
	deltas []*deltafifo.Delta[T]
}

// process commits batches until the informer is to stop.
func (i *Informer[K, T]) process(s *session[K, T]) error {
	var c changes[K, T]
	for {
		batch, err := s.fifo.Pop(s.ctx)
		if err != nil {
			return err
		}
		if err := i.log.WaitLag(s.ctx, i.lag); err != nil {
			return err
		}
		i.collect(&c, batch)
		if err := i.commit(&c, batch); err != nil {
			return err
		}
		c.reset()
	}
}

// collect gathers what batch writes.
func (i *Informer[K, T]) collect(c *changes[K, T], batch deltafifo.Batch[K, T]) {
	c.ops = slices.Grow(c.ops, batch.Len()) // at once: a large list would be copied as it grows
	c.deltas = slices.Grow(c.deltas, batch.Len())
	for key, deltas := range batch.All() {
		for n := range deltas {
			d := &deltas[n]
			c.ops = append(c.ops, store.Op[K, T]{Key: key, Object: d.Object, Delete: d.Type == deltafifo.Deleted})
			c.deltas = append(c.deltas, d)
		}
	}
}

// commit writes the changes and puts what came of them into the log. The error is the
// store's, and final.
func (i *Informer[K, T]) commit(c *changes[K, T], batch deltafifo.Batch[K, T]) error {
	synced := i.hasSynced()
	if err := i.commitLocked(c, batch); err != nil {
		return err
	}
	if !synced && i.hasSynced() {
		i.logger.Debug("cache is filled", slog.Int("objects", i.store.Len()), slog.String("resourceVersion", i.store.ResourceVersion()))
	}
	for n := range c.ops {
		if err := c.ops[n].Err; err != nil {
			i.badObject(&reflector.ObjectError{Key: keyString(c.ops[n].Key), Err: err})
		}
	}
	return nil
}

func (i *Informer[K, T]) commitLocked(c *changes[K, T], batch deltafifo.Batch[K, T]) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.cutLoose()
	// Only a list can be older than the store, and only that of a server that was
	// restored from a backup gets this far.
	before := i.store.ResourceVersion()
	if older(batch.ResourceVersion(), before) {
		i.store.Rewind()
	}
	if err := i.store.Commit(batch.ResourceVersion(), c.ops); err != nil {
		return err
	}
	i.settle(c, before)
	begins := !i.hasSynced()
	for n := range c.ops {
		if ev, ok := eventOf(&c.ops[n], c.deltas[n]); ok {
			ev.Initial = ev.Initial && begins
			i.log.Append(ev)
		} else if c.ops[n].Unchanged && i.unchanged > 0 {
			i.log.Append(Event[K, T]{Type: Updated, Sync: true, Key: ev.Key, Object: c.ops[n].Old, Old: c.ops[n].Old})
		}
	}
	if begins && batch.EndsInitialList() {
		i.log.Append(Event[K, T]{Type: syncedMark})
		close(i.synced)
	}
	i.log.Publish()
	return nil
}

// eventOf returns what the log is told of an op after its commit, and false for nothing.
func eventOf[K comparable, T any](op *store.Op[K, T], d *deltafifo.Delta[T]) (Event[K, T], bool) {
	ev := Event[K, T]{Key: op.Key, Object: op.Object}
	switch {
	case op.Err != nil, op.Unchanged, op.Delete && !op.Had:
		return ev, false
	case d.FinalStateUnknown:
		// The store's, which handlers saw last: the FIFO's can be one that was not taken.
		ev.Type, ev.Object, ev.Old, ev.FinalStateUnknown = Deleted, op.Old, op.Old, true
	case op.Delete:
		ev.Type, ev.Old = Deleted, op.Old
	case op.Had:
		ev.Type, ev.Old = Updated, op.Old
	default:
		ev.Type, ev.Initial = Added, d.Initial
	}
	return ev, true
}

// keepChanges bounds the slices that are kept from batch to batch: those of a full FIFO
// are, those of a large list are not.
const keepChanges = 2 * deltafifo.DefaultLimit

// reset empties c without pinning an object, or a large list's memory.
func (c *changes[K, T]) reset() {
	if cap(c.ops) > keepChanges {
		*c = changes[K, T]{}
		return
	}
	clear(c.ops)
	clear(c.deltas)
	c.ops, c.deltas = c.ops[:0], c.deltas[:0]
}

// touches reports whether c changes the object of key. O(changes).
func (c *changes[K, T]) touches(key K) bool {
	return slices.ContainsFunc(c.ops, func(op store.Op[K, T]) bool { return op.Key == key })
}
