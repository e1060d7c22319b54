package planted

import (
	"context"
	"strconv"
	"time"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/fake/sim"
)

// Timestamps makes a Config of a Shop's size. If that has ever failed, it looks at the Shop twice a minute, and writes
// into the status when it has looked. That never ends.
//
// Mechanism: https://github.com/sky-uk/kfp-operator/issues/625 and
// https://github.com/multigres/multigres-operator/pull/185 (a time in the status makes each look a write).
func Timestamps() sim.Program {
	return sim.Program{
		Server: newServer(),
		Run:    runTimestamps,
		Users: script(
			create("shop", ShopSpec{Size: 1}), settle,
			patch("shop", `{"spec":{"size":2}}`), settle,
		),
		Ignore: []string{"status.failures", "status.checked"},
	}
}

// sized makes the Config of a Shop.
func sized(ctx context.Context, configs *kinform.Handle[*Config], shop *Shop) error {
	_, _, err := controller.CreateOrUpdate(ctx, configs, &Config{ObjectMeta: owned(shop)}, func(config *Config) error {
		if err := controller.SetController(config, shop, Shops); err != nil {
			return err
		}
		config.Data = map[string]string{"size": strconv.FormatInt(shop.Spec.Size, 10)}
		return nil
	})
	return err
}

func runTimestamps(ctx context.Context, to client.Connection) error {
	shops, configs := kinform.Open(to, Shops), kinform.Open(to, Configs)
	c := controller.New("configs", func(ctx context.Context, key kinform.Key) error {
		shop, ok := shops.Cached(key)
		if !ok {
			return nil
		}
		failed := sized(ctx, configs, shop)
		shop, err := controller.PatchStatus(ctx, shops, shop, func(s *Shop) {
			if failed != nil {
				s.Status.Failures++
			}
			if s.Status.Failures > 0 {
				s.Status.Checked = time.Now().Format(time.RFC3339)
			}
		})
		if failed != nil || err != nil {
			return first(failed, err)
		}
		if shop.Status.Failures > 0 {
			return controller.Again(30 * time.Second)
		}
		return nil
	})
	controller.For(c, shops)
	controller.Owns(c, shops, configs)
	return manager.Run(ctx, c)
}

// first returns the first error that is not nil.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
