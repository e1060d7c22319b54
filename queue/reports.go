package queue

import "github.com/kinform/kinform/internal/usercode"

// reports says how a queue reports errors. It never changes. It is not part of the Queue, so that a
// queue without it stays small.
type reports[K comparable] struct {
	name    string
	onError func(K, error) // may be nil
}

func reportsOf[K comparable](opts Options[K]) *reports[K] {
	if opts.Name == "" && opts.OnError == nil {
		return nil
	}
	return &reports[K]{opts.Name, opts.OnError}
}

// call calls a function of the user, and returns a *PanicError with the queue's name if it panics.
func (q *Queue[K]) call(where string, f func()) error {
	err := usercode.Call(where, f)
	if panicked, ok := err.(*usercode.PanicError); ok {
		panicked.Name = q.Name()
	}
	return err
}

// report passes an error to Options.OnError and counts panics. Called without the lock.
func report[K comparable](q *Queue[K], key K, err error) {
	_, panicked := err.(*usercode.PanicError)
	r := q.reports
	if r != nil && r.onError != nil && usercode.Call("Options.OnError", func() { r.onError(key, err) }) != nil {
		panicked = true
	}
	if panicked {
		q.mu.Lock()
		q.count.panics++
		q.mu.Unlock()
	}
}
