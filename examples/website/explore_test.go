package website_test

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/examples/website"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/sim"
	"github.com/kinform/kinform/with/kubernetes/apps"
)

// TestExplore looks for a schedule in which the controller does not do what its users want.
func TestExplore(t *testing.T) {
	sim.Explore(t, explored, 400)
}

func explored() sim.Program {
	server := fake.New(fake.Options{CollectGarbage: true})
	must(fake.Register(server, website.Websites, fake.Rules{}))
	must(fake.Register(server, apps.Deployments, fake.Rules{}))
	dns := &records{hosts: map[types.UID]string{}, removed: map[types.UID]int{}}
	return sim.Program{
		Server:  server,
		Run:     func(ctx context.Context, to client.Connection) error { return website.Run(ctx, to, dns) },
		Users:   users,
		Finally: dns.fit,
	}
}

// users create a Website, change it, delete it, and make another one of the same name. Others change and delete its
// Deployment, which may not be there yet.
func users(w *sim.World) error {
	if err := publish(w); err != nil {
		return err
	}
	if _, err := fake.Patch[*website.Website](w.Server, shop, []byte(`{"spec":{"replicas":3}}`)); err != nil {
		return err
	}
	w.Settle()
	_, _ = fake.Patch[*appsv1.Deployment](w.Server, shop, []byte(`{"spec":{"replicas":7},"metadata":{"labels":{"others":"1"}}}`))
	w.Settle()
	_, _ = fake.Delete[*appsv1.Deployment](w.Server, shop)
	w.Settle()
	if _, err := fake.Delete[*website.Website](w.Server, shop); err != nil {
		return err
	}
	w.Settle()
	return publish(w)
}

// publish creates the Website, once the name is free.
func publish(w *sim.World) error {
	for {
		_, err := fake.Create(w.Server, fake.Object(&website.Website{
			Spec: website.WebsiteSpec{Host: "shop.example.com", Image: "shop:1", Replicas: 2},
		}, shop.Namespace, shop.Name))
		w.Settle()
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
}

// fit says whether the records are those of the Website that is there.
func (r *records) fit(w *sim.World) error {
	site, err := fake.Get[*website.Website](w.Server, shop)
	if err != nil || len(r.hosts) != 1 || r.hosts[site.UID] != site.Spec.Host {
		return fmt.Errorf("records %v, and there is %v, %v", r.hosts, site, err)
	}
	return nil
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
