package website_test

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/examples/website"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/sim"
	"github.com/kinform/kinform/with/kubernetes/apps"
)

// TestExplore looks for a schedule in which the controller does not do what its users want.
func TestExplore(t *testing.T) {
	sim.Explore(t, explored)
}

// explored is the controller, and users who create a Website, change it and delete it.
func explored() sim.Program {
	server := fake.New(fake.Options{CollectGarbage: true})
	dns := &records{hosts: map[types.UID]string{}, removed: map[types.UID]int{}}
	if err := fake.Register(server, website.Websites, fake.Rules{}); err != nil {
		panic(err)
	}
	if err := fake.Register(server, apps.Deployments, fake.Rules{}); err != nil {
		panic(err)
	}
	return sim.Program{
		Server: server,
		Run: func(ctx context.Context, to client.Connection) error { return website.Run(ctx, to, dns) },
		Users: func(w *sim.World) error {
			_, err := fake.Create(w.Server, fake.Object(&website.Website{
				Spec: website.WebsiteSpec{Host: "shop.example.com", Image: "shop:1", Replicas: 2},
			}, shop.Namespace, shop.Name))
			if err != nil {
				return err
			}
			w.Settle()
			if _, err := fake.Patch[*website.Website](w.Server, shop, []byte(`{"spec":{"replicas":3}}`)); err != nil {
				return err
			}
			w.Settle()
			_, err = fake.Delete[*website.Website](w.Server, shop)
			return err
		},
		Finally: func(*sim.World) error {
			if len(dns.hosts) > 0 {
				return fmt.Errorf("records are left: %v", dns.hosts)
			}
			return nil
		},
	}
}

var _ = appsv1.Deployment{}
var _ = metav1.Now
