package planted

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/fake/sim"
	"github.com/kinform/kinform/shard/leader"
)

// Elected is correct. It has two replicas, of which the leader alone works, through the elector's gate.
func Elected() sim.Program {
	replicas := new(atomic.Int64)
	return sim.Program{
		Server: newServer(),
		Run: func(ctx context.Context, to client.Connection) error {
			return runElected(ctx, to, fmt.Sprintf("replica-%d", replicas.Add(1)))
		},
		Replicas: 2,
		Users: script(
			create("shop", ShopSpec{Size: 1}), settle,
			patch("shop", `{"spec":{"size":2}}`), settle,
			create("cafe", ShopSpec{Size: 1}), settle,
			remove("shop"), settle,
		),
	}
}

func runElected(ctx context.Context, to client.Connection, identity string) error {
	elector := leader.New(to, leader.Options{Namespace: namespace, Name: "shops", Identity: identity})
	gated := elector.Gate(to)
	shops, configs := kinform.Open(gated, Shops), kinform.Open(gated, Configs)
	c := controller.New("configs", func(ctx context.Context, key kinform.Key) error {
		shop, ok := shops.Cached(key)
		if !ok {
			return nil
		}
		if err := sized(ctx, configs, shop); err != nil {
			return err
		}
		_, err := controller.PatchStatus(ctx, shops, shop, func(s *Shop) {
			s.Status.Phase = "Ready"
			s.Status.ObservedGeneration = shop.Generation
		})
		return err
	})
	controller.For(c, shops)
	controller.Owns(c, shops, configs)
	m := manager.New(manager.Options{Elector: elector})
	m.AddControllers(c)
	return m.Run(ctx)
}
