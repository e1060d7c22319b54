package website_test

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/examples/internal/stage"
	"github.com/kinform/kinform/examples/website"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/sim"
	"github.com/kinform/kinform/with/kubernetes/apps"
)

// TestExplore looks for a schedule in which the controller does not do what its users want. They create a Website, change
// it, and delete it; the second time they leave it. Others change and delete the Deployment.
func TestExplore(t *testing.T) {
	create := stage.Created(fake.Object(&website.Website{
		Spec: website.WebsiteSpec{Host: "shop.example.com", Image: "shop:1", Replicas: 2},
	}, shop.Namespace, shop.Name))
	stage.Explore(t, 400, func() sim.Program {
		dns := &records{hosts: map[types.UID]string{}, removed: map[types.UID]int{}}
		return sim.Program{
			Server: stage.Server(fake.Options{CollectGarbage: true}, stage.Kind(website.Websites), stage.Kind(apps.Deployments)),
			Run:    func(ctx context.Context, to client.Connection) error { return website.Run(ctx, to, dns) },
			Users: stage.Users(
				create,
				stage.Patched[*website.Website](shop, `{"spec":{"replicas":3}}`),
				stage.IfThere(stage.Patched[*appsv1.Deployment](shop, `{"spec":{"replicas":7},"metadata":{"labels":{"others":"1"}}}`)),
				stage.IfThere(stage.Deleted[*appsv1.Deployment](shop)),
				stage.Deleted[*website.Website](shop), create,
			),
			Finally: func(w *sim.World) error {
				site, err := fake.Get[*website.Website](w.Server, shop)
				if err != nil || len(dns.hosts) != 1 || dns.hosts[site.UID] != site.Spec.Host || len(dns.late) > 0 {
					return fmt.Errorf("records %v, set after their removal %v, and there is %v, %v", dns.hosts, dns.late, site, err)
				}
				return nil
			},
		}
	})
}
