package client

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

// DefaultUserAgent is sent when [Connection.UserAgent] is empty.
const DefaultUserAgent = "kinform"

// Connection says where an API server is and how to talk to it. It is a value: copy it
// freely. [New] checks it.
type Connection struct {
	// URL is the server's base URL: scheme http or https, a host, and optionally a path
	// prefix, such as https://rancher.example.com/k8s/clusters/c-1 or the address that
	// kubectl proxy prints. No query and no fragment.
	URL string

	// HTTP sends the requests; nil means http.DefaultClient. TLS, credentials and
	// proxies are its transport's business. Leave its Timeout zero, because that limits
	// a whole watch; use the context of each call instead.
	HTTP *http.Client

	// UserAgent is sent with each request; empty means [DefaultUserAgent].
	UserAgent string
}

// endpoint is a checked Connection. Immutable.
type endpoint struct {
	base      *url.URL
	http      *http.Client
	userAgent string
}

func (c Connection) endpoint() (endpoint, error) {
	if c.URL == "" {
		return endpoint{}, errors.New("no URL")
	}
	u, err := url.Parse(c.URL)
	if err != nil {
		return endpoint{}, err
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return endpoint{}, fmt.Errorf("URL %q: scheme is neither http nor https", u.Redacted())
	case u.Host == "":
		return endpoint{}, fmt.Errorf("URL %q has no host", u.Redacted())
	case u.RawQuery != "" || u.Fragment != "":
		return endpoint{}, fmt.Errorf("URL %q has a query or a fragment", u.Redacted())
	}
	e := endpoint{base: u, http: c.HTTP, userAgent: c.UserAgent}
	if e.http == nil {
		e.http = http.DefaultClient
	}
	if e.userAgent == "" {
		e.userAgent = DefaultUserAgent
	}
	return e, nil
}
