package queue

import "github.com/kinform/kinform/internal/usercode"

// report passes an error to Options.OnError and counts panics. Called without the lock.
func (q *Queue[K]) report(key K, err error) {
	_, panicked := err.(*PanicError)
	if q.onError != nil && usercode.Call("Options.OnError", func() { q.onError(key, err) }) != nil {
		panicked = true
	}
	if panicked {
		q.mu.Lock()
		q.count.panics++
		q.mu.Unlock()
	}
}
