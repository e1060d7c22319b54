package website_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/examples/website"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/with/kubernetes/apps"
)

// Whatever answers are lost, the Deployment gets what the user wants. To copy the test, put it beside start_test.go, which
// has check and noDNS.
func TestFaultySeeds(t *testing.T) {
	for seed := range 20 {
		synctest.Test(t, func(t *testing.T) { faulty(t, seed) })
	}
}

func faulty(t *testing.T, seed int) {
	server := fake.New(fake.Options{})
	check(t, fake.Register(server, website.Websites, fake.Rules{}))
	check(t, fake.Register(server, apps.Deployments, fake.Rules{}))
	bad, err := faults.Parse(fmt.Sprintf(`
		refuse list * code=503 times=2
		refuse patch * code=500 chance=0.2 times=all seed=%[1]d
		truncate create * bytes=1 chance=0.5 times=3 seed=%[1]d
		drop watch * after=2 times=5`, seed))
	check(t, err)
	check(t, server.Inject(bad...))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	conn := client.Connection{URL: fake.URL, HTTP: server.Client()}
	go func() { ended <- website.Run(ctx, conn, noDNS{}) }()
	_, err = fake.Create(server, fake.Object(&website.Website{Spec: website.WebsiteSpec{Image: "shop:1"}}, "prod", "shop"))
	check(t, err)
	for replicas := range 5 {
		_, err = fake.Patch[*website.Website](server, kinform.Key{Namespace: "prod", Name: "shop"}, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
		check(t, err)
		time.Sleep(time.Minute)
	}
	server.ClearFaults()
	time.Sleep(time.Hour)
	synctest.Wait()
	deployments, err := fake.List[*appsv1.Deployment](server, fake.Selection{})
	check(t, err)
	if len(deployments) != 1 || *deployments[0].Spec.Replicas != 4 {
		t.Errorf("seed %d: %v after\n%s", seed, deployments, faults.Script(server.Struck()))
	}
	if len(server.Struck()) == 0 {
		t.Errorf("seed %d: no fault struck", seed)
	}
	stop()
	check(t, <-ended)
}
