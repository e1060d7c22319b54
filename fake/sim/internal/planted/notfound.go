package planted

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/sim"
)

// NotFoundMeansDone says in the status that a job runs, and creates it (a Config). Another controller executes the job.
// The finished job is deleted. So if the status says that a job runs, and there is none, it counts as done: also
// when a crash came before the create.
//
// Mechanism: https://github.com/rancher/fleet/pull/5585 (a NotFound is taken for a deletion, though it has other causes).
func NotFoundMeansDone() sim.Program {
	executed := newCloud()
	return sim.Program{
		Server: newServer(),
		Run:    func(ctx context.Context, to client.Connection) error { return runNotFound(ctx, to, executed) },
		Users:  script(create("shop", ShopSpec{Size: 1}), settle),
		Finally: func(w *sim.World) error {
			shop, err := fake.Get[*Shop](w.Server, keyOf("shop"))
			if err == nil && shop.Status.Phase == "Done" && len(executed.all()) == 0 {
				err = fmt.Errorf("the shop is done, and its job was never executed")
			}
			return err
		},
	}
}

func runNotFound(ctx context.Context, to client.Connection, executed *cloud) error {
	shops, jobs := kinform.Open(to, Shops), kinform.Open(to, Configs)
	phase := func(ctx context.Context, shop *Shop, phase string) (*Shop, error) {
		return controller.PatchStatus(ctx, shops, shop, func(s *Shop) { s.Status.Phase = phase })
	}
	c := controller.New("jobs", func(ctx context.Context, key kinform.Key) (err error) {
		shop, ok := shops.Cached(key)
		if !ok || shop.Status.Phase == "Done" {
			return nil
		}
		job, ok := jobs.Cached(key)
		switch {
		case shop.Status.Phase == "Running" && !ok:
			_, err = phase(ctx, shop, "Done")
			return err
		case ok && job.Data["finished"] == "yes":
			return controller.Delete(ctx, jobs, job, metav1.DeleteOptions{}) // its event is the next call
		case ok:
			return nil
		}
		if shop, err = phase(ctx, shop, "Running"); err != nil {
			return err
		}
		job = &Config{ObjectMeta: owned(shop)}
		if err := controller.SetController(job, shop, Shops); err != nil {
			return err
		}
		_, err = jobs.Create(ctx, job, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	})
	controller.For(c, shops)
	controller.Owns(c, shops, jobs)
	return manager.Run(ctx, c, executor(jobs, executed))
}

// executor returns a controller that executes jobs.
func executor(jobs *kinform.Handle[*Config], executed *cloud) *controller.Controller[kinform.Key] {
	c := controller.New("executor", func(ctx context.Context, key kinform.Key) error {
		job, ok := jobs.Cached(key)
		if !ok || job.Data["finished"] == "yes" {
			return nil
		}
		executed.set(string(job.UID), "")
		job = job.DeepCopy()
		job.Data = map[string]string{"finished": "yes"}
		_, err := jobs.Update(ctx, job, metav1.UpdateOptions{})
		return controller.IgnoreNotFound(err)
	})
	controller.For(c, jobs)
	return c
}
