package deltafifo

import "context"

// Add puts an Added delta. resourceVersion is the version that the delta brings the store
// to; empty leaves it where it was. Like all producing methods it waits while the queue
// is at its limit, and returns ctx's error, [ErrClosed] or [ErrBadKey] if nothing was put.
func (f *DeltaFIFO[K, T]) Add(ctx context.Context, key K, obj T, resourceVersion string) error {
	return f.put(ctx, key, Delta[T]{Type: Added, Object: obj}, resourceVersion)
}

// Update puts an Updated delta. See [DeltaFIFO.Add].
func (f *DeltaFIFO[K, T]) Update(ctx context.Context, key K, obj T, resourceVersion string) error {
	return f.put(ctx, key, Delta[T]{Type: Updated, Object: obj}, resourceVersion)
}

// Delete puts a Deleted delta with the object's last state. Nothing but resourceVersion
// is taken in for a key that does not exist here or in the known store: of two deletions
// in a row one is put, the one that knows the final state. See [DeltaFIFO.Add].
func (f *DeltaFIFO[K, T]) Delete(ctx context.Context, key K, obj T, resourceVersion string) error {
	if !f.keys.OK(key) {
		return ErrBadKey
	}
	if err := f.admit(ctx); err != nil {
		return err
	}
	defer f.mu.Unlock()
	d := Delta[T]{Type: Deleted, Object: obj}
	if e := f.pending.find(key); e != nil && e.last().Type == Deleted {
		if e.last().FinalStateUnknown {
			*e.last() = d
		}
	} else if f.exists(key) {
		f.pending.push(key, d)
	}
	f.moved(resourceVersion)
	return nil
}

// Bookmark says that everything up to resourceVersion has been put. See [DeltaFIFO.Add].
func (f *DeltaFIFO[K, T]) Bookmark(ctx context.Context, resourceVersion string) error {
	if err := f.admit(ctx); err != nil {
		return err
	}
	defer f.mu.Unlock()
	f.moved(resourceVersion)
	return nil
}

// List is a whole collection, as Replace takes it.
type List[K comparable, T any] struct {
	// Items are the objects. Of two with one key the later counts.
	Items []Item[K, T]
	// ResourceVersion is the list's.
	ResourceVersion string
	// Keep says which missing keys are not deleted, since the list may have them after
	// all; it gets the newest object known of each, pending or not. Nil keeps none. It runs
	// under the queue's lock and must not use the queue.
	Keep func(K, T) bool
}

// Replace puts a Replaced delta for every item of list, and a Deleted one with an unknown
// final state for every key that exists and is not in it. O(items + known keys), under
// the lock. See [DeltaFIFO.Add].
func (f *DeltaFIFO[K, T]) Replace(ctx context.Context, list List[K, T]) error {
	for i := range list.Items {
		if !f.keys.OK(list.Items[i].Key) {
			return ErrBadKey
		}
	}
	if err := f.admit(ctx); err != nil {
		return err
	}
	defer f.mu.Unlock()
	f.lists++
	f.pending.reserve(len(list.Items))
	for _, item := range list.Items {
		f.listed(item)
	}
	f.deleteMissing(list.Keep)
	if f.lists == 1 {
		f.pending.endsInitial = true
		f.pending.moved = true // an empty list must reach the consumer too
	}
	f.moved(list.ResourceVersion)
	return nil
}

// listed puts the Replaced delta of one item. Called with the lock held.
func (f *DeltaFIFO[K, T]) listed(item Item[K, T]) {
	d := Delta[T]{Type: Replaced, Initial: f.lists == 1, Object: item.Object}
	e := f.pending.find(item.Key)
	switch {
	case e == nil:
		e = f.pending.add(item.Key)
	case e.list == f.lists:
		*e.last() = d
		return
	}
	e.list = f.lists
	f.pending.append(e, d)
}

// deleteMissing puts a Deleted delta for every key that exists and that the current list
// does not have. Called with the lock held.
func (f *DeltaFIFO[K, T]) deleteMissing(keep func(K, T) bool) {
	gone := func(e *entry[K, T], key K, obj T) {
		if keep != nil && keep(key, obj) {
			return
		}
		if e == nil {
			e = f.pending.add(key)
		}
		f.pending.append(e, Delta[T]{Type: Deleted, FinalStateUnknown: true, Object: obj})
	}
	for i := range f.pending.entries { // gets no new ones here
		if e := &f.pending.entries[i]; e.list != f.lists && e.last().Type != Deleted {
			gone(e, e.key, e.last().Object)
		}
	}
	if f.inFlight != nil {
		for i := range f.inFlight.entries {
			e := &f.inFlight.entries[i]
			if e.last().Type != Deleted && f.pending.find(e.key) == nil {
				gone(nil, e.key, e.last().Object)
			}
		}
	}
	if f.known == nil {
		return
	}
	for key, obj := range f.known.All() {
		if f.pending.find(key) == nil && (f.inFlight == nil || f.inFlight.find(key) == nil) {
			gone(nil, key, obj)
		}
	}
}

// exists reports whether key has an object, by the newest that is known of it. Called
// with the lock held.
func (f *DeltaFIFO[K, T]) exists(key K) bool {
	if e := f.pending.find(key); e != nil {
		return e.last().Type != Deleted
	}
	if f.inFlight != nil {
		if e := f.inFlight.find(key); e != nil {
			return e.last().Type != Deleted
		}
	}
	if f.known == nil {
		return false
	}
	_, ok := f.known.Get(key)
	return ok
}

func (f *DeltaFIFO[K, T]) put(ctx context.Context, key K, d Delta[T], rv string) error {
	if !f.keys.OK(key) {
		return ErrBadKey
	}
	if err := f.admit(ctx); err != nil {
		return err
	}
	defer f.mu.Unlock()
	f.pending.push(key, d)
	f.moved(rv)
	return nil
}

// moved notes the version and tells the consumer. Called with the lock held.
func (f *DeltaFIFO[K, T]) moved(rv string) {
	f.pending.moveTo(rv)
	if !f.pending.empty() {
		f.signalReady()
	}
}
