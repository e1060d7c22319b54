package planted

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/fake/sim"
	"github.com/kinform/kinform/shard/leader"
)

// TwoLeases is correct. It has two controllers, each with a Lease of its own, so a process may lose one and keep the other.
func TwoLeases() sim.Program {
	replicas := new(atomic.Int64)
	return sim.Program{
		Server: newServer(),
		Run: func(ctx context.Context, to client.Connection) error {
			identity := fmt.Sprintf("replica-%d", replicas.Add(1))
			ctx, stop := context.WithCancel(ctx)
			defer stop()
			ended := make(chan error, 2)
			go func() { ended <- leads(ctx, to, "configs", identity, makeConfig) }()
			go func() { ended <- leads(ctx, to, "statuses", identity, reportReady) }()
			err := <-ended
			stop()
			return errors.Join(err, <-ended)
		},
		Replicas: 2,
		Users: script(
			create("shop", ShopSpec{Size: 1}), settle,
			patch("shop", `{"spec":{"size":2}}`), settle,
		),
	}
}

// leads runs a controller while the process has the Lease of its name.
func leads(
	ctx context.Context, to client.Connection, name, identity string,
	do func(ctx context.Context, shop *Shop, shops *kinform.Handle[*Shop], configs *kinform.Handle[*Config]) error,
) error {
	options := candidate(identity)
	options.Name = name
	elector := leader.New(to, options)
	gated := elector.Gate(to)
	shops, configs := kinform.Open(gated, Shops), kinform.Open(gated, Configs)
	c := controller.New(name, func(ctx context.Context, key kinform.Key) error {
		shop, ok := shops.Cached(key)
		if !ok {
			return nil
		}
		return do(ctx, shop, shops, configs)
	})
	controller.For(c, shops)
	controller.Owns(c, shops, configs)
	m := manager.New(manager.Options{Elector: elector})
	m.AddControllers(c)
	return m.Run(ctx)
}

func makeConfig(ctx context.Context, shop *Shop, _ *kinform.Handle[*Shop], configs *kinform.Handle[*Config]) error {
	return sized(ctx, configs, shop)
}

func reportReady(ctx context.Context, shop *Shop, shops *kinform.Handle[*Shop], _ *kinform.Handle[*Config]) error {
	_, err := controller.PatchStatus(ctx, shops, shop, func(s *Shop) {
		s.Status.Phase = "Ready"
		s.Status.ObservedGeneration = shop.Generation
	})
	return err
}
