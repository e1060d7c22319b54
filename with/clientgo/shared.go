package clientgo

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/logs"
)

// shared is an informer with the methods of a cache.SharedIndexInformer that do not depend on its
// source.
type shared[K comparable, T any] struct {
	inf     *informer.Informer[K, T]
	indexer *indexer[K, T]
	log     logs.Log
	// guard wraps each handler; nil for none.
	guard func(informer.Handler[K, T], *klog.Logger) informer.Handler[K, T]
}

func newShared[K comparable, T any](inf *informer.Informer[K, T], names names[K], log logs.Log) shared[K, T] {
	return shared[K, T]{inf: inf, indexer: &indexer[K, T]{store: informer.Writer(inf), names: names, log: log}, log: log}
}

// run runs the informer. A panic of a handler or another function of the user goes on here, with
// its own value.
func (s *shared[K, T]) run(ctx context.Context) {
	err := s.inf.Run(ctx)
	var panicked *informer.PanicError
	switch {
	case err == nil:
	case errors.As(err, &panicked):
		panic(panicked.Value)
	case errors.Is(err, informer.ErrRunning):
		s.log.Error(err)
	default:
		panic(err)
	}
}

// HasSynced implements cache.SharedInformer.
func (s *shared[K, T]) HasSynced() bool { return isClosed(s.inf.Synced()) }

// HasSyncedChecker implements cache.SharedInformer.
func (s *shared[K, T]) HasSyncedChecker() cache.DoneChecker {
	return checker{"informer of " + s.inf.Resource(), s.inf.Synced()}
}

// LastSyncResourceVersion implements cache.SharedInformer.
func (s *shared[K, T]) LastSyncResourceVersion() string { return s.inf.Store().ResourceVersion() }

// IsStopped implements cache.SharedInformer.
func (s *shared[K, T]) IsStopped() bool { return isClosed(s.inf.Done()) }

// GetStore implements cache.SharedInformer.
func (s *shared[K, T]) GetStore() cache.Store { return s.indexer }

// GetIndexer implements cache.SharedIndexInformer. Its writes are for tests: handlers get no events
// for them, and the next change or list of the server overrides them.
func (s *shared[K, T]) GetIndexer() cache.Indexer { return s.indexer }

// AddIndexers implements cache.SharedIndexInformer.
func (s *shared[K, T]) AddIndexers(indexers cache.Indexers) error {
	if s.IsStopped() {
		return &stoppedError{"indexers", s.inf.Resource()}
	}
	return s.indexer.AddIndexers(indexers)
}

// GetController implements cache.SharedInformer. The Controller's Run does nothing.
func (s *shared[K, T]) GetController() cache.Controller { return idle[K, T]{s} }

// idle is an informer without its Run.
type idle[K comparable, T any] struct{ *shared[K, T] }

func (idle[K, T]) Run(<-chan struct{})                {}
func (idle[K, T]) RunWithContext(ctx context.Context) {}

// stoppedError ends in the words of client-go's error, which programs look for, and is an
// informer.ErrStopped.
type stoppedError struct{ what, resource string }

func (e *stoppedError) Error() string {
	return fmt.Sprintf("clientgo: %s of %s was not added to shared informer because it has stopped already", e.what, e.resource)
}

func (e *stoppedError) Unwrap() error { return informer.ErrStopped }

// checker is a cache.DoneChecker.
type checker struct {
	name string
	done <-chan struct{}
}

func (c checker) Name() string          { return c.name }
func (c checker) Done() <-chan struct{} { return c.done }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
