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

// ForgottenOwner makes a Config (a Secret) for each Shop, and then sets its owner reference. The next call finds the
// Config and is content. If the second write fails, the Config stays when the Shop goes.
//
// Mechanism: https://github.com/aquasecurity/trivy-operator/issues/1855 (pull secrets become orphaned, because the
// owner reference is added after the create).
func ForgottenOwner() sim.Program {
	return sim.Program{
		Server: newServer(),
		Run:    runForgottenOwner,
		Users: script(
			create("shop", ShopSpec{Host: "shop.example.com"}), settle,
			remove("shop"), settle,
		),
	}
}

func runForgottenOwner(ctx context.Context, to client.Connection) error {
	shops, secrets := kinform.Open(to, Shops), kinform.Open(to, Configs)
	c := controller.New("secrets", func(ctx context.Context, key kinform.Key) error {
		shop, ok := shops.Cached(key)
		if !ok {
			return nil
		}
		if _, ok := secrets.Cached(key); ok {
			return nil
		}
		secret := &Config{ObjectMeta: owned(shop), Data: map[string]string{"host": shop.Spec.Host}}
		secret, err := secrets.Create(ctx, secret, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		if err := controller.Adopt(secret, shop, Shops); err != nil {
			return err
		}
		_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
		return err
	})
	controller.For(c, shops)
	controller.Owns(c, shops, secrets)
	return manager.Run(ctx, c)
}
