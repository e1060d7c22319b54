package queue

import (
	"time"

	"github.com/kinform/kinform/internal/note"
)

// ageAfter is how long a key waits behind higher priorities before it gets every second turn.
const ageAfter = 10 * time.Second

// debounceSpan is how many debounce windows a key is held at most.
const debounceSpan = 10

// Options configures a [Queue]. The zero value is a plain queue: first in first out, exponential
// backoff for retries. No value is an error. Functions are called with no lock held and may call
// the queue.
type Options[K comparable] struct {
	// Name identifies the queue in [Metrics] and in the text of an informer.PanicError. A
	// controller.Controller gives its queue the controller's name if this is empty. Empty means no
	// name.
	Name string

	// Limiter decides how long AddRateLimited delays a key. Nil means [Exponential] with its zero
	// value: 5 ms, doubled per failure up to 1000 s.
	Limiter Limiter[K]

	// Class names the class (namespace, tenant) that a key belongs to. Keys of one priority are
	// then handed out in turns, one per class, so that a class with many keys does not starve the
	// others. It is called at each add, before the lock is taken; a key that the queue already
	// knows keeps its class. Nil means one class, at no cost. A panic in it is reported and means
	// class "".
	Class func(key K) string

	// Debounce holds each added key until there was no add of it for this long, so that a burst
	// becomes one hand-out. Queued keys are not held. Debounce does not lengthen the delays of
	// AddAfter and of the limiter; if such a delay ends first, the held add is queued with it. Repeated
	// adds hold a key for ten times Debounce at most, counted from the first add. Zero and negative mean
	// no hold.
	Debounce time.Duration

	// Timing records when keys are added, handed out and done, for the durations in [Metrics] and
	// [Snapshot]. It reads the clock three times per key, which takes about as long as the rest of
	// the queue's work.
	Timing bool

	// OnError is called for each failed call of [Run] (with a result that is neither nil nor
	// [Again]), and for panics in Limiter (including Forget) and Class. It runs in the goroutine in
	// which the error occurred. Nil drops the errors. A panic in OnError is dropped, and counted in
	// [Metrics.Panics].
	OnError func(key K, err error)
}

// AddOptions configures [Queue.AddWith]. The zero value does the same as [Queue.Add].
type AddOptions struct {
	// Priority of the key while it is queued: higher is handed out first. But keys that have waited
	// for ten seconds get every second turn, the oldest first. The age of a key that was queued before
	// the first use of a priority counts from that moment. Zero is the middle.
	// Adding a queued key again with a higher priority moves it to the end of that priority; a
	// lower one changes nothing. Values are clamped to the range of int32.
	Priority int

	// After delays the add. Zero and negative mean now. If the key is delayed already, the earlier
	// time wins.
	After time.Duration

	// RateLimited counts a failure of the key and takes the delay from the limiter. If After is
	// positive too, the shorter delay counts.
	RateLimited bool

	// Replace makes the new delay replace a pending one, even if it ends later (kubernetes#133560).
	// Without a new delay it cancels the pending one.
	Replace bool

	// Note is for package controller: it says why the key is added. Leave it zero.
	Note note.Note
}
