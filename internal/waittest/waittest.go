// Package waittest runs a call that may wait in its own goroutine, for tests of methods that
// wait. It works in testing/synctest bubbles, where a test can tell that a call waits.
package waittest

import (
	"errors"
	"testing"
	"testing/synctest"
)

// Call is a call in its own goroutine. The channel gets its error when it ends.
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
