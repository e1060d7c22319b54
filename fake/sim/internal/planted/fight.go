package planted

import (
	"context"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/fake/sim"
)

// Fight has two controllers. One makes a Config (a StatefulSet) with a Shop's size as its replicas, the other scales it up
// to three. Once the first has made a set, it says in an annotation that the other one scales it, and leaves it alone.
// After a crash between the two writes the annotation never comes. Then the first puts the replicas back, and
// the other puts them right, for ever.
//
// Mechanism: https://github.com/gardener/gardener/pull/1017 and
// https://github.com/nginx/nginx-gateway-fabric/pull/4214 (a controller and an autoscaler both write the replicas).
func Fight() sim.Program {
	return sim.Program{
		Server: newServer(),
		Run:    runFight,
		Users: script(
			create("shop", ShopSpec{Size: 1}), settle,
			patch("shop", `{"metadata":{"labels":{"team":"a"}}}`), settle,
		),
	}
}

func runFight(ctx context.Context, to client.Connection) error {
	shops, sets := kinform.Open(to, Shops), kinform.Open(to, Configs)
	deploy := controller.New("deploy", func(ctx context.Context, key kinform.Key) error {
		shop, ok := shops.Cached(key)
		if !ok {
			return nil
		}
		if set, ok := sets.Cached(key); ok && set.Annotations["example.com/scaled"] == "yes" {
			return nil
		}
		_, outcome, err := controller.CreateOrUpdate(ctx, sets, &Config{ObjectMeta: owned(shop)}, func(set *Config) error {
			if err := controller.SetController(set, shop, Shops); err != nil {
				return err
			}
			set.Data = map[string]string{"replicas": strconv.FormatInt(shop.Spec.Size, 10)}
			return nil
		})
		if err != nil || outcome != controller.Created {
			return err
		}
		note := []byte(`{"metadata":{"annotations":{"example.com/scaled":"yes"}}}`)
		_, err = sets.Patch(ctx, key, types.MergePatchType, note, metav1.PatchOptions{})
		return err
	})
	controller.For(deploy, shops)
	controller.Owns(deploy, shops, sets)

	scale := controller.New("scale", func(ctx context.Context, key kinform.Key) error {
		set, ok := sets.Cached(key)
		if !ok || set.Data["replicas"] == "3" {
			return nil
		}
		_, err := sets.Patch(ctx, key, types.MergePatchType, []byte(`{"data":{"replicas":"3"}}`), metav1.PatchOptions{})
		return controller.IgnoreNotFound(err)
	})
	controller.For(scale, sets)
	return manager.Run(ctx, deploy, scale)
}
