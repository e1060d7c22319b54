package planted

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/fake/sim"
)

// UnchangedStatus makes a Config of a Shop's size. If that has ever failed, it looks at the Shop twice a minute, and
// writes the status each time, changed or not.
//
// Mechanism: https://github.com/keikoproj/instance-manager/issues/235 and
// https://github.com/kubernetes-sigs/controller-runtime/issues/2831 (the status is written in each reconcile).
func UnchangedStatus() sim.Program {
	return sim.Program{
		Server: newServer(),
		Run:    runUnchangedStatus,
		Users: script(
			create("shop", ShopSpec{Size: 1}), settle,
			patch("shop", `{"spec":{"size":2}}`), settle,
		),
		Ignore: []string{"status.phase"},
	}
}

func runUnchangedStatus(ctx context.Context, to client.Connection) error {
	shops, configs := kinform.Open(to, Shops), kinform.Open(to, Configs)
	write := func(ctx context.Context, shop *Shop, phase string) error {
		shop = shop.DeepCopy()
		shop.Status.Phase = phase
		_, err := shops.UpdateStatus(ctx, shop, metav1.UpdateOptions{})
		return err
	}
	c := controller.New("configs", func(ctx context.Context, key kinform.Key) error {
		shop, ok := shops.Cached(key)
		if !ok {
			return nil
		}
		if err := sized(ctx, configs, shop); err != nil {
			return first(write(ctx, shop, "Failed"), err)
		}
		switch shop.Status.Phase {
		case "":
			return write(ctx, shop, "Ready")
		case "Ready":
			return nil
		}
		return first(write(ctx, shop, "Recovered"), controller.Again(30*time.Second))
	})
	controller.For(c, shops)
	controller.Owns(c, shops, configs)
	return manager.Run(ctx, c)
}
