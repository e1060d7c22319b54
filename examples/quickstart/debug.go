package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kinform/kinform/debug"
)

// serveDebug serves the debug page of s at an address in g until ctx is done.
func serveDebug(ctx context.Context, g *errgroup.Group, s *summarizer, address string, stdout io.Writer) error {
	page := debug.New(debug.Options{Events: 256, Reconciles: 256})
	if err := page.AddController("summaries", s.nodes); err != nil {
		return err
	}
	if err := errors.Join(debug.AddInformer(page, "pods", s.pods, nil), debug.AddInformer(page, "summaries", s.summaries, nil)); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/debug/kinform/", page)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	server.RegisterOnShutdown(page.Close)
	g.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	g.Go(func() error {
		<-ctx.Done()
		return server.Shutdown(context.WithoutCancel(ctx))
	})
	fmt.Fprintf(stdout, "the debug page is at http://%s/debug/kinform/\n", listener.Addr())
	return nil
}
