// Program runs the controller of package website in the current cluster of kubectl or, in a pod, in the cluster of the pod.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/kinform/kinform/examples/website"
	"github.com/kinform/kinform/with/kubeconfig"
)

func main() {
	cluster, err := kubeconfig.Load(kubeconfig.Options{})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := website.Run(ctx, cluster.Connection, noDNS{}); err != nil {
		log.Fatal(err)
	}
}

// noDNS does nothing: put your DNS here.
type noDNS struct{}

func (noDNS) Set(context.Context, *website.Website) error    { return nil }
func (noDNS) Remove(context.Context, *website.Website) error { return nil }
