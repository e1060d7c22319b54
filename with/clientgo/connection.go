package clientgo

import (
	"cmp"
	"fmt"
	"net/http"

	"golang.org/x/time/rate"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/reflector"
)

// Connection is the connection of a rest.Config: client-go's own transport, with its exec plugins,
// OIDC, impersonation, proxies and wrappers. Host, UserAgent, QPS and Burst come from rc: as in
// client-go, a QPS of zero means 5 per second, a Burst of zero 10 at once, and a negative QPS no
// limit. The limit is one for all clients of the Connection. rc.RateLimiter is used if it is set.
// rc.Timeout is not used, since it would end each watch: use the contexts of calls. The other
// fields are about encodings, which package client chooses by itself.
//
// rc is not changed. Errors: the errors of rest.TransportFor, for example of files that cannot be
// read. Package with/kubeconfig makes a connection of a kubeconfig without a rest.Config.
func Connection(rc *rest.Config) (client.Connection, error) {
	if rc == nil {
		return client.Connection{}, fmt.Errorf("clientgo: the rest.Config is nil")
	}
	rc = rest.CopyConfig(rc)
	server, _, err := rest.DefaultServerUrlFor(rc)
	if err != nil {
		return client.Connection{}, fmt.Errorf("clientgo: host of the rest.Config: %w", err)
	}
	transport, err := rest.TransportFor(rc)
	if err != nil {
		return client.Connection{}, fmt.Errorf("clientgo: transport to %s: %w", server.Redacted(), err)
	}
	conn := client.Connection{URL: server.String(), UserAgent: rc.UserAgent, Breaker: new(reflector.Breaker)}
	switch {
	case rc.RateLimiter != nil:
		transport = limited{transport, rc.RateLimiter}
	case rc.QPS >= 0:
		conn.Limiter = rate.NewLimiter(rate.Limit(cmp.Or(rc.QPS, rest.DefaultQPS)), cmp.Or(rc.Burst, rest.DefaultBurst))
	}
	conn.HTTP = &http.Client{
		Transport: transport,
		// Credentials go only to the server of the URL, as in client.NewConnection.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return conn, nil
}

// limited is a transport behind a limiter of client-go.
type limited struct {
	http.RoundTripper
	limiter flowcontrol.RateLimiter
}

func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := l.limiter.Wait(r.Context()); err != nil {
		return nil, err
	}
	return l.RoundTripper.RoundTrip(r)
}
