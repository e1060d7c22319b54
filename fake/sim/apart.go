package sim

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// errQuit is what becomes of a function that calls t.Fatal or runtime.Goexit.
var errQuit = errors.New("it ended its goroutine, as t.Fatal does: return an error instead")

// apart calls f in a goroutine of its own. A panic and the end of the goroutine are errors.
func apart(f func() error) error { return <-start(f) }

// start is apart without waiting for the end.
func start(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() {
		err := errQuit
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			}
			done <- err
		}()
		err = f()
	}()
	return done
}
