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

// NoFence has two replicas, of which the leader writes who it is into the Config of each Shop. The work of a leader
// goes on after it has lost the lease, because it has the context of the process and not that of its term.
//
// Mechanism: https://github.com/kubernetes/kubernetes/issues/23731 (a process that has lost the lease goes on as leader).
func NoFence() sim.Program {
	replicas := new(atomic.Int64)
	return sim.Program{
		Server: newServer(),
		Run: func(ctx context.Context, to client.Connection) error {
			return runNoFence(ctx, to, fmt.Sprintf("replica-%d", replicas.Add(1)))
		},
		Replicas: 2,
		Users: script(
			create("shop", ShopSpec{Size: 1}), settle,
			patch("shop", `{"spec":{"size":2}}`), settle,
		),
		Ignore: []string{"data.leader"},
	}
}

func runNoFence(ctx context.Context, to client.Connection, identity string) (err error) {
	shops, configs := kinform.Open(to, Shops), kinform.Open(to, Configs)
	c := controller.New("configs", func(ctx context.Context, key kinform.Key) error {
		shop, ok := shops.Cached(key)
		if !ok {
			return nil
		}
		_, _, err := controller.CreateOrUpdate(ctx, configs, &Config{ObjectMeta: owned(shop)}, func(config *Config) error {
			if err := controller.SetController(config, shop, Shops); err != nil {
				return err
			}
			config.Data = map[string]string{"leader": identity, "size": fmt.Sprint(shop.Spec.Size)}
			return nil
		})
		return err
	})
	controller.For(c, shops)
	controller.Owns(c, shops, configs)
	elector := leader.New(to, leader.Options{Namespace: namespace, Name: "shops", Identity: identity})
	failed := elector.Lead(ctx, func(context.Context) { err = manager.Run(ctx, c) })
	return first(err, failed)
}
