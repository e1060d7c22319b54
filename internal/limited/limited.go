// Package limited tells the transport of a request how long the request has waited for the limiter of its connection.
package limited

import (
	"context"
	"time"
)

// key is the key of the context's value.
type key struct{}

// With returns the context of a request that has waited.
func With(ctx context.Context, wait time.Duration) context.Context {
	return context.WithValue(ctx, key{}, wait)
}

// Wait returns how long a request has waited for client.Connection.Limiter, by the context of that request. limited is
// false if the connection has no Limiter.
func Wait(ctx context.Context) (wait time.Duration, limited bool) {
	wait, limited = ctx.Value(key{}).(time.Duration)
	return wait, limited
}
