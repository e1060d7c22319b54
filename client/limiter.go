package client

import (
	"context"
	"fmt"
	"time"

	"github.com/kinform/kinform/internal/limited"
)

// limit waits for the limiter, and returns the context of the request.
func (e endpoint) limit(ctx context.Context) (context.Context, error) {
	if e.limiter == nil {
		return ctx, nil
	}
	began := time.Now()
	if err := e.limiter.Wait(ctx); err != nil {
		return nil, fmt.Errorf("client-side rate limit: %w", withContext(ctx, err))
	}
	return limited.With(ctx, time.Since(began)), nil
}
