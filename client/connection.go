package client

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/time/rate"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/kinform/kinform/reflector"
)

// defaultUserAgent is sent when [Connection.UserAgent] is empty.
const defaultUserAgent = "kinform"

// defaultRetries is the number of retries of a call if [Connection.Retries] is zero. It is
// client-go's number.
const defaultRetries = 10

// Connection holds the address of an API server and the settings for talking to it. It is a
// value: copy it freely. [New] checks it.
type Connection struct {
	// URL is the server's base URL: scheme http or https, a host, and optionally a path
	// prefix, such as https://rancher.example.com/k8s/clusters/c-1 or the address that kubectl
	// proxy prints. It has no query and no fragment. A user and password in it are sent as
	// basic authentication, and require https. No error and no text of this package shows
	// them.
	URL string

	// HTTP sends the requests; nil means http.DefaultClient. Its transport is responsible for
	// TLS, credentials, proxies, and for noticing dead connections, which the transport of
	// [NewConnection] does. Leave its Timeout zero, because that limits a whole watch; use the
	// context of each call instead.
	HTTP *http.Client

	// UserAgent is sent with each request; empty means "kinform".
	UserAgent string

	// Limiter limits the rate of all requests, including watches and retries, of all Resources
	// that have this Connection or a copy of it. Each request waits for a token, in the
	// Limiter's order. For example, rate.NewLimiter(50, 100) allows 50 requests per second in
	// the long run and 100 at once. Nil means no limit, which is right for a server with API
	// Priority and Fairness (on by default since Kubernetes 1.20): such a server limits each
	// client according to its own load, and asks the others to retry later, which this client
	// does (see Retries). client-go's default of 5 requests per second in the client is too
	// low for many controllers.
	Limiter *rate.Limiter

	// Retries is the number of retries if the server asks for one; zero means
	// 10, negative means no retries.
	//
	// An answer 429 or 5xx with a Retry-After header is retried after that delay, but at least
	// a second, whatever the verb. So a create may be answered with AlreadyExists after a 5xx,
	// and an update with a conflict, if the first try succeeded after all. A read is also
	// retried if its connection broke: after 0.1 seconds at first, then twice as long each
	// time, up to 5 seconds. Nothing else is retried: no refused connection, and no write
	// whose outcome is unknown.
	//
	// A wait ends with the context. If the wait would take more than a minute, or exceed the
	// context's deadline, the call does not wait: it returns the refusal, which contains the
	// delay (apierrors.SuggestsClientDelay).
	//
	// List and Watch are never retried here: a reflector, which calls them, has its own
	// backoff and also obeys Retry-After.
	Retries int

	// Breaker shares the state of the server among the reflectors of all Resources that have
	// this Connection or a copy of it. While the server is away, one of them at a time probes
	// it, and when it is back all continue. [NewConnection] and [InCluster] make one. Nil
	// gives each Resource its own. Only List and Watch use it.
	Breaker *reflector.Breaker
}

// Format implements fmt.Formatter: every verb prints the fields. It hides user and password of
// the URL, and only shows whether HTTP and Limiter are set.
func (c Connection) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(c.text())) }

// MarshalText implements encoding.TextMarshaler with the text that Format prints, so that
// JSON and log handlers hide the same. It cannot be read back.
func (c Connection) MarshalText() ([]byte, error) { return []byte(c.text()), nil }

func (c Connection) text() string {
	var p printed
	p.field("URL", quoted(publicURL(c.URL)))
	p.field("HTTP", when(c.HTTP != nil, present))
	p.field("UserAgent", quoted(c.UserAgent))
	p.field("Limiter", when(c.Limiter != nil, present))
	p.field("Retries", when(c.Retries != 0, strconv.Itoa(c.Retries)))
	return "Connection{" + string(p) + "}"
}

// NewConnection makes the connection to the server with base URL serverURL (see
// [Connection.URL]). It sends nothing and starts no goroutine. If opts has credentials or a
// CA, the URL must be https.
//
// The connection speaks HTTP/2 if the server does. An HTTP/2 connection that was silent for 30
// seconds is pinged, and closed if no answer comes within 15 more. Then its watches end with
// an error, and its reads are retried. Once a reflector has found the server away, its further
// tries use new connections. Lists and watches of reflectors get connections in turn, so that a
// thousand that begin at once need no more than they fill; none waits for its turn for more than
// 10 seconds. Over HTTP/1, for example through kubectl proxy, only TCP keep-alive finds dead
// connections.
//
// Redirects are not followed: the API does not redirect, but a login page does. Credentials go
// only to the server of the URL, and into no error. Idle connections are closed by
// CloseIdleConnections of Connection.HTTP, or after 90 seconds.
func NewConnection(serverURL string, opts ConnectionOptions) (Connection, error) {
	fail := func(err error) (Connection, error) { return Connection{}, fmt.Errorf("client connection: %w", err) }
	server, err := Connection{URL: serverURL}.endpoint()
	if err != nil {
		return fail(err)
	}
	if err := opts.check(server.base); err != nil {
		return fail(err)
	}
	t, err := newTransport(server.base, opts)
	if err != nil {
		return fail(err)
	}
	return Connection{URL: serverURL, Breaker: new(reflector.Breaker), HTTP: &http.Client{
		Transport:     t,
		CheckRedirect: stay,
	}}, nil
}

// stay follows no redirect.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// serviceAccountDir is the folder of every pod's credentials.
// (https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/)
const serviceAccountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// InCluster makes the connection from a pod to its own cluster's server, as the pod's service
// account. The address comes from KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT, the token
// and the CA from files that the kubelet keeps up to date (see [ConnectionOptions]). It returns
// [ErrNotInCluster] if those variables are not set, and otherwise the error of a file. It sends
// nothing. A token or CA in opts replaces the pod's; opts may be zero.
func InCluster(opts ConnectionOptions) (Connection, error) {
	return inCluster(os.Getenv, serviceAccountDir, opts)
}

func inCluster(getenv func(string) string, dir string, opts ConnectionOptions) (Connection, error) {
	host, port := getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return Connection{}, ErrNotInCluster
	}
	if opts.CAFile == "" && len(opts.CA) == 0 && !opts.Insecure {
		opts.CAFile = filepath.Join(dir, "ca.crt")
	}
	if opts.TokenFile == "" && opts.Token == "" {
		opts.TokenFile = filepath.Join(dir, "token")
	}
	conn, err := NewConnection("https://"+net.JoinHostPort(host, port), opts)
	if err != nil {
		return Connection{}, fmt.Errorf("service account: %w", err)
	}
	return conn, nil
}

// endpoint is a checked Connection. Immutable.
type endpoint struct {
	base      *url.URL
	http      *http.Client
	userAgent string
	limiter   *rate.Limiter // nil: no limit
	retries   int           // at least 0
	breaker   *reflector.Breaker
	spare     spares
}

// refresh makes later requests use new connections, even if the transport is wrapped.
func (e endpoint) refresh() {
	switch t := e.innermost().(type) {
	case *transport:
		t.refresh()
	case interface{ CloseIdleConnections() }:
		t.CloseIdleConnections()
	}
}

// innermost returns the transport without its wrappers.
func (e endpoint) innermost() http.RoundTripper {
	at := cmp.Or(e.http.Transport, http.DefaultTransport)
	for {
		wrapper, ok := at.(utilnet.RoundTripperWrapper)
		if !ok {
			return at
		}
		at = wrapper.WrappedRoundTripper()
	}
}

func (c Connection) endpoint() (endpoint, error) {
	if c.URL == "" {
		return endpoint{}, errors.New("no URL: with/kubeconfig, InCluster and NewConnection make connections")
	}
	u, err := parseURL(c.URL)
	if err != nil {
		return endpoint{}, err
	}
	shown := publicURL(c.URL)
	switch {
	case shown == hidden:
		return endpoint{}, errors.New("the URL does not begin with https:// or http://; it is not shown, because it may have a password")
	case u.Scheme != "http" && u.Scheme != "https":
		return endpoint{}, fmt.Errorf("URL %q does not begin with https:// or http://", shown)
	case u.Host == "":
		return endpoint{}, fmt.Errorf("URL %q has no host", shown)
	case u.RawQuery != "" || u.Fragment != "":
		return endpoint{}, fmt.Errorf("URL %q has a query or a fragment", shown)
	case u.User != nil && u.Scheme != "https":
		return endpoint{}, fmt.Errorf("URL %q: a user and password need https: over http everybody on the way could read them", shown)
	}
	u.Host = strings.TrimSuffix(u.Host, ":") // without a port
	u.Path = cmp.Or(u.Path, "/")             // else JoinPath returns a relative path
	e := endpoint{base: u, http: c.HTTP, userAgent: c.UserAgent, limiter: c.Limiter, retries: max(c.Retries, 0), breaker: c.Breaker}
	if c.Retries == 0 {
		e.retries = defaultRetries
	}
	if e.breaker == nil {
		e.breaker = new(reflector.Breaker)
	}
	if e.http == nil {
		e.http = http.DefaultClient
	}
	if e.userAgent == "" {
		e.userAgent = defaultUserAgent
	}
	if t, ok := e.innermost().(*transport); ok {
		e.spare = &t.spare
	} else {
		e.spare = new(sync.Pool)
	}
	return e, nil
}

// directOf returns the transport of a client that NewConnection has made and nobody has changed so far, without a password in the
// URL. Such a client only copies the headers, for redirects that it does not follow. The result's type is an interface because
// each package with a Resource would compile a transport.
func directOf(e endpoint) http.RoundTripper {
	t, ok := e.http.Transport.(*transport)
	stays := reflect.ValueOf(e.http.CheckRedirect).Pointer() == reflect.ValueOf(stay).Pointer()
	if !ok || !stays || e.http.Timeout != 0 || e.http.Jar != nil || e.base.User != nil {
		return nil
	}
	return t
}

// do sends a request. Its errors are those of http.Client.
func (e endpoint) do(req *http.Request) (*http.Response, error) {
	direct := directOf(e)
	if direct == nil {
		return e.http.Do(req)
	}
	resp, err := direct.RoundTrip(req)
	if err == nil {
		return resp, nil
	}
	if not, ok := err.(tls.RecordHeaderError); ok && string(not.RecordHeader[:]) == "HTTP/" { // a proxy's is wrapped
		err = http.ErrSchemeMismatch
	}
	return nil, &url.Error{Op: req.Method[:1] + strings.ToLower(req.Method[1:]), URL: req.URL.String(), Err: err}
}
