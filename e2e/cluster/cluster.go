package cluster

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// portTries is the number of times that New looks for other ports when somebody took one before the
// server did.
const portTries = 5

// Cluster is a running Kubernetes API: one etcd and one kube-apiserver. It must be closed.
type Cluster struct {
	// Etcd and APIServer run when New returns. While etcd is down the API server lives on, but its
	// requests fail.
	Etcd      *Process
	APIServer *Process

	dir     string // set once, as all that follows
	ownDir  bool
	url     string
	etcdURL string
	admin   string
	guest   string
	api     *lazyTransport  // to the API server
	plain   *http.Transport // to etcd
}

// New builds the servers if need be (see Build), starts them, and returns when the API serves and
// its default namespace exists. When ctx ends first, or a server does not start, the error holds
// the end of that server's log.
func New(ctx context.Context, opts Options) (*Cluster, error) {
	if opts.Progress == nil {
		opts.Progress = io.Discard
	}
	bin, err := Build(ctx, opts.Progress)
	if err != nil {
		return nil, err
	}
	for range portTries - 1 {
		c, err := start(ctx, bin, opts)
		if err == nil || !strings.Contains(err.Error(), "address already in use") {
			return c, err
		}
	}
	return start(ctx, bin, opts)
}

func start(ctx context.Context, bin Binaries, opts Options) (_ *Cluster, err error) {
	c := &Cluster{dir: opts.Dir, admin: rand.Text(), guest: rand.Text(), plain: &http.Transport{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	if c.dir == "" {
		if c.dir, err = os.MkdirTemp("", "kinform-e2e-"); err != nil {
			return nil, err
		}
		c.ownDir = true
	}
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	c.etcdURL = "http://127.0.0.1:" + ports[0]
	c.url = "https://127.0.0.1:" + ports[2]
	c.api = &lazyTransport{caFile: c.CAFile()}
	if err := writeCredentials(c.dir, c.admin, c.guest); err != nil {
		return nil, err
	}
	c.Etcd = &Process{
		name: "etcd", path: bin.Etcd, logPath: filepath.Join(c.dir, "etcd.log"), ready: c.etcdReady,
		args: etcdArgs(c.dir, c.etcdURL, "http://127.0.0.1:"+ports[1]), extra: opts.ExtraEtcdArgs,
	}
	c.APIServer = &Process{
		name: "kube-apiserver", path: bin.APIServer, logPath: filepath.Join(c.dir, "kube-apiserver.log"), ready: c.apiReady,
		args: apiServerArgs(c.dir, c.etcdURL, ports[2]), extra: opts.ExtraAPIServerArgs,
	}
	if err := c.Etcd.Start(ctx); err != nil {
		return nil, err
	}
	if err := c.APIServer.Start(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// Close kills both servers, closes the clients' idle connections and removes the temporary
// directory. It returns an error that is ErrExited if a server was found to have ended by itself.
// Closing twice does nothing.
func (c *Cluster) Close() error {
	var errs []error
	for _, p := range []*Process{c.APIServer, c.Etcd} {
		if p != nil {
			errs = append(errs, p.crashed())
			p.Kill()
		}
	}
	c.plain.CloseIdleConnections()
	if c.api != nil {
		c.api.closeIdle()
	}
	if c.ownDir {
		errs = append(errs, os.RemoveAll(c.dir))
	}
	return errors.Join(errs...)
}

// URL returns the base of the API server, such as https://127.0.0.1:23456. It stays the same over
// restarts.
func (c *Cluster) URL() string { return c.url }

// Dir returns the directory of the servers' data and of the logs etcd.log and kube-apiserver.log.
func (c *Cluster) Dir() string { return c.dir }

// CAFile returns the path of the PEM file with the certificates to trust. It stays the same over
// restarts.
func (c *Cluster) CAFile() string { return filepath.Join(c.dir, "certs", "apiserver.crt") }

// Token returns the bearer token of a user in system:masters, who may do everything.
func (c *Cluster) Token() string { return c.admin }

// GuestToken returns the bearer token of a user, named "guest", without any right but to discover
// the API.
func (c *Cluster) GuestToken() string { return c.guest }

// HTTPClient returns a client that trusts the API server and authenticates as the user of Token. It
// speaks HTTP/2, has no timeout, and shares its connections with the other clients of the cluster.
func (c *Cluster) HTTPClient() *http.Client { return c.HTTPClientAs(c.admin) }

// HTTPClientAs is HTTPClient for another bearer token; an empty token makes anonymous requests.
func (c *Cluster) HTTPClientAs(token string) *http.Client {
	return &http.Client{Transport: tokenTransport{base: c.api, token: token}}
}

// Compact makes etcd forget the history before resource version rv, and returns when that is done.
// The write of rv itself is kept: a watch from the version just before rv continues. A watch from
// an earlier version gets 410, unless the watch cache of the API server still serves it; see
// Options.ExtraAPIServerArgs. The version must be newer than the last compaction's.
func (c *Cluster) Compact(ctx context.Context, rv string) error {
	if _, err := strconv.ParseUint(rv, 10, 63); err != nil {
		return fmt.Errorf("compacting to resource version %q: %w", rv, err)
	}
	body, err := json.Marshal(map[string]any{"revision": rv, "physical": true})
	if err != nil {
		return err
	}
	etcd := &http.Client{Transport: c.plain}
	if _, err := ask(ctx, etcd, http.MethodPost, c.etcdURL+"/v3/kv/compaction", body); err != nil {
		return fmt.Errorf("compacting to resource version %s: %w", rv, err)
	}
	return nil
}

func (c *Cluster) etcdReady(ctx context.Context) error {
	out, err := ask(ctx, &http.Client{Transport: c.plain}, http.MethodGet, c.etcdURL+"/health", nil)
	if err == nil && !bytes.Contains(out, []byte(`"health":"true"`)) {
		err = fmt.Errorf("health: %s", out)
	}
	return err
}

// apiReady also asks for the default namespace: after the first start a controller of the API
// server creates it only after the server reports ready.
func (c *Cluster) apiReady(ctx context.Context) error {
	// A server that listens has finished its certificate file, which is read once.
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", strings.TrimPrefix(c.url, "https://"))
	if err != nil {
		return err
	}
	_ = conn.Close()
	if _, err := ask(ctx, c.HTTPClient(), http.MethodGet, c.url+"/readyz", nil); err != nil {
		return err
	}
	_, err = ask(ctx, c.HTTPClient(), http.MethodGet, c.url+"/api/v1/namespaces/default", nil)
	return err
}
