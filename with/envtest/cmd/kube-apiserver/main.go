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
	"crypto/tls"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/util/cert"

	"github.com/kinform/kinform/with/envtest/apiserver"
	"github.com/kinform/kinform/with/envtest/internal/flags"
)

//go:embed flags.txt
var names string

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// options are the flags with an effect.
type options struct {
	address, certFile, keyFile, certDir string
	port                                int
	clientCA, tokens                    string
	modes                               []string
	anonymous                           bool
}

func (o *options) add(set *pflag.FlagSet) {
	set.StringVar(&o.address, "bind-address", "0.0.0.0", "IP address to listen on")
	set.IntVar(&o.port, "secure-port", 6443, "port to listen on, for HTTPS")
	set.StringVar(&o.certDir, "cert-dir", "/var/run/kubernetes", "directory of apiserver.crt and apiserver.key, which are made if they are not there")
	set.StringVar(&o.certFile, "tls-cert-file", "", "file with the server's certificate; empty means the one in --cert-dir")
	set.StringVar(&o.keyFile, "tls-private-key-file", "", "file with the key of --tls-cert-file")
	set.StringVar(&o.clientCA, "client-ca-file", "", "file with the certificates that sign those of clients")
	set.StringVar(&o.tokens, "token-auth-file", "", "CSV file with token, user, uid and groups")
	set.StringSliceVar(&o.modes, "authorization-mode", []string{"AlwaysAllow"}, "AlwaysAllow or RBAC; Node is ignored")
	set.BoolVar(&o.anonymous, "anonymous-auth", true, "let requests without credentials come from system:anonymous")
}

func (o *options) rbac() (bool, error) {
	for _, m := range o.modes {
		if m != "RBAC" && m != "Node" && m != "AlwaysAllow" {
			return false, fmt.Errorf("--authorization-mode=%s: this stand-in has AlwaysAllow, RBAC and Node", strings.Join(o.modes, ","))
		}
	}
	return !slices.Contains(o.modes, "AlwaysAllow"), nil
}

// run serves until ctx ends.
func run(ctx context.Context, args []string, out, errs io.Writer) error {
	var o options
	set := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	o.add(set)
	version := set.Bool("version", false, "print the version")
	ignored, err := flags.Parse(set, names, args, out)
	switch {
	case err == pflag.ErrHelp:
		return nil
	case err != nil:
		return err
	case *version:
		_, err := fmt.Fprintln(out, "Kubernetes v1.37.0+kinform")
		return err
	case len(ignored) > 0:
		fmt.Fprintln(errs, "without effect:", strings.Join(ignored, " "))
	}
	rbac, err := o.rbac()
	if err != nil {
		return err
	}
	server, err := apiserver.New(apiserver.Options{ClientCAFile: o.clientCA, TokenFile: o.tokens, NoAnonymous: !o.anonymous, RBAC: rbac})
	if err != nil {
		return err
	}
	certificate, err := o.certificate()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(o.address, strconv.Itoa(o.port)))
	if err != nil {
		return fmt.Errorf("--bind-address and --secure-port: %w", err)
	}
	return serve(ctx, server, listener, certificate, errs)
}

// certificate reads the server's certificate. It makes one if --cert-dir has none.
func (o *options) certificate() (tls.Certificate, error) {
	if (o.certFile == "") != (o.keyFile == "") {
		return tls.Certificate{}, errors.New("--tls-cert-file and --tls-private-key-file belong together")
	}
	if o.certFile != "" {
		return tls.LoadX509KeyPair(o.certFile, o.keyFile)
	}
	crt, key := filepath.Join(o.certDir, "apiserver.crt"), filepath.Join(o.certDir, "apiserver.key")
	if ok, err := cert.CanReadCertAndKey(crt, key); ok || err != nil {
		if err != nil {
			return tls.Certificate{}, err
		}
		return tls.LoadX509KeyPair(crt, key)
	}
	crtText, keyText, err := cert.GenerateSelfSignedCertKey(o.address, []net.IP{net.IPv4(127, 0, 0, 1)}, []string{"localhost", "kubernetes.default.svc"})
	if err != nil {
		return tls.Certificate{}, err
	}
	if err := errors.Join(os.MkdirAll(o.certDir, 0o750), os.WriteFile(crt, crtText, 0o600), os.WriteFile(key, keyText, 0o600)); err != nil {
		return tls.Certificate{}, fmt.Errorf("--cert-dir=%s: %w", o.certDir, err)
	}
	return tls.X509KeyPair(crtText, keyText)
}

// grace is the time that requests have to end after SIGTERM. Watches are ended at once.
const grace = 2 * time.Second

func serve(ctx context.Context, handler http.Handler, l net.Listener, certificate tls.Certificate, errs io.Writer) error {
	requests, end := context.WithCancel(context.Background())
	defer end()
	web := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 30 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ErrorLog:          log.New(errs, "", log.LstdFlags),
		// Which certificates of clients are good is for the authentication to say.
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12},
	}
	failed := make(chan error)
	go func() { failed <- web.ServeTLS(l, "", "") }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	end()
	last, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if web.Shutdown(last) != nil {
		_ = web.Close() // what is still open has had its time
	}
	<-failed
	return nil
}
