package queue

import "time"

// defaultAgeAfter is how long a key waits behind higher priorities before it gets every second turn.
const defaultAgeAfter = 10 * time.Second

// debounceSpan is how many debounce windows a key is held at most when Options.DebounceMax is zero.
const debounceSpan = 10

// Options configures a [Queue]. The zero value is a plain queue: first in first out, exponential backoff for retries.
// No value is an error: every field says what zero and negative mean. Functions are called without any lock held and
// may call the queue.
type Options[K comparable] struct {
	// Limiter decides how long AddRateLimited holds a key back. Nil means [Exponential] with its zero value: 5 ms,
	// doubled per failure up to 1000 s.
	Limiter Limiter[K]

	// Class names the class (namespace, tenant) that a key belongs to. Keys of one priority are then handed out in
	// turns, one per class, so that a class with many keys does not starve the others. It is asked at each add, before
	// the lock is taken; a key that the queue knows already keeps its class. Nil means one class, at no cost. A panic
	// in it is reported and means class "".
	Class func(key K) string

	// AgeAfter bounds the time for which higher priorities can starve lower ones: keys that have been waiting longer get
	// every second turn, the oldest first. Zero means 10 s, negative means never. A key that was queued before priorities
	// came into use ages from then. Without priorities ageing costs nothing, with them up to one reading of the clock
	// per add and hand-out.
	AgeAfter time.Duration

	// Debounce holds each added key back until no add of it has come for this long, so that a burst becomes one
	// hand-out. Keys that are queued already are not held. Delays given to AddAfter and by the limiter are not
	// lengthened by it; when one of them ends first, it takes the held add along. Zero and negative mean no hold.
	Debounce time.Duration

	// DebounceMax bounds how long adds that keep coming can hold a key back, counted from the first. Zero and negative
	// mean ten times Debounce; less than Debounce means Debounce.
	DebounceMax time.Duration

	// Timing records when keys are added, handed out and done: the durations in [Metrics] and [Snapshot] need it.
	// It reads the clock three times per key, which is about as much as the rest of the queue's work.
	Timing bool

	// OnError hears about failed calls of [Run] (each one that is neither nil nor [Again]), panics in Limiter (Forget included) and Class,
	// and keys that cannot be used. It runs in the goroutine that met the error. Nil drops the errors. A panic in it is
	// swallowed and counted in [Metrics.Panics].
	OnError func(key K, err error)
}

// AddOptions says how [Queue.AddWith] adds a key. The zero value is what [Queue.Add] does.
type AddOptions struct {
	// Priority of the key while it is queued: higher is handed out first. Zero is the middle. Adding a queued key
	// again with a higher priority moves it to the end of that priority; a lower one changes nothing. Values are
	// clamped to the range of int32.
	Priority int

	// After delays the add. Zero and negative mean now. When the key is delayed already the earlier time wins.
	After time.Duration

	// RateLimited counts a failure of the key and asks the limiter for the delay. If After is positive too, the shorter
	// one of the two is taken.
	RateLimited bool

	// Replace makes the new delay replace a pending one, also when it is later (kubernetes#133560). Without a
	// delay it cancels the pending one.
	Replace bool
}
