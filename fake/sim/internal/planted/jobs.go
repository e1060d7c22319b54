package planted

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/sim"
)

// Jobs is correct. It has a record in the cloud for each Shop, and a job (a Config) of each size, which another
// controller executes. The job of an earlier size goes. The status says which job it is, and whether it is done.
func Jobs() sim.Program {
	records, executed := newCloud(), newCloud()
	return sim.Program{
		Server: newServer(),
		Run:    func(ctx context.Context, to client.Connection) error { return runJobs(ctx, to, records, executed) },
		Users: script(
			create("shop", ShopSpec{Host: "shop.example.com", Size: 1}), settle,
			create("cafe", ShopSpec{Host: "cafe.example.com", Size: 1}), settle,
			patch("shop", `{"spec":{"size":2,"host":"new.example.com"}}`), settle,
			remove("cafe"), gone("cafe"),
			create("cafe", ShopSpec{Host: "cafe.example.com", Size: 3}), settle,
			remove("shop"), settle,
		),
		Finally: func(w *sim.World) error {
			return errors.Join(records.fits(w, byUID), reported(w))
		},
	}
}

// reported says that the status of each Shop is about its spec, and that it is done.
func reported(w *sim.World) error {
	shops, err := fake.List[*Shop](w.Server, fake.Selection{})
	for _, shop := range shops {
		if shop.Status.ObservedGeneration != shop.Generation || shop.Status.Phase != "Done" {
			err = errors.Join(err, fmt.Errorf("the status of %s is %+v, want it done, of generation %d", shop.Name, shop.Status, shop.Generation))
		}
	}
	return err
}

func runJobs(ctx context.Context, to client.Connection, records, executed *cloud) error {
	shops, jobs := kinform.Open(to, Shops), kinform.Open(to, Configs)
	c := controller.New("jobs", func(ctx context.Context, key kinform.Key) error {
		if _, ok := shops.Cached(key); !ok {
			return nil
		}
		// The cache may be behind, and the cloud would keep the record of a Shop that is gone.
		shop, err := shops.Get(ctx, key, metav1.GetOptions{})
		if err != nil {
			return controller.IgnoreNotFound(err)
		}
		shop, done, err := controller.Finalize(ctx, shops, shop, finalizer, func(_ context.Context, shop *Shop) error {
			records.remove(byUID(shop))
			return nil
		})
		if done || err != nil {
			return err
		}
		records.set(byUID(shop), shop.Spec.Host)
		job, err := jobOf(ctx, shop, jobs)
		if err != nil {
			return err
		}
		_, err = controller.PatchStatus(ctx, shops, shop, func(s *Shop) {
			s.Status.Phase = "Running"
			if job.Data["finished"] == "yes" {
				s.Status.Phase = "Done"
			}
			s.Status.Run = job.Name
			s.Status.ObservedGeneration = shop.Generation
		})
		return err
	})
	controller.For(c, shops)
	controller.Owns(c, shops, jobs)
	return manager.Run(ctx, c, executor(jobs, executed))
}

// jobOf returns the job of the present size, and deletes those of others.
func jobOf(ctx context.Context, shop *Shop, jobs *kinform.Handle[*Config]) (*Config, error) {
	job := &Config{}
	job.Namespace, job.Name = shop.Namespace, fmt.Sprintf("%s-%d", shop.Name, shop.Spec.Size)
	job, _, err := controller.CreateOrUpdate(ctx, jobs, job, func(job *Config) error {
		return controller.SetController(job, shop, Shops)
	})
	for _, old := range jobs.List(shop.Namespace, nil) {
		if err == nil && old.Name != job.Name && metav1.IsControlledBy(old, shop) {
			err = controller.Delete(ctx, jobs, old, metav1.DeleteOptions{})
		}
	}
	return job, err
}
