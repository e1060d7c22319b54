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

// GeneratedName starts one run (a Config) per Shop. The server generates its name, and the status of the Shop has it. If
// the answer to the create is lost, or the status is not written, the next call starts another run.
//
// Mechanism: https://github.com/tektoncd/pipeline/issues/3126 (a Pipeline with one Task results in several TaskRuns).
func GeneratedName() sim.Program {
	return sim.Program{
		Server: newServer(),
		Run:    runGeneratedName,
		Users: script(
			create("shop", ShopSpec{Size: 1}), settle,
			patch("shop", `{"metadata":{"labels":{"team":"a"}}}`), settle,
		),
	}
}

func runGeneratedName(ctx context.Context, to client.Connection) error {
	shops, runs := kinform.Open(to, Shops), kinform.Open(to, Configs)
	c := controller.New("run", func(ctx context.Context, key kinform.Key) error {
		shop, ok := shops.Cached(key)
		if !ok || shop.Status.Run != "" {
			return nil
		}
		run := &Config{Data: map[string]string{"size": strconv.FormatInt(shop.Spec.Size, 10)}}
		run.Namespace, run.GenerateName = shop.Namespace, shop.Name+"-"
		if err := controller.SetController(run, shop, Shops); err != nil {
			return err
		}
		run, err := runs.Create(ctx, run, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		_, err = controller.PatchStatus(ctx, shops, shop, func(s *Shop) { s.Status.Run = run.Name })
		return err
	})
	controller.For(c, shops)
	controller.Owns(c, shops, runs)
	return manager.Run(ctx, c)
}
