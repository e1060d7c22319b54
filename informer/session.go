package informer

import (
	"context"
	"sync"

	"github.com/kinform/kinform/internal/usercode"
)

// session holds what an informer needs anew for each Run. What each part needs is its feed.
type session[K comparable, T any] struct {
	feeding sync.WaitGroup // of the namespaces' reflectors

	// life ends, with ErrStopped, when the session stops.
	life context.Context
	die  context.CancelCauseFunc

	done chan struct{} // closed, with the informer's mu held, when the session has stopped

	*usercode.Run // set by Informer.Run before any other goroutine can look
}

// newSession returns a session that continues from the store's state. Called with mu held, or before the
// informer is given out.
func newSession[K comparable, T any](i *core[K, T]) (*session[K, T], error) {
	s := &session[K, T]{done: make(chan struct{})}
	s.life, s.die = context.WithCancelCause(context.Background())
	if i.only == nil {
		return s, nil
	}
	return s, newReflector(newFeed(i.only, s))
}
