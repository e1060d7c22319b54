package controller_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/kinform/kinform/controller"
)

// Owns without a watch of the owners is an error of Run, which says what to do. After that the
// controller can run.
func TestOwnsWithoutFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, owners := setup(t)
		c, runC := delayed[key]("gadgets")
		controller.Owns(c, owners, informerOf(t, server))
		none := func(context.Context, key) error { return nil }
		err := runC(t.Context(), none)
		if !errors.Is(err, controller.ErrNoOwners) {
			t.Fatalf("Run returned %v", err)
		}
		for _, want := range []string{"Owns of gadgets by gadgets", "call For"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q does not name %q", err, want)
			}
		}
		controller.For(c, owners)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- runC(ctx, none) }()
		synctest.Wait()
		cancel()
		ok(t, <-ended)
	})
}

// While Run runs, Owns needs the owners at once.
func TestOwnsWhileRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, owners := setup(t)
		reported := make(chan error, 1)
		c, runC := delayed("gadgets", controller.Options[key]{OnError: func(err error) { reported <- err }})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- runC(ctx, func(context.Context, key) error { return nil }) }()
		synctest.Wait()
		owned := informerOf(t, server)
		controller.Owns(c, owners, owned)
		if err := <-reported; !errors.Is(err, controller.ErrNoOwners) || !strings.Contains(err.Error(), "gadgets: controller: Owns of gadgets by gadgets") {
			t.Errorf("without For, OnError got %v", err)
		}
		controller.For(c, owners)
		controller.Owns(c, owners, owned)
		cancel()
		ok(t, <-ended)
	})
}

// Any watch of the owners will do, and what is not watched any more needs no owners.
func TestOwnsWithWatch(t *testing.T) {
	for _, how := range []string{"Watch", "Unwatch"} {
		synctest.Test(t, func(t *testing.T) {
			server, owners := setup(t)
			owned := informerOf(t, server)
			c, runC := delayed[key]("")
			controller.Owns(c, owners, owned)
			if how == "Watch" {
				controller.Watch(c, owners, func(keys []key, _ *gadget) []key { return keys })
			} else {
				ok(t, controller.Unwatch(c, owned))
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- runC(ctx, func(context.Context, key) error { return nil }) }()
			synctest.Wait()
			cancel()
			ok(t, <-ended)
		})
	}
}
