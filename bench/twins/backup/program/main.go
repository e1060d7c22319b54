// Program makes package backup a program, so that its build can be compared. It has probes and metrics.
package main

import (
	"context"
	"errors"
	"log"
	"os"
	"os/signal"
	"syscall"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kinform/kinform/bench/twins/backup"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	config, err := ctrl.GetConfig()
	if err != nil {
		log.Fatal(err)
	}
	m, err := backup.New(ctx, config, ctrl.Options{
		LeaderElectionNamespace: "default",
		HealthProbeBindAddress:  ":8081",
		Metrics:                 server.Options{BindAddress: ":8080"},
	}, cleanup)
	if err != nil {
		log.Fatal(err)
	}
	if err := errors.Join(m.AddHealthzCheck("ping", healthz.Ping), m.AddReadyzCheck("ping", healthz.Ping)); err != nil {
		log.Fatal(err)
	}
	if err := m.Start(ctx); err != nil {
		log.Fatal(err)
	}
}

// cleanup is where your program deletes from its storage what was saved with this UID.
func cleanup(_ context.Context, b *backup.Backup) error {
	log.Printf("%s/%s is deleted: remove what was saved with UID %s", b.Namespace, b.Name, b.UID)
	return nil
}
