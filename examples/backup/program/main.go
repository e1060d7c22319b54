// Program runs package backup in the cluster of kubectl or, in a pod, in its own. On port 8080 it has probes and
// metrics, and on port 8081 of the pod's own network the debug page.
package main

import (
	"context"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/kinform/kinform/debug"
	"github.com/kinform/kinform/examples/backup"
	"github.com/kinform/kinform/with/kubeconfig"
	kinformprom "github.com/kinform/kinform/with/prometheus"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cluster, err := kubeconfig.Load(kubeconfig.Options{})
	if err != nil {
		log.Fatal(err)
	}
	m := backup.New(cluster.Connection, cluster.Namespace, cleanup)
	page := debug.New(debug.Options{Events: 64, Reconciles: 64})
	page.AddManager(m)
	metrics := kinformprom.New()
	metrics.AddManager(m)
	m.AddError(prometheus.Register(metrics))
	http.Handle("/healthz", m.Healthz())
	http.Handle("/readyz", m.Readyz())
	http.Handle("/metrics", promhttp.Handler())
	go func() { log.Fatal(http.ListenAndServe(":8080", nil)) }()           // even while the caches are being filled
	go func() { log.Fatal(http.ListenAndServe("localhost:8081", page)) }() // for kubectl port-forward
	if err := m.Run(ctx); err != nil {
		log.Fatal(err)
	}
}

// cleanup is where your program deletes from its storage what was saved with this UID.
func cleanup(_ context.Context, b *backup.Backup) error {
	log.Printf("%s/%s is deleted: remove what was saved with UID %s", b.Namespace, b.Name, b.UID)
	return nil
}
