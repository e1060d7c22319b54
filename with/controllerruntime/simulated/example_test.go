package simulated_test

import (
	"context"
	"errors"
	"testing"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/sim"
	"github.com/kinform/kinform/with/controllerruntime/simulated"
)

// The manager is made as in the program itself.
func Example() {
	setup := func(ctrl.Manager) error { return errors.New("your setup") }  // adds the controllers
	users := func(*sim.World) error { return errors.New("what users do") } // creates, changes and deletes objects
	_ = func(t *testing.T) {
		sim.Explore(t, func() sim.Program {
			return sim.Program{
				Server: fake.New(fake.Options{}), // with the kinds of the manager
				Run: simulated.Manager(func(ctx context.Context, cfg *rest.Config) error {
					mgr, err := ctrl.NewManager(cfg, ctrl.Options{})
					if err == nil {
						err = setup(mgr)
					}
					if err != nil {
						return err
					}
					return mgr.Start(ctx)
				}),
				Users: users,
			}
		})
	}
}
