package planted

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/fake/sim"
)

// LateFinalizer makes a record in the cloud for each Shop, and then puts its finalizer on the Shop. A Shop that is
// deleted between the two goes at once, and its record stays.
//
// Mechanism: https://github.com/outscale/cluster-api-provider-outscale/issues/917 (the finalizer is stored after the
// resources are made).
func LateFinalizer() sim.Program {
	records := newCloud()
	return sim.Program{
		Server: newServer(),
		Run:    func(ctx context.Context, to client.Connection) error { return runLateFinalizer(ctx, to, records) },
		Users: script(
			create("shop", ShopSpec{Host: "shop.example.com"}), settle,
			remove("shop"), settle,
		),
		Finally: func(w *sim.World) error { return records.fits(w, byUID) },
	}
}

func runLateFinalizer(ctx context.Context, to client.Connection, records *cloud) error {
	shops := kinform.Open(to, Shops)
	c := controller.New("records", func(ctx context.Context, key kinform.Key) error {
		shop, err := shops.Get(ctx, key, metav1.GetOptions{})
		if err != nil {
			return controller.IgnoreNotFound(err)
		}
		if shop.DeletionTimestamp != nil {
			records.remove(byUID(shop))
			_, err := setFinalizer(ctx, shops, shop, false)
			return controller.IgnoreNotFound(err)
		}
		records.set(byUID(shop), shop.Spec.Host)
		_, err = setFinalizer(ctx, shops, shop, true)
		return controller.IgnoreNotFound(err)
	})
	controller.For(c, shops)
	return manager.Run(ctx, c)
}
