package planted

import (
	"context"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/fake/sim"
)

// CounterName makes a revision (a Config) of each spec. Its name ends in a number, which the status counts up after the
// create; a name that is taken counts it up, too. If the status is not written, the same spec gets another revision.
//
// Mechanism: https://github.com/kubernetes/kubernetes/issues/56355 and 80698 (a StatefulSet gets several
// ControllerRevisions of one spec, because collisionCount makes a repeated create another one).
func CounterName() sim.Program {
	return sim.Program{
		Server: newServer(),
		Run:    runCounterName,
		Users: script(
			create("shop", ShopSpec{Size: 1}), settle,
			patch("shop", `{"spec":{"size":2}}`), settle,
		),
	}
}

func runCounterName(ctx context.Context, to client.Connection) error {
	shops, revisions := kinform.Open(to, Shops), kinform.Open(to, Configs)
	c := controller.New("revisions", func(ctx context.Context, key kinform.Key) error {
		shop, ok := shops.Cached(key)
		if !ok || shop.Status.ObservedGeneration == shop.Generation {
			return nil
		}
		number := shop.Status.Runs
		err := error(apierrors.NewAlreadyExists(Configs.GroupResource(), ""))
		for apierrors.IsAlreadyExists(err) {
			number++
			revision := &Config{Data: map[string]string{"size": strconv.FormatInt(shop.Spec.Size, 10)}}
			revision.Namespace, revision.Name = shop.Namespace, fmt.Sprintf("%s-%d", shop.Name, number)
			if err := controller.SetController(revision, shop, Shops); err != nil {
				return err
			}
			_, err = revisions.Create(ctx, revision, metav1.CreateOptions{})
		}
		if err != nil {
			return err
		}
		_, err = controller.PatchStatus(ctx, shops, shop, func(s *Shop) {
			s.Status.Runs = number
			s.Status.ObservedGeneration = shop.Generation
		})
		return err
	})
	controller.For(c, shops)
	controller.Owns(c, shops, revisions)
	return manager.Run(ctx, c)
}
