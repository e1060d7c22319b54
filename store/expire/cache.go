// Package expire has a typed cache whose objects are there for a time: what client-go's
// tools/cache calls an expiration store or a TTL store.
//
// An object that has expired is never returned. It leaves memory when it is asked for, on
// [Cache.Sweep], or by itself if Options.Janitor is set.
package expire

import (
	"container/heap"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/kinform/kinform/internal/logs"
	"github.com/kinform/kinform/internal/mapkey"
	"github.com/kinform/kinform/internal/usercode"
)

// Options configures a [Cache]. The zero value works: objects stay until they are deleted.
type Options[K comparable, T any] struct {
	// TTL is how long an object is there after Set. Zero or less means for ever.
	TTL time.Duration

	// Janitor lets go of each object when its time has come, by a timer that exists only
	// while something is to expire. Without it there is no timer.
	Janitor bool

	// OnExpired, if not nil, hears of every object that is let go of because it expired.
	// It runs with no lock held: in the goroutine of Get or Sweep, where a panic is the
	// caller's, or in one of the timer's. So it can be called by several at once.
	OnExpired func(K, T)

	// OnError hears of each panic of OnExpired in the timer's goroutine, or call of
	// runtime.Goexit, as a *PanicError; the janitor goes on. Nil logs it at level Warn to slog.Default(). A panic in it is swallowed.
	OnError func(error)
}

// Cache holds objects T by key K until they expire. All methods may be called at the same
// time, from OnExpired too. Cost: O(log n) for Set and Delete of what expires, one
// allocation each, a map entry and 48 bytes beside key and object.
type Cache[K comparable, T any] struct {
	opts Options[K, T] // set once

	mu      sync.Mutex
	entries map[K]*entry[K, T]
	largest int            // of entries since it was made: maps never shrink
	due     expiries[K, T] // those that expire, the earliest first
	timer   *time.Timer    // of the janitor; nil until something is to expire
	wake    time.Time      // when the timer fires; zero if it does not
	closed  bool
}

type entry[K comparable, T any] struct {
	key    K
	object T
	at     time.Time // zero: never
	place  int       // in due; -1 if not there
}

// New returns an empty cache. It panics if K cannot be a key: if K is a float, a complex
// number, an interface, or an array or struct that holds one. Values of these may not equal
// themselves (NaN), or not compare.
func New[K comparable, T any](opts Options[K, T]) *Cache[K, T] {
	mapkey.Must[K]()
	if opts.OnError == nil {
		opts.OnError = logs.Log{Part: "expire"}.Error
	}
	return &Cache[K, T]{opts: opts, entries: map[K]*entry[K, T]{}}
}

// Set puts object under key, for Options.TTL from now.
func (c *Cache[K, T]) Set(key K, object T) { c.SetFor(key, object, c.opts.TTL) }

// SetFor is Set with a time of the object's own; zero or less means for ever.
func (c *Cache[K, T]) SetFor(key K, object T, ttl time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set(key, object, ttl)
	c.arm()
}

// Replace makes objects the whole content, each for Options.TTL from now. What was there
// goes without expiring.
func (c *Cache[K, T]) Replace(objects iter.Seq2[K, T]) {
	fresh := &Cache[K, T]{opts: c.opts, entries: map[K]*entry[K, T]{}}
	for key, object := range objects {
		fresh.set(key, object, c.opts.TTL)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries, c.largest, c.due = fresh.entries, fresh.largest, fresh.due
	c.arm()
}

// Get returns the object under key, and whether there is one that has not expired.
func (c *Cache[K, T]) Get(key K) (T, bool) {
	e, expired := c.look(key)
	switch {
	case e == nil:
		return *new(T), false
	case expired:
		c.tell(e)
		return *new(T), false
	}
	return e.object, true
}

// look returns the entry under key, nil for none. One that has expired is taken out.
func (c *Cache[K, T]) look(key K) (e *entry[K, T], expired bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e = c.entries[key]
	if expired = e != nil && e.expired(time.Now()); expired {
		c.remove(e)
	}
	return e, expired
}

// Delete takes the object away and returns it, unless it has expired. OnExpired does not
// hear of it.
func (c *Cache[K, T]) Delete(key K) (T, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	if !ok {
		return *new(T), false
	}
	c.remove(e)
	c.arm()
	if e.expired(time.Now()) {
		return *new(T), false
	}
	return e.object, true
}

// All returns what has not expired when the loop begins, in no order. O(n), with one
// allocation; the loop's body may use the cache.
func (c *Cache[K, T]) All() iter.Seq2[K, T] {
	return func(yield func(K, T) bool) {
		for _, e := range c.living() {
			if !yield(e.key, e.object) {
				return
			}
		}
	}
}

func (c *Cache[K, T]) living() []entry[K, T] {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	all := make([]entry[K, T], 0, len(c.entries))
	for _, e := range c.entries {
		if !e.expired(now) {
			all = append(all, *e)
		}
	}
	return all
}

// Len returns how many objects are held, those included that have expired and were not
// let go of yet.
func (c *Cache[K, T]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.entries)
}

// Sweep lets go of all that has expired and returns how many objects that were.
// O(log n) for each.
func (c *Cache[K, T]) Sweep() int {
	gone := c.expire()
	tellAll(gone, c.tell)
	return len(gone)
}

func (c *Cache[K, T]) expire() (gone []*entry[K, T]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for len(c.due) > 0 && c.due[0].expired(now) {
		e := c.due[0]
		c.remove(e)
		gone = append(gone, e)
	}
	c.arm()
	return gone
}

// Close stops the janitor; the cache works on without it. It does not wait for a janitor that
// has begun, which tells OnExpired of all that it let go of. Closing again does nothing.
func (c *Cache[K, T]) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.arm()
}

// set puts an object. Called with the lock held.
func (c *Cache[K, T]) set(key K, object T, ttl time.Duration) {
	if old, ok := c.entries[key]; ok {
		c.remove(old)
	}
	e := &entry[K, T]{key: key, object: object, place: -1}
	c.entries[key] = e
	c.largest = max(c.largest, len(c.entries))
	if ttl > 0 {
		e.at = time.Now().Add(ttl)
		heap.Push(&c.due, e)
	}
}

// remove takes e out. Called with the lock held.
func (c *Cache[K, T]) remove(e *entry[K, T]) {
	delete(c.entries, e.key)
	if e.place >= 0 {
		heap.Remove(&c.due, e.place)
	}
	if c.largest > 64 && len(c.entries) < c.largest/4 {
		c.shrink()
	}
}

// shrink gives back the memory of a burst.
func (c *Cache[K, T]) shrink() {
	smaller := make(map[K]*entry[K, T], len(c.entries))
	for key, e := range c.entries {
		smaller[key] = e
	}
	c.entries, c.largest = smaller, len(smaller)
	c.due = append(expiries[K, T](nil), c.due...)
}

// arm sets the janitor's timer to the earliest expiry. Called with the lock held.
func (c *Cache[K, T]) arm() {
	var at time.Time
	if c.opts.Janitor && !c.closed && len(c.due) > 0 {
		at = c.due[0].at
	}
	if at.Equal(c.wake) {
		return
	}
	c.wake = at
	switch {
	case at.IsZero():
		c.timer.Stop()
	case c.timer == nil:
		c.timer = time.AfterFunc(time.Until(at), c.clean)
	default:
		c.timer.Reset(time.Until(at))
	}
}

// clean is the janitor's work.
func (c *Cache[K, T]) clean() {
	c.mu.Lock()
	c.wake = time.Time{} // the timer has fired
	closed := c.closed   // meanwhile
	c.mu.Unlock()
	if !closed {
		tellAll(c.expire(), c.contain)
	}
}

// tellAll tells of each entry, of the rest also when one of the calls panics or ends its
// goroutine: they are in the cache no more, and nobody else would.
func tellAll[K comparable, T any](gone []*entry[K, T], tell func(*entry[K, T])) {
	defer func() {
		if len(gone) > 0 {
			tellAll(gone, tell)
		}
	}()
	for len(gone) > 0 {
		e := gone[0]
		gone = gone[1:]
		tell(e)
	}
}

// contain is tell with panics reported, for a goroutine that has no caller.
func (c *Cache[K, T]) contain(e *entry[K, T]) {
	usercode.Contain("OnExpired", func() { c.tell(e) }, func(err *PanicError) {
		defer func() { _ = recover() }()
		err.Key = fmt.Sprint(e.key)
		c.opts.OnError(err)
	})
}

func (c *Cache[K, T]) tell(e *entry[K, T]) {
	if c.opts.OnExpired != nil {
		c.opts.OnExpired(e.key, e.object)
	}
}

func (e *entry[K, T]) expired(now time.Time) bool { return !e.at.IsZero() && !now.Before(e.at) }

// expiries is a heap for container/heap.
type expiries[K comparable, T any] []*entry[K, T]

func (h expiries[K, T]) Len() int           { return len(h) }
func (h expiries[K, T]) Less(i, j int) bool { return h[i].at.Before(h[j].at) }

func (h expiries[K, T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *expiries[K, T]) Push(e any) {
	added := e.(*entry[K, T])
	added.place = len(*h)
	*h = append(*h, added)
}

func (h *expiries[K, T]) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	e.place = -1
	return e
}
