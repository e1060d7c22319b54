package planted

import (
	"context"
	"time"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/fake/sim"
)

// CleanupAfterwards keeps a record in the cloud for each Shop. It removes the record when the cache has the Shop no
// more. A Shop that goes while the process is down is never seen to go.
//
// Mechanism: https://github.com/kubernetes/kubernetes/issues/53451 (the service controller leaves load balancers behind
// if it restarts while a service is deleted).
func CleanupAfterwards() sim.Program {
	records := newCloud()
	return sim.Program{
		Server: newServer(),
		Run:    func(ctx context.Context, to client.Connection) error { return runCleanupAfterwards(ctx, to, records) },
		Users: script(
			create("shop", ShopSpec{Host: "shop.example.com"}), wait(500*time.Millisecond),
			remove("shop"), settle,
		),
		Finally: func(w *sim.World) error { return records.fits(w, byName) },
	}
}

// byName names records after Shops.
func byName(shop *Shop) string { return shop.Name }

func runCleanupAfterwards(ctx context.Context, to client.Connection, records *cloud) error {
	shops := kinform.Open(to, Shops)
	c := controller.New("records", func(ctx context.Context, key kinform.Key) error {
		shop, ok := shops.Cached(key)
		if !ok {
			records.remove(key.Name)
			return nil
		}
		records.set(key.Name, shop.Spec.Host)
		_, err := controller.PatchStatus(ctx, shops, shop, func(s *Shop) { s.Status.Phase = "Ready" })
		return err
	})
	controller.For(c, shops)
	return manager.Run(ctx, c)
}
