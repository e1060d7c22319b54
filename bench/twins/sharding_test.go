package twins

import (
	"errors"
	"net/http"
	"os"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kinform/kinform/bench/twins/website"
	"github.com/kinform/kinform/shard"
	"github.com/kinform/kinform/with/clientgo"
	"github.com/kinform/kinform/with/controllerruntime"
)

var (
	rc         *rest.Config
	scheme     *runtime.Scheme
	reconciler reconcile.Reconciler
)

func Example_sharding() {
	server, err := clientgo.Connection(rc)
	if err != nil {
		return
	}
	replica, err := shard.New(server, shard.Options{Namespace: "prod", Name: "websites.example.com", Identity: os.Getenv("POD_NAME")})
	if err != nil {
		return
	}
	healthy := replica.Healthy(20 * time.Second)
	m, err := ctrl.NewManager(rc, ctrl.Options{
		Scheme: scheme, HealthProbeBindAddress: ":8080",
		NewClient: controllerruntime.GatedClient(replica), // writes end with the lease
	})
	if err != nil {
		return
	}
	sites, err := controllerruntime.Divide(replica, controllerruntime.ShardKeys[ctrl.Request]{
		Hashed: controllerruntime.ByKey, All: controllerruntime.Listed(m.GetCache(), &website.WebsiteList{}),
		Grace: 20 * time.Second, // longer than a reconcile
	}, reconciler) // which writes by m.GetClient()
	if err != nil {
		return
	}
	err = errors.Join(
		ctrl.NewControllerManagedBy(m).
			For(&website.Website{}, builder.WithPredicates(controllerruntime.Predicate(sites))).
			Owns(&appsv1.Deployment{}).
			WatchesRawSource(sites.Source()). // requests of ranges that come to this replica
			Complete(sites),
		m.Add(controllerruntime.Replica(replica, sites)),
		m.AddHealthzCheck("replica", func(req *http.Request) error { return healthy(req.Context()) }),
	)
}
