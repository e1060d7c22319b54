package client

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"golang.org/x/time/rate"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/kinform/kinform/reflector"
)

// DefaultUserAgent is sent when [Connection.UserAgent] is empty.
const DefaultUserAgent = "kinform"

// DefaultRetries is how often a call is tried again when [Connection.Retries] is zero. It
// is that of client-go.
const DefaultRetries = 10

// Connection says where an API server is and how to talk to it. It is a value: copy it
// freely. [New] checks it.
type Connection struct {
	// URL is the server's base URL: scheme http or https, a host, and optionally a path
	// prefix, such as https://rancher.example.com/k8s/clusters/c-1 or the address that
	// kubectl proxy prints. No query and no fragment. A user and password in it are sent as
	// basic authentication, and need https. No error and no text of this package shows them.
	URL string

	// HTTP sends the requests; nil means http.DefaultClient. TLS, credentials and
	// proxies are its transport's business, as is to notice a dead connection: that of
	// [NewConnection] does. Leave its Timeout zero, because that limits
	// a whole watch; use the context of each call instead.
	HTTP *http.Client

	// UserAgent is sent with each request; empty means [DefaultUserAgent].
	UserAgent string

	// Limiter spaces out the requests of all Resources that have this Connection or a
	// copy of it, watches and retries included: each waits for a token, in the order that
	// the Limiter sets. Nil means no limit, which is right for a server with API Priority
	// and Fairness (on by default since Kubernetes 1.20): it limits each client by what
	// it can bear, and asks the others to retry later. This client does (see
	// Retries). A client's own limit of 5 requests per second, the default of client-go,
	// is below what many controllers need. rate.NewLimiter(50, 100) allows 50 per second
	// in the long run and 100 at once.
	Limiter *rate.Limiter

	// Retries is how often a call is tried again when the server asks for it; zero means
	// [DefaultRetries], negative never.
	//
	// An answer 429 or 5xx that has a Retry-After header is waited out, for a second at
	// least, whatever the verb; after 5xx a create may so be answered with AlreadyExists,
	// and an update with a conflict, that the first try caused. A read is also tried again
	// when its connection broke, after 0.1 seconds and then twice as long each time, up to
	// 5 seconds. Nothing else is: neither a refused connection nor a write whose outcome is
	// not known.
	//
	// A wait ends with the context. One of more than a minute, or beyond the context's
	// deadline, is not begun: the call returns the refusal, which tells the delay
	// (apierrors.SuggestsClientDelay).
	//
	// List and Watch are never tried again: a reflector, which calls them, has its own
	// backoff and obeys Retry-After too.
	Retries int

	// Breaker is what the reflectors of all Resources that have this Connection, or a copy of
	// it, know of the server: while it is away one of them at a time tries it, and when it is
	// back all go on. [NewConnection] and [InCluster] make one. Nil gives each Resource its
	// own. Other calls than List and Watch take no notice of it.
	Breaker *reflector.Breaker
}

// endpoint is a checked Connection. Immutable.
type endpoint struct {
	base      *url.URL
	http      *http.Client
	userAgent string
	limiter   *rate.Limiter // nil: no limit
	retries   int           // at least 0
	breaker   *reflector.Breaker
}

// refresh makes the requests that follow use connections that they make themselves, also where
// the transport that does so is wrapped.
func (e endpoint) refresh() {
	at := cmp.Or(e.http.Transport, http.DefaultTransport)
	for {
		switch t := at.(type) {
		case *transport:
			t.refresh()
		case utilnet.RoundTripperWrapper:
			at = t.WrappedRoundTripper()
			continue
		case interface{ CloseIdleConnections() }:
			t.CloseIdleConnections()
		}
		return
	}
}

func (c Connection) endpoint() (endpoint, error) {
	if c.URL == "" {
		return endpoint{}, errors.New("no URL")
	}
	u, err := parseURL(c.URL)
	if err != nil {
		return endpoint{}, err
	}
	shown := publicURL(c.URL)
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return endpoint{}, fmt.Errorf("URL %q: scheme is neither http nor https", shown)
	case u.Host == "":
		return endpoint{}, fmt.Errorf("URL %q has no host", shown)
	case u.RawQuery != "" || u.Fragment != "":
		return endpoint{}, fmt.Errorf("URL %q has a query or a fragment", shown)
	case u.User != nil && u.Scheme != "https":
		return endpoint{}, fmt.Errorf("URL %q: a user and password need https: over http everybody on the way could read them", shown)
	}
	e := endpoint{base: u, http: c.HTTP, userAgent: c.UserAgent, limiter: c.Limiter, retries: max(c.Retries, 0), breaker: c.Breaker}
	if c.Retries == 0 {
		e.retries = DefaultRetries
	}
	if e.breaker == nil {
		e.breaker = new(reflector.Breaker)
	}
	if e.http == nil {
		e.http = http.DefaultClient
	}
	if e.userAgent == "" {
		e.userAgent = DefaultUserAgent
	}
	return e, nil
}
