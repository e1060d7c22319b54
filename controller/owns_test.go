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
		c := controller.New(controller.Options[key]{Name: "gadgets"})
		ok(t, controller.Owns(c, owners, informerOf(t, server)))
		none := func(context.Context, key) error { return nil }
		err := c.Run(t.Context(), none)
		if !errors.Is(err, controller.ErrNoOwners) {
			t.Fatalf("Run returned %v", err)
		}
		for _, want := range []string{"Owns of gadgets by gadgets", "call For"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q does not name %q", err, want)
			}
		}
		ok(t, controller.For(c, owners))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx, none) }()
		synctest.Wait()
		cancel()
		ok(t, <-ended)
	})
}

// While Run runs, Owns needs the owners at once.
func TestOwnsWhileRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, owners := setup(t)
		c := controller.New(controller.Options[key]{Name: "gadgets"})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx, func(context.Context, key) error { return nil }) }()
		synctest.Wait()
		owned := informerOf(t, server)
		if err := controller.Owns(c, owners, owned); !errors.Is(err, controller.ErrNoOwners) || !strings.Contains(err.Error(), "Owns of gadgets by gadgets") {
			t.Errorf("without For: %v", err)
		}
		ok(t, controller.For(c, owners))
		ok(t, controller.Owns(c, owners, owned))
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
			c := controller.New(controller.Options[key]{})
			ok(t, controller.Owns(c, owners, owned))
			if how == "Watch" {
				ok(t, controller.Watch(c, owners, func(keys []key, _ *gadget) []key { return keys }))
			} else {
				ok(t, controller.Unwatch(c, owned))
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- c.Run(ctx, func(context.Context, key) error { return nil }) }()
			synctest.Wait()
			cancel()
			ok(t, <-ended)
		})
	}
}
