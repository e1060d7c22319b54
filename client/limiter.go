package client

import (
	"context"
	"fmt"
	"time"
)

// limiterWait is the key of a context's value: how long its request has waited.
type limiterWait struct{}

// LimiterWait returns how long a request has waited for [Connection.Limiter], by the context of
// that request: a transport in Connection.HTTP can measure it. limited is false if the connection
// has no Limiter.
func LimiterWait(ctx context.Context) (wait time.Duration, limited bool) {
	wait, limited = ctx.Value(limiterWait{}).(time.Duration)
	return wait, limited
}

// limit waits for the limiter, and returns the context of the request.
func (e endpoint) limit(ctx context.Context) (context.Context, error) {
	if e.limiter == nil {
		return ctx, nil
	}
	began := time.Now()
	if err := e.limiter.Wait(ctx); err != nil {
		return nil, fmt.Errorf("client-side rate limit: %w", withContext(ctx, err))
	}
	return context.WithValue(ctx, limiterWait{}, time.Since(began)), nil
}
