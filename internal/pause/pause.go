// Package pause waits for a time, unless something else happens before.
package pause

import (
	"context"
	"time"
)

// For returns nil after d, or the error of ctx as soon as ctx is done. It does not wait if d is zero
// or negative.
func For(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Within calls wait, and reports whether it returned within d. If not, it goes on in a goroutine.
func Within(d time.Duration, wait func()) bool {
	over := make(chan struct{})
	go func() {
		wait()
		close(over)
	}()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-over:
		return true
	case <-timer.C:
		return false
	}
}
