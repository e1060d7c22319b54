// Package kubeapiserver is the command line of a kube-apiserver that runs the server of package
// apiserver. The program itself is in with/strategies. Other programs can add to the server as
// that one does.
package kubeapiserver

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
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/util/cert"

	"github.com/kinform/kinform/with/envtest/apiserver"
	"github.com/kinform/kinform/with/envtest/internal/flags"
)

//go:embed flags.txt
var names string

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

// Run serves what opts say until ctx ends. args are the flags of the command line; those that have
// a field in opts replace it. --help and --version write to out, and failures while it serves are
// written to errs. The error names the flag.
func Run(ctx context.Context, opts apiserver.Options, args []string, out, errs io.Writer) error {
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
	opts.ClientCAFile, opts.TokenFile, opts.NoAnonymous, opts.RBAC = o.clientCA, o.tokens, !o.anonymous, rbac
	server, err := apiserver.New(opts)
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
	crtText, keyText, err := selfSigned(o.address)
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
		_ = web.Close() // connections that are still open have had their time
	}
	<-failed
	return nil
}
