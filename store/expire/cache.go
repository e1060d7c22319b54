// Package expire provides a typed cache whose objects expire, like the expiration store (TTL
// store) of client-go's tools/cache.
//
// An expired object is never returned. It is removed from memory by the next Get of its key, by
// [Cache.Sweep], or by a timer if Options.Janitor is set.
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
	// TTL is the time from Set until an object expires. Zero or less means that it never does.
	TTL time.Duration

	// Janitor removes each object when it expires, with a timer that exists only while an object
	// can expire. If it is false, there is no timer.
	Janitor bool

	// OnExpired, if not nil, is called for every object that is removed because it expired. It
	// runs with no lock held: in the goroutine of Get or Sweep, where a panic reaches the
	// caller, or in a goroutine of the timer. Several calls may run at the same time.
	OnExpired func(K, T)

	// OnError gets a *PanicError for each panic of OnExpired, or call of runtime.Goexit, in the
	// timer's goroutine; the janitor goes on. Nil logs it at level Warn to slog.Default(). A
	// panic of OnError is dropped.
	OnError func(error)
}

// Cache holds objects T by key K until they expire. All methods may be called by any goroutine,
// and from OnExpired. Cost: Set and Delete of objects that expire are O(log n), and Set
// allocates once. An object takes a map entry and 48 bytes in addition to its key and itself.
type Cache[K comparable, T any] struct {
	opts Options[K, T] // set once

	mu      sync.Mutex
	entries map[K]*entry[K, T]
	largest int            // length that entries has had; maps never shrink
	due     expiries[K, T] // entries that expire, as a heap: the earliest is first
	timer   *time.Timer    // of the janitor; nil until an object can expire
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
		opts.OnError = logs.New(nil, "expire", "").Error
	}
	return &Cache[K, T]{opts: opts, entries: map[K]*entry[K, T]{}}
}

// Set puts object under key, for Options.TTL from now.
func (c *Cache[K, T]) Set(key K, object T) { c.SetFor(key, object, c.opts.TTL) }

// SetFor is Set with ttl in place of Options.TTL. Zero or less means that object never expires.
func (c *Cache[K, T]) SetFor(key K, object T, ttl time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set(key, object, ttl)
	c.arm()
}

// Replace makes objects the whole content, each for Options.TTL from now. OnExpired is not called
// for the objects removed.
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

// Get returns the object under key. ok is false if there is none or it has expired.
func (c *Cache[K, T]) Get(key K) (object T, ok bool) {
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

// look returns the entry under key, or nil. It removes an expired entry.
func (c *Cache[K, T]) look(key K) (e *entry[K, T], expired bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e = c.entries[key]
	if expired = e != nil && e.expired(time.Now()); expired {
		c.remove(e)
	}
	return e, expired
}

// Delete removes the object under key, and returns it unless it has expired. OnExpired is not
// called.
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

// All iterates, in no order, over the objects that have not expired when the loop begins. O(n),
// with one allocation. The loop's body may use the cache.
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

// Len returns the number of objects in memory. It includes expired objects that were not removed
// yet.
func (c *Cache[K, T]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.entries)
}

// Sweep removes all expired objects and returns their number. O(log n) for each of them.
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

// Close stops the janitor; the cache still works without it. If the janitor is running, Close
// does not wait for it, and it still calls OnExpired for each object that it removed. Closing
// again does nothing.
func (c *Cache[K, T]) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.arm()
}

// set stores an object. Called with the lock held.
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

// remove removes e. Called with the lock held.
func (c *Cache[K, T]) remove(e *entry[K, T]) {
	delete(c.entries, e.key)
	if e.place >= 0 {
		heap.Remove(&c.due, e.place)
	}
	if c.largest > 64 && len(c.entries) < c.largest/4 {
		c.shrink()
	}
}

// shrink gives back memory when few entries are left.
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

// tellAll calls tell for each entry, even after one of the calls panics or ends its goroutine:
// the entries are no longer in the cache, so there is no second chance.
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

// contain calls tell and reports a panic to Options.OnError. It is for the timer's goroutine.
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
