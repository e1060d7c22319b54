package controllerruntime

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/mistake"
)

// Source is an informer, or a handle on one, as a source of a controller of controller-runtime: of
// builder.WatchesRawSource and controller.Watch. h gets the events that all predicates let pass,
// one at a time, in the goroutine of the informer's handler. The controller waits until h has had
// all objects of the first list, and h is removed when the controller ends.
//
// The informer must run: see [Runnable]. A panic in h or a predicate ends its Run with an error.
//
// Errors of Start: informer.ErrInvalid if inf or h is nil, and the errors of informer.AddHandler.
func Source[K comparable, T any, Q comparable](inf informer.Informed[K, T], h handler.TypedEventHandler[T, Q], predicates ...predicate.TypedPredicate[T]) source.TypedSyncingSource[Q] {
	s := &events[K, T, Q]{handler: h, predicates: predicates}
	if inf != nil {
		s.inf = inf.AsInformer()
	}
	return s
}

// events is a source.TypedSyncingSource.
type events[K comparable, T any, Q comparable] struct {
	inf        *informer.Informer[K, T]
	handler    handler.TypedEventHandler[T, Q]
	predicates []predicate.TypedPredicate[T]
	reg        *informer.Registration // set by Start
}

// Start implements source.TypedSource.
func (s *events[K, T, Q]) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[Q]) error {
	if s.inf == nil {
		return fmt.Errorf("a source of %T: %w", *new(T), mistake.NoInformer)
	}
	if s.handler == nil {
		return fmt.Errorf("controllerruntime: %s: %w", s.inf.Resource(), mistake.NoHandler)
	}
	reg, err := s.inf.AddHandler(informer.HandlerFunc[K, T](func(ev informer.Event[K, T]) { s.pass(ctx, ev, queue) }), informer.HandlerOptions[T]{})
	if err != nil {
		return err
	}
	s.reg = reg
	context.AfterFunc(ctx, reg.Remove)
	return nil
}

// pass passes an event on.
func (s *events[K, T, Q]) pass(ctx context.Context, ev informer.Event[K, T], queue workqueue.TypedRateLimitingInterface[Q]) {
	switch ev.Type {
	case informer.Added:
		made := event.TypedCreateEvent[T]{Object: ev.Object, IsInInitialList: ev.Initial}
		if s.all(func(p predicate.TypedPredicate[T]) bool { return p.Create(made) }) {
			s.handler.Create(ctx, made, queue)
		}
	case informer.Updated:
		changed := event.TypedUpdateEvent[T]{ObjectOld: ev.Old, ObjectNew: ev.Object}
		if s.all(func(p predicate.TypedPredicate[T]) bool { return p.Update(changed) }) {
			s.handler.Update(ctx, changed, queue)
		}
	case informer.Deleted:
		gone := event.TypedDeleteEvent[T]{Object: ev.Object, DeleteStateUnknown: ev.FinalStateUnknown}
		if s.all(func(p predicate.TypedPredicate[T]) bool { return p.Delete(gone) }) {
			s.handler.Delete(ctx, gone, queue)
		}
	}
}

func (s *events[K, T, Q]) all(pass func(predicate.TypedPredicate[T]) bool) bool {
	for _, p := range s.predicates {
		if !pass(p) {
			return false
		}
	}
	return true
}

// WaitForSync implements source.TypedSyncingSource. It returns nil if ctx is cancelled. If ctx ends
// in time, the error says why the first list fails.
func (s *events[K, T, Q]) WaitForSync(ctx context.Context) error {
	select {
	case <-s.reg.Synced():
		return nil
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.Canceled) {
			return nil
		}
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), -1)
	defer cancel()
	if err := s.inf.WaitForSync(late); err != nil {
		return err
	}
	return ctx.Err()
}

// String names the source in logs.
func (s *events[K, T, Q]) String() string {
	if s.inf == nil {
		return "kinform source without an informer"
	}
	return "kinform source: " + s.inf.Resource()
}

// Runnable lets a manager run an informer or a handle. It runs in every replica, even in replicas that do not
// lead, so that a new leader finds its cache filled. If cache's Run ends with an error, the manager stops with
// it. A controller.Controller is none: give its Run to manager.RunnableFunc, which waits for the lead.
func Runnable(cache controller.Cache) manager.Runnable {
	return runnable{cache.Run}
}

type runnable struct{ run func(context.Context) error }

// Start implements manager.Runnable.
func (r runnable) Start(ctx context.Context) error { return r.run(ctx) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (runnable) NeedLeaderElection() bool { return false }
