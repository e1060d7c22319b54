// Command kube-apiserver stands in for kube-apiserver in tests: it keeps everything in memory,
// starts at once, and needs no etcd. Defaults, validation and admission of Kubernetes' own kinds
// come from the API server's own code. It takes every flag of kube-apiserver; --help shows which
// have an effect.
//
// A suite that uses envtest of controller-runtime runs on it without a change:
//
//	GOWORK=off go build -C with/strategies -tags grpcnotrace -o $DIR/ ./cmd/... github.com/kinform/kinform/with/envtest/cmd/etcd
//	KUBEBUILDER_ASSETS=$DIR go test ./...
//
// The tag is one of gRPC. Without it, the linker keeps every method of every type, which is a
// quarter of the program.
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
