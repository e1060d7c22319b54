// Package waittest runs, in the tests of what waits, a call that may wait in a goroutine of
// its own. It is for testing/synctest bubbles, where it is known when a call does wait.
package waittest

import (
	"errors"
	"testing"
	"testing/synctest"
)

// Call is a method that runs in a goroutine of its own: its error, once it has ended.
type Call chan error

// Start runs f and returns once it has ended or waits.
func Start(f func() error) Call {
	c := make(Call, 1)
	go func() { c <- f() }()
	synctest.Wait()
	return c
}

// Want fails the test unless the call has ended with err.
func (c Call) Want(t *testing.T, err error) {
	t.Helper()
	synctest.Wait()
	select {
	case got := <-c:
		if !errors.Is(got, err) {
			t.Fatalf("got error %v, want %v", got, err)
		}
	default:
		t.Fatalf("waits, want error %v", err)
	}
}

// Waits fails the test if the call has ended.
func (c Call) Waits(t *testing.T) {
	t.Helper()
	synctest.Wait()
	if len(c) > 0 {
		t.Fatalf("does not wait, error %v", <-c)
	}
}
