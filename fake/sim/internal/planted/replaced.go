package planted

import (
	"context"
	"errors"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/fake/sim"
)

// ReplacedUnseen issues a certificate for each Shop, for the Shop's UID, and revokes those of Shops that are gone. It
// tells Shops apart by their names. If a Shop is deleted and created again while no watch shows it, the new one
// never gets a certificate.
//
// Mechanism: https://github.com/kubernetes/kubernetes/pull/133565 and https://github.com/kubevirt/kubevirt/pull/218 (an
// object with another UID under the same name is taken for an update).
func ReplacedUnseen() sim.Program {
	certificates := newCloud() // the UID by the name
	return sim.Program{
		Server: newServer(),
		Run:    func(ctx context.Context, to client.Connection) error { return runReplacedUnseen(ctx, to, certificates) },
		Users: script(
			create("shop", ShopSpec{Host: "shop.example.com"}), settle,
			remove("shop"), settle,
			create("shop", ShopSpec{Host: "shop.example.com"}), settle,
		),
		Finally: func(w *sim.World) error { return certified(w, certificates) },
	}
}

func certified(w *sim.World, certificates *cloud) error {
	shop, err := shopOf(w, "shop")
	if err == nil && certificates.all()["shop"] != string(shop.UID) {
		err = errors.New("the certificate of the shop is another shop's")
	}
	return err
}

func runReplacedUnseen(ctx context.Context, to client.Connection, certificates *cloud) error {
	shops := kinform.Open(to, Shops)
	c := controller.New("certificates", func(ctx context.Context, all kinform.Key) (err error) {
		has := certificates.all()
		for name := range has {
			if _, ok := shops.Cached(keyOf(name)); !ok {
				certificates.remove(name)
			}
		}
		for _, shop := range shops.List("", nil) {
			if _, ok := has[shop.Name]; !ok {
				certificates.set(shop.Name, string(shop.UID))
			}
			_, failed := controller.PatchStatus(ctx, shops, shop, func(s *Shop) { s.Status.Phase = "Certified" })
			err = errors.Join(err, failed)
		}
		return err
	})
	controller.Watch(c, shops, func(dst []kinform.Key, _ *Shop) []kinform.Key { return append(dst, kinform.Key{}) })
	c.Queue().Add(kinform.Key{}) // there may be no Shop left, but a certificate
	return manager.Run(ctx, c)
}
