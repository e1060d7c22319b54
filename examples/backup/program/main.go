// Program runs package backup in the cluster of kubectl or, in a pod, in its own.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/kinform/kinform/examples/backup"
	"github.com/kinform/kinform/with/kubeconfig"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cluster, err := kubeconfig.Load(kubeconfig.Options{})
	if err == nil {
		err = backup.Run(ctx, cluster.Connection, cluster.Namespace)
	}
	if err != nil {
		log.Fatal(err)
	}
}
