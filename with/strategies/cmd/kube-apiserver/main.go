// Command kube-apiserver is that of with/envtest with the defaults and the validation of the API
// server:
//
//	cd with/strategies && GOWORK=off go build -tags grpcnotrace -o $DIR/ ./cmd/kube-apiserver
//	go build -o $DIR/ ./with/envtest/cmd/etcd
//	KUBEBUILDER_ASSETS=$DIR go test ./...
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/envtest/apiserver"
	"github.com/kinform/kinform/with/envtest/kubeapiserver"
	"github.com/kinform/kinform/with/strategies"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50) // a test hardly waits for the collector, and several servers run at a time
	}
	opts := apiserver.Options{Fake: fake.Options{Strategy: strategies.New()}}
	if err := kubeapiserver.Run(ctx, opts, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}
