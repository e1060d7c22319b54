package planted

import (
	"context"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/fake/sim"
)

// WrongGeneration makes a Config of a Shop's size. Then it reads the newest Shop for the status, and reports that
// object's generation, though it has worked on an older spec. The next call believes the status and does nothing.
//
// Mechanism: https://github.com/kubernetes-retired/service-catalog/issues/1747 (an object whose status has its
// generation is not processed) with https://github.com/gardener/etcd-druid/pull/996 (the generation is stored apart from
// what it is about).
func WrongGeneration() sim.Program {
	return sim.Program{
		Server: newServer(),
		Run:    runWrongGeneration,
		Users: script(
			create("shop", ShopSpec{Size: 1}), settle,
			patch("shop", `{"spec":{"size":2}}`), settle,
		),
	}
}

func runWrongGeneration(ctx context.Context, to client.Connection) error {
	shops, configs := kinform.Open(to, Shops), kinform.Open(to, Configs)
	c := controller.New("configs", func(ctx context.Context, key kinform.Key) error {
		shop, ok := shops.Cached(key)
		if !ok || shop.Status.ObservedGeneration == shop.Generation {
			return nil
		}
		_, _, err := controller.CreateOrUpdate(ctx, configs, &Config{ObjectMeta: owned(shop)}, func(config *Config) error {
			config.Data = map[string]string{"size": strconv.FormatInt(shop.Spec.Size, 10)}
			return controller.SetController(config, shop, Shops)
		})
		if err != nil {
			return err
		}
		newest, err := shops.Get(ctx, key, metav1.GetOptions{})
		if err != nil {
			return controller.IgnoreNotFound(err)
		}
		newest.Status.ObservedGeneration = newest.Generation
		_, err = shops.UpdateStatus(ctx, newest, metav1.UpdateOptions{})
		return controller.IgnoreNotFound(err)
	})
	controller.For(c, shops)
	controller.Owns(c, shops, configs)
	return manager.Run(ctx, c)
}
