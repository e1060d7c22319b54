// Package pause waits for a time, unless a context ends before.
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
