// Command kube-apiserver stands in for kube-apiserver in tests: it keeps everything in memory,
// starts at once, and needs no etcd. It takes every flag of kube-apiserver; --help shows which have
// an effect.
//
// Any program that uses envtest of controller-runtime runs on it:
//
//	go build -tags grpcnotrace -o $DIR/ ./with/envtest/cmd/...
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

	"github.com/kinform/kinform/with/envtest/apiserver"
	"github.com/kinform/kinform/with/envtest/kubeapiserver"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50) // a test hardly waits for the collector, and several servers run at a time
	}
	if err := kubeapiserver.Run(ctx, apiserver.Options{}, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}
