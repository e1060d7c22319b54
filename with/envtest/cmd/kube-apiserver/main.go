// Command kube-apiserver stands in for kube-apiserver in tests: it keeps everything in memory, starts at
// once, and needs no etcd. It takes every flag of kube-apiserver; --help shows which have an effect.
//
// Any program that uses envtest of controller-runtime runs on it:
//
//	go build -o $DIR/ ./with/envtest/cmd/...
//	KUBEBUILDER_ASSETS=$DIR go test ./...
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/kinform/kinform/with/envtest/apiserver"
	"github.com/kinform/kinform/with/envtest/kubeapiserver"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := kubeapiserver.Run(ctx, apiserver.Options{}, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}
