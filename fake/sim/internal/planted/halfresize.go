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

// HalfResize makes a Config (a StatefulSet) and a Volume of a Shop's size. A set cannot be resized, so another size
// takes three writes: it deletes the set, resizes the Volume, and makes the set anew. The set alone tells whether
// that is to do. A crash after the first write thus leaves the Volume as it was, for good.
//
// Mechanism: https://github.com/rabbitmq/cluster-operator/issues/782 (PVC expansion fails if the operator crashes in
// the middle).
func HalfResize() sim.Program {
	return sim.Program{
		Server: newServer(),
		Run:    runHalfResize,
		Users: script(
			create("shop", ShopSpec{Size: 10}), settle,
			patch("shop", `{"spec":{"size":15}}`), settle,
		),
	}
}

func runHalfResize(ctx context.Context, to client.Connection) error {
	shops, sets, volumes := kinform.Open(to, Shops), kinform.Open(to, Configs), kinform.Open(to, Volumes)
	c := controller.New("resize", func(ctx context.Context, key kinform.Key) error {
		shop, ok := shops.Cached(key)
		if !ok {
			return nil
		}
		size := strconv.FormatInt(shop.Spec.Size, 10)
		volume, ok := volumes.Cached(key)
		if !ok {
			volume = &Volume{ObjectMeta: owned(shop), Data: map[string]string{"size": size}}
			if err := controller.SetController(volume, shop, Shops); err != nil {
				return err
			}
			if _, err := volumes.Create(ctx, volume, metav1.CreateOptions{}); err != nil {
				return err
			}
		}
		set, ok := sets.Cached(key)
		if ok && set.Data["size"] == size {
			return nil
		}
		if ok {
			if err := controller.Delete(ctx, sets, set, metav1.DeleteOptions{}); err != nil {
				return err
			}
			volume = volume.DeepCopy()
			volume.Data["size"] = size
			if _, err := volumes.Update(ctx, volume, metav1.UpdateOptions{}); err != nil {
				return err
			}
		}
		set = &Config{ObjectMeta: owned(shop), Data: map[string]string{"size": size}}
		if err := controller.SetController(set, shop, Shops); err != nil {
			return err
		}
		_, err := sets.Create(ctx, set, metav1.CreateOptions{})
		return err
	})
	controller.For(c, shops)
	controller.Owns(c, shops, sets)
	controller.Owns(c, shops, volumes)
	return manager.Run(ctx, c)
}
