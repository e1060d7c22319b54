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

// FinalizerFirst keeps a record in the cloud for each Shop, and a finalizer on the Shop. When the Shop is deleted, it
// removes the finalizer, and then the record. After a crash or a lost answer between the two, nobody knows of the
// record any more.
//
// Mechanism: https://github.com/openkube-hub/KubeUser/issues/54 and https://github.com/pingcap/tidb-operator/issues/6532
// (the finalizer goes although something is left to clean up).
func FinalizerFirst() sim.Program {
	records := newCloud()
	return sim.Program{
		Server: newServer(),
		Run:    func(ctx context.Context, to client.Connection) error { return runFinalizerFirst(ctx, to, records) },
		Users: script(
			create("shop", ShopSpec{Host: "shop.example.com"}), settle,
			remove("shop"), settle,
		),
		Finally: func(w *sim.World) error { return records.fits(w, byUID) },
	}
}

func runFinalizerFirst(ctx context.Context, to client.Connection, records *cloud) error {
	shops := kinform.Open(to, Shops)
	c := controller.New("records", func(ctx context.Context, key kinform.Key) error {
		shop, err := shops.Get(ctx, key, metav1.GetOptions{})
		if err != nil {
			return controller.IgnoreNotFound(err)
		}
		if shop.DeletionTimestamp != nil {
			shop, err := setFinalizer(ctx, shops, shop, false)
			if err == nil {
				records.remove(byUID(shop))
			}
			return controller.IgnoreNotFound(err)
		}
		shop, err = setFinalizer(ctx, shops, shop, true)
		if err == nil {
			records.set(byUID(shop), shop.Spec.Host)
		}
		return controller.IgnoreNotFound(err)
	})
	controller.For(c, shops)
	return manager.Run(ctx, c)
}
