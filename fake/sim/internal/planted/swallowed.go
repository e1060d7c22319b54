package planted

import (
	"context"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/fake/sim"
)

// SwallowedConflict makes a Config of a Shop's size. A conflict is no error to it: whoever came first will have caused an
// event. But it has a filter for events that do not change a spec.
//
// Mechanism: https://github.com/Azure/azure-service-operator/pull/2719 (a conflict was ignored because an event would
// follow, and the change was one that is not watched).
func SwallowedConflict() sim.Program {
	return sim.Program{
		Server: newServer(),
		Run:    runSwallowedConflict,
		Users: script(
			create("shop", ShopSpec{Size: 1}), settle,
			patch("shop", `{"spec":{"size":2}}`), settle,
		),
	}
}

func runSwallowedConflict(ctx context.Context, to client.Connection) error {
	shops, configs := kinform.Open(to, Shops), kinform.Open(to, Configs)
	c := controller.New("configs", func(ctx context.Context, key kinform.Key) error {
		shop, ok := shops.Cached(key)
		if !ok {
			return nil
		}
		size := strconv.FormatInt(shop.Spec.Size, 10)
		config, ok := configs.Cached(key)
		if !ok {
			config = &Config{ObjectMeta: owned(shop), Data: map[string]string{"size": size}}
			if err := controller.SetController(config, shop, Shops); err != nil {
				return err
			}
			_, err := configs.Create(ctx, config, metav1.CreateOptions{})
			return err
		}
		if config.Data["size"] == size {
			return nil
		}
		config = config.DeepCopy()
		config.Data["size"] = size
		_, err := configs.Update(ctx, config, metav1.UpdateOptions{})
		if apierrors.IsConflict(err) {
			return nil
		}
		return err
	})
	controller.For(c, shops, controller.GenerationChanged)
	controller.Owns(c, shops, configs, controller.GenerationChanged)
	return manager.Run(ctx, c)
}
