package queue

import "runtime/debug"

// contain calls user code and turns a panic into a *PanicError.
func contain(f func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	f()
	return nil
}

// report tells Options.OnError about an error. Called without the lock.
func (q *Queue[K]) report(key K, err error) {
	_, panicked := err.(*PanicError)
	if q.onError != nil && contain(func() { q.onError(key, err) }) != nil {
		panicked = true
	}
	if panicked {
		q.mu.Lock()
		q.count.panics++
		q.mu.Unlock()
	}
}
