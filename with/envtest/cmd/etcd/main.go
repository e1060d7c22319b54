// Command etcd stands in for etcd in a test environment that starts etcd for [kube-apiserver].
// The stand-in of that command needs no etcd, so this one only says that it is healthy, and
// stores nothing.
//
// [kube-apiserver]: https://pkg.go.dev/github.com/kinform/kinform/with/strategies/cmd/kube-apiserver
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/kinform/kinform/with/envtest/internal/flags"
)

//go:embed flags.txt
var names string

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends.
func run(ctx context.Context, args []string, out io.Writer) error {
	set := pflag.NewFlagSet("etcd", pflag.ContinueOnError)
	urls := set.String("listen-client-urls", "http://localhost:2379", "where to say that it is healthy, separated by commas")
	switch _, err := flags.Parse(set, names, args, out); {
	case err == pflag.ErrHelp:
		return nil
	case err != nil:
		return err
	}
	web := &http.Server{Handler: http.HandlerFunc(answer), ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error)
	listeners, err := listen(*urls)
	if err != nil {
		return err
	}
	for _, l := range listeners {
		go func() { failed <- web.Serve(l) }()
	}
	select {
	case <-ctx.Done():
	case err = <-failed:
		listeners = listeners[1:]
	}
	err = errors.Join(err, web.Close())
	for range listeners {
		<-failed
	}
	return err
}

func listen(urls string) (out []net.Listener, err error) {
	for one := range strings.SplitSeq(urls, ",") {
		u, err := url.Parse(one)
		if err == nil && (u.Scheme != "http" || u.Port() == "") {
			err = errors.New("want http://HOST:PORT")
		}
		var l net.Listener
		if err == nil {
			l, err = net.Listen("tcp", u.Host)
		}
		if err != nil {
			for _, l := range out {
				err = errors.Join(err, l.Close())
			}
			return nil, fmt.Errorf("--listen-client-urls=%s: %w", urls, err)
		}
		out = append(out, l)
	}
	return out, nil
}

// answer gives the answers of a healthy etcd.
func answer(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/health", "/readyz", "/livez":
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"health":"true","reason":""}`) // the client may be gone
	case "/version":
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"etcdserver":"3.6.0","etcdcluster":"3.6.0"}`)
	default:
		http.NotFound(w, r)
	}
}
