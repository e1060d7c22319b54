package queue

import (
	"math"
	"time"

	"github.com/kinform/kinform/internal/lot"

	"golang.org/x/time/rate"
)

// Limiter decides how long AddRateLimited delays a key. The queue counts the failures, so a limiter
// needs no state per key and no cleanup. It is called without a lock, from many goroutines at once.
//
// A limiter that keeps state per key, or needs to know which keys work again, also has the method
//
//	Forget(key K)
//
// [Queue.Forget] calls it, and so does [Run] before it gives back a key whose call returned nil, [Again] or [Terminal],
// even if the key never failed. It is called without a lock, from many goroutines at once. A panic in it is reported to
// [Options.OnError].
type Limiter[K comparable] interface {
	// Delay returns the delay of a key. failures is the number of earlier AddRateLimited calls for
	// the key since the last Forget: 0 the first time. Zero and negative results mean no delay.
	Delay(key K, failures int) time.Duration
}

// forgetter is a [Limiter] with Forget.
type forgetter[K comparable] interface{ Forget(key K) }

// Exponential doubles the delay with each failure: Base, 2 Base, 4 Base, up to Max.
type Exponential[K comparable] struct {
	// Base is the first delay; zero and negative mean 5 ms.
	Base time.Duration
	// Max is the largest delay; zero and negative mean 1000 s.
	Max time.Duration
}

// Delay implements [Limiter].
func (l Exponential[K]) Delay(_ K, failures int) time.Duration {
	base, limit := l.Base, l.Max
	if base <= 0 {
		base = 5 * time.Millisecond
	}
	if limit <= 0 {
		limit = 1000 * time.Second
	}
	failures = max(0, failures)
	if base > limit>>failures { // so base<<failures does not overflow
		return limit
	}
	return base << failures
}

// FastSlow retries a few times fast, then slowly.
type FastSlow[K comparable] struct {
	// Fast is the delay of the first Attempts retries, Slow the delay of all later ones. Zero and
	// negative mean none.
	Fast, Slow time.Duration
	// Attempts is the number of fast retries; zero and negative mean none.
	Attempts int
}

// Delay implements [Limiter].
func (l FastSlow[K]) Delay(_ K, failures int) time.Duration {
	if failures < l.Attempts {
		return l.Fast
	}
	return l.Slow
}

// Bucket limits the rate of retries of all keys together with a token bucket.
type Bucket[K comparable] struct {
	// Limiter is the bucket; nil means no limit. A bucket that never has a token (its burst is
	// zero) means the longest delay, which [MaxWait] can shorten.
	Limiter *rate.Limiter
}

// Delay implements [Limiter]. It takes a token.
func (l Bucket[K]) Delay(K, int) time.Duration {
	if l.Limiter == nil {
		return 0
	}
	r := l.Limiter.Reserve()
	if !r.OK() {
		return math.MaxInt64
	}
	return r.Delay()
}

// MaxOf returns the longest delay of several limiters. It calls all of them each time, except nil
// ones.
type MaxOf[K comparable] []Limiter[K]

// Delay implements [Limiter].
func (l MaxOf[K]) Delay(key K, failures int) time.Duration {
	var d time.Duration
	for _, one := range l {
		if one != nil {
			d = max(d, one.Delay(key, failures))
		}
	}
	return d
}

// Forget passes the key on to those limiters that have Forget.
func (l MaxOf[K]) Forget(key K) {
	for _, one := range l {
		forget(one, key)
	}
}

// MaxWait bounds the delay of another limiter.
type MaxWait[K comparable] struct {
	// Limiter is the other one; nil means the zero [Exponential].
	Limiter Limiter[K]
	// Max is the bound; zero and negative mean no delay at all.
	Max time.Duration
}

// Delay implements [Limiter].
func (l MaxWait[K]) Delay(key K, failures int) time.Duration {
	return min(orExponential(l.Limiter).Delay(key, failures), max(0, l.Max))
}

// Forget passes the key on to the other limiter if that has Forget.
func (l MaxWait[K]) Forget(key K) { forget(l.Limiter, key) }

// Jitter lengthens the delays of another limiter at random, so that keys that failed together do
// not come back together.
type Jitter[K comparable] struct {
	// Limiter is the other one; nil means the zero [Exponential].
	Limiter Limiter[K]
	// Factor is the largest addition, as a part of the delay: 0.1 means up to 10 %. Zero and
	// negative mean none.
	Factor float64
}

// Delay implements [Limiter].
func (l Jitter[K]) Delay(key K, failures int) time.Duration {
	d := orExponential(l.Limiter).Delay(key, failures)
	if !(l.Factor > 0) || d <= 0 {
		return d
	}
	f := float64(d) * (1 + l.Factor*lot.Fraction(0))
	if f >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(f)
}

// Forget passes the key on to the other limiter if that has Forget.
func (l Jitter[K]) Forget(key K) { forget(l.Limiter, key) }

// forget calls Forget of a limiter that has it.
func forget[K comparable](l Limiter[K], key K) {
	if f, ok := l.(forgetter[K]); ok {
		f.Forget(key)
	}
}

func orExponential[K comparable](l Limiter[K]) Limiter[K] {
	if l == nil {
		return Exponential[K]{}
	}
	return l
}
