// Program makes package backup a program, so that its build can be compared.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/kinform/kinform/bench/twins/backup"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	config, err := ctrl.GetConfig()
	if err == nil {
		err = backup.Run(ctx, config, "default")
	}
	if err != nil {
		log.Fatal(err)
	}
}
