// Program makes package clientgo a program, so that its size can be compared.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kinform/kinform/bench/twins/clientgo"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		log.Fatal(err)
	}
	set, err := kubernetes.NewForConfig(config)
	if err == nil {
		err = clientgo.CountPods(ctx, set)
	}
	if err != nil {
		log.Fatal(err)
	}
}
