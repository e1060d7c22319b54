package planted

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/sim"
)

// StaleDeletion keeps a Volume for each Shop, and deletes it by its name when the cache has the Shop with a deletion
// mark. After a restart on an API server that is behind, that can be an earlier Shop of the same name.
//
// Mechanism: https://github.com/instaclustr/cassandra-operator/issues/402 and
// https://github.com/Orange-OpenSource/casskop/issues/316 (a PVC is deleted because of a stale deletionTimestamp).
func StaleDeletion() sim.Program {
	return sim.Program{
		Server: newServer(),
		Run:    runStaleDeletion,
		Users: script(
			create("shop", ShopSpec{Size: 1}), settle,
			remove("shop"), gone("shop"),
			create("shop", ShopSpec{Size: 1}),
			until("the volume has the users' rows", func(w *sim.World) error {
				_, err := fake.Patch[*Volume](w.Server, keyOf("shop"), []byte(`{"data":{"rows":"42"}}`))
				return err
			}),
			settle,
			patch("shop", `{"metadata":{"labels":{"team":"a"}}}`), settle,
		),
	}
}

func runStaleDeletion(ctx context.Context, to client.Connection) error {
	shops, volumes := kinform.Open(to, Shops), kinform.Open(to, Volumes)
	c := controller.New("volumes", func(ctx context.Context, key kinform.Key) error {
		shop, ok := shops.Cached(key)
		if !ok {
			return nil
		}
		if shop.DeletionTimestamp != nil {
			if err := controller.IgnoreNotFound(volumes.Delete(ctx, key, metav1.DeleteOptions{})); err != nil {
				return err
			}
			_, err := setFinalizer(ctx, shops, shop, false)
			return controller.IgnoreNotFound(err)
		}
		shop, err := setFinalizer(ctx, shops, shop, true)
		if err != nil {
			return controller.IgnoreNotFound(err)
		}
		if _, ok := volumes.Cached(key); !ok {
			_, err = volumes.Create(ctx, &Volume{ObjectMeta: owned(shop)}, metav1.CreateOptions{})
		}
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		if err == nil {
			_, err = controller.PatchStatus(ctx, shops, shop, func(s *Shop) {
				s.Status.Phase = "Ready " + s.Labels["team"]
			})
		}
		return err
	})
	controller.For(c, shops)
	controller.Watch(c, volumes, func(dst []kinform.Key, v *Volume) []kinform.Key { return append(dst, keyOfObject(v)) })
	return manager.Run(ctx, c)
}
