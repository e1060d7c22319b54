package kubeconfig

import (
	"cmp"
	"net/http"
	"net/url"
	"reflect"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	_ "k8s.io/client-go/plugin/pkg/client/auth/oidc" // the only auth provider left
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/reflector"
)

// pluginTimeout is the default of Options.PluginTimeout. It leaves time for plugins that open
// a browser for a login.
const pluginTimeout = time.Minute

// connect makes the connection that rc describes.
func connect(rc *rest.Config, opts Options) (conn client.Connection, err error) {
	server, _, err := rest.DefaultServerUrlFor(rc)
	if err != nil {
		return conn, err
	}
	who := rc.Impersonate
	if !reflect.ValueOf(opts.Impersonate).IsZero() {
		who = opts.Impersonate
	}
	rc.Impersonate = rest.ImpersonationConfig{}
	if plugin := pluginOf(rc); plugin != "" {
		conn, err = connectByPlugin(rc, server, plugin, opts.PluginTimeout)
	} else {
		conn, err = connectByFiles(rc, server, opts)
	}
	if err == nil {
		impersonate(&conn, who)
	}
	return conn, err
}

// pluginOf is the name of the credential plugin, empty without one.
func pluginOf(rc *rest.Config) string {
	switch {
	case rc.ExecProvider != nil:
		return rc.ExecProvider.Command
	case rc.AuthProvider != nil:
		return rc.AuthProvider.Name
	}
	return ""
}

// connectByFiles is for credentials that are files or values.
func connectByFiles(rc *rest.Config, server *url.URL, opts Options) (client.Connection, error) {
	tls := rc.TLSClientConfig
	if rc.Username != "" {
		server.User = url.UserPassword(rc.Username, rc.Password)
	}
	o := client.ConnectionOptions{
		ServerName: tls.ServerName, Insecure: tls.Insecure, Proxy: rc.Proxy, DialContext: rc.Dial, OnError: opts.OnError,
		TokenFile: rc.BearerTokenFile, Token: rc.BearerToken,
	}
	// Inline data takes precedence over a file.
	if o.CA = tls.CAData; len(o.CA) == 0 {
		o.CAFile = tls.CAFile
	}
	if o.Cert = tls.CertData; len(o.Cert) == 0 {
		o.CertFile = tls.CertFile
	}
	if o.Key = tls.KeyData; len(o.Key) == 0 {
		o.KeyFile = tls.KeyFile
	}
	conn, err := client.NewConnection(server.String(), o)
	if err == nil && rc.DisableCompression {
		base := conn.HTTP.Transport
		conn.HTTP.Transport = wrapper{uncompressed{base}, base}
	}
	return conn, err
}

// uncompressed asks for answers without compression, as disable-compression of a kubeconfig says.
// A transport does not ask for gzip if a request has the header.
type uncompressed struct{ base http.RoundTripper }

func (t uncompressed) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Accept-Encoding", "identity")
	return t.base.RoundTrip(req)
}

// connectByPlugin is for credentials that only client-go's transport can get.
func connectByPlugin(rc *rest.Config, server *url.URL, plugin string, timeout time.Duration) (client.Connection, error) {
	rc.Wrap(func(base http.RoundTripper) http.RoundTripper { return sending{base} })
	base, err := rest.TransportFor(rc)
	if err != nil {
		return client.Connection{}, err
	}
	return client.Connection{
		URL:     server.String(),
		Breaker: new(reflector.Breaker),
		HTTP: &http.Client{
			Transport: &patient{base: base, plugin: plugin, limit: cmp.Or(timeout, pluginTimeout)},
			// Credentials go only to the server of the URL, as in client.NewConnection.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// impersonate makes the requests of conn impersonate who, unless who is zero.
func impersonate(conn *client.Connection, who rest.ImpersonationConfig) {
	if reflect.ValueOf(who).IsZero() {
		return
	}
	base := conn.HTTP.Transport
	conn.HTTP.Transport = wrapper{transport.NewImpersonatingRoundTripper(transport.ImpersonationConfig(who), base), base}
}

// wrapper is a transport around base that leaves the idle connections to base.
type wrapper struct {
	http.RoundTripper
	base http.RoundTripper
}

func (t wrapper) CloseIdleConnections()                  { utilnet.CloseIdleConnectionsFor(t.base) }
func (t wrapper) WrappedRoundTripper() http.RoundTripper { return t.base }
