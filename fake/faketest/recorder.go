package faketest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/kinform/kinform/internal/broadcast"
	"github.com/kinform/kinform/reflector"
)

// Recorded is one event as a handler saw it.
type Recorded[K comparable, T any] struct {
	// Type is Added, Modified or Deleted.
	Type reflector.EventType
	Key  K
	// Old is the state before a Modified, the zero T otherwise.
	Old T
	// Object is the state after, or the last one of a Deleted.
	Object T
}

// Recorder records the events of a handler, and a test compares them with its expectations.
// Call Added, Updated and Deleted from an informer's handler. It also checks each key's
// history, as [Histories] does.
//
// The zero value is ready. A Recorder keeps all events. It is safe for concurrent use.
type Recorder[K comparable, T any] struct {
	// History records the same events.
	History Histories[K, T]

	mu     sync.Mutex
	events []Recorded[K, T]
	taken  int              // number of events that Expect has compared
	more   broadcast.Signal // that an event has come
}

// Added records an add event.
func (r *Recorder[K, T]) Added(key K, obj T) {
	r.History.Added(key, obj)
	r.record(Recorded[K, T]{Type: reflector.Added, Key: key, Object: obj})
}

// Updated records an update event.
func (r *Recorder[K, T]) Updated(key K, old, obj T) {
	r.History.Updated(key, old, obj)
	r.record(Recorded[K, T]{Type: reflector.Modified, Key: key, Old: old, Object: obj})
}

// Deleted records a delete event.
func (r *Recorder[K, T]) Deleted(key K, last T) {
	r.History.Deleted(key, last)
	r.record(Recorded[K, T]{Type: reflector.Deleted, Key: key, Object: last})
}

func (r *Recorder[K, T]) record(ev Recorded[K, T]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, ev)
	r.more.Send()
}

// Events returns all events so far, including those that Expect has compared already.
func (r *Recorder[K, T]) Events() []Recorded[K, T] {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Recorded[K, T](nil), r.events...)
}

// Expectation describes one event that a test expects.
type Expectation[K comparable, T any] struct {
	// Type is Added, Modified or Deleted.
	Type reflector.EventType
	Key  K
	// Check returns an error if the event is not as expected; nil accepts any.
	Check func(ev Recorded[K, T]) error
}

// Expect waits until one event for each of want has come since the last Expect, and compares
// them. The events of one key must come in the order of want; between keys an informer
// promises no order. Without any want it does not wait, and fails if an event is left over.
//
// In a testing/synctest bubble, waiting for an event that never comes is a deadlock unless ctx
// ends. Give ctx a timeout; it passes in virtual time.
//
// Errors: the mismatches; the cause of ctx if it ended first; and the errors of [Histories.Err].
func (r *Recorder[K, T]) Expect(ctx context.Context, want ...Expectation[K, T]) error {
	got, late := r.take(ctx, len(want))
	errs := []error{late}
	for i, ev := range got {
		errs = append(errs, match(i, ev, &want))
	}
	for _, w := range want {
		errs = append(errs, fmt.Errorf("no event: %v %v", w.Type, w.Key))
	}
	return errors.Join(append(errs, r.History.Err())...)
}

// match compares ev with the first expectation for its key, and removes that one from want.
func match[K comparable, T any](i int, ev Recorded[K, T], want *[]Expectation[K, T]) error {
	for j, w := range *want {
		if w.Key != ev.Key {
			continue
		}
		*want = append(append([]Expectation[K, T](nil), (*want)[:j]...), (*want)[j+1:]...)
		if w.Type != ev.Type {
			return fmt.Errorf("event %d: %v %v, want %v", i+1, ev.Type, ev.Key, w.Type)
		}
		if w.Check != nil {
			if err := w.Check(ev); err != nil {
				return fmt.Errorf("event %d: %v %v: %w", i+1, ev.Type, ev.Key, err)
			}
		}
		return nil
	}
	return fmt.Errorf("event %d: %v %v, not expected", i+1, ev.Type, ev.Key)
}

// take waits for n events and returns them. If ctx ends first it returns those that came, and
// an error. An n of zero takes all events that are left, without waiting.
func (r *Recorder[K, T]) take(ctx context.Context, n int) ([]Recorded[K, T], error) {
	for {
		r.mu.Lock()
		left := r.events[r.taken:]
		if n == 0 {
			n = len(left)
		}
		if len(left) >= n {
			r.taken += n
			r.mu.Unlock()
			return left[:n:n], nil
		}
		more := r.more.Wait()
		r.mu.Unlock()
		select {
		case <-more:
		case <-ctx.Done():
			r.mu.Lock()
			defer r.mu.Unlock()
			got := r.events[r.taken:]
			got = got[:min(n, len(got))]
			r.taken += len(got)
			return got, fmt.Errorf("%d of %d events: %w", len(got), n, context.Cause(ctx))
		}
	}
}
