// Dashboard serves a page with the pods of each namespace, from a cache. It only reads: it needs the
// rights to list and watch pods.
//
//	go run ./examples/dashboard -listen 127.0.0.1:8080
//
// The debug page of its cache is at /debug/kinform/.
//
// It reads the cluster that kubectl would use. See package with/kubeconfig.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kinform/kinform/debug"
	"github.com/kinform/kinform/with/kubeconfig"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "address of the page")
	path := flag.String("kubeconfig", "", "path of a kubeconfig")
	context := flag.String("context", "", "context of the kubeconfig")
	flag.Parse()
	if err := run(*listen, kubeconfig.Options{Path: *path, Context: *context}); err != nil {
		log.Fatal(err)
	}
}

func run(listen string, opts kubeconfig.Options) error {
	cluster, err := kubeconfig.Load(opts)
	if err != nil {
		return err
	}
	d, err := newDashboard(cluster.Connection)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	page := debug.New(debug.Options{Events: 256})
	if err := debug.AddInformer(page, "pods", d.pods, nil); err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/", d)
	mux.Handle("/debug/kinform/", page)
	server := &http.Server{Addr: listen, Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return d.pods.Run(ctx) })
	g.Go(func() error {
		if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	g.Go(func() error {
		<-ctx.Done()
		return server.Close()
	})
	return g.Wait()
}
