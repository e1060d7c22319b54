package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

const (
	// pingAfter is how long an HTTP/2 connection may be silent before it is asked for a
	// sign of life, and pingWait how long that may take. They are client-go's.
	pingAfter = 30 * time.Second
	pingWait  = 15 * time.Second
	// dialLimit and handshakeLimit bound the making of a connection.
	dialLimit      = 30 * time.Second
	handshakeLimit = 10 * time.Second
	// idleLimit is how long a connection without a request is kept, and idleConnections
	// how many of HTTP/1; of HTTP/2 there is one as a rule.
	idleLimit       = 90 * time.Second
	idleConnections = 25
)

// ConnectionOptions are the credentials and the way to a server. The zero value is a server
// that everybody may use, with a certificate that the system trusts.
//
// Files are read by [NewConnection], which returns an error if one cannot be used, and
// again each minute and whenever the server refuses the credentials (401) or its own
// certificate is not trusted. What a file holds by then is used for new requests, without a
// restart; the request that was refused is sent once more, if anything has changed. Files
// that cannot be used at that time, such as a certificate without its new key yet, change
// nothing; a token is used all the same.
type ConnectionOptions struct {
	// CAFile is a PEM file of the certificates that are trusted to sign the server's, and
	// CA is the same as bytes. Neither means those that the system trusts.
	CAFile string
	CA     []byte

	// CertFile and KeyFile are PEM files of a client certificate and its key, and Cert and
	// Key are the same as bytes. When they change, requests go through new connections,
	// and watches end on the old ones in their own time.
	CertFile, KeyFile string
	Cert, Key         []byte

	// TokenFile holds a bearer token, as of a service account, and Token is one. Space
	// around it is ignored.
	TokenFile string
	Token     string

	// ServerName is the name that the server's certificate has to have; empty means the
	// host of the URL.
	ServerName string

	// Insecure trusts any certificate, so that anybody on the way can read all. It
	// excludes CA and CAFile.
	Insecure bool

	// Proxy returns the proxy for a request; nil means http.ProxyFromEnvironment.
	Proxy func(*http.Request) (*url.URL, error)

	// DialContext makes the network connections; nil means a net.Dialer.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
}

// NewConnection makes the connection to the server with base URL serverURL (see
// [Connection.URL]). It sends nothing, and starts no goroutine. The URL has to be https if
// opts has credentials or a CA.
//
// The connection speaks HTTP/2 where the server does. One that has been silent for 30
// seconds is asked for a sign of life, and closed if there is none within 15 more; then
// watches on it end with an error, and a read is tried again. Over HTTP/1, as through
// kubectl proxy, it is up to the keep-alive packets of TCP.
//
// Redirects are not followed: the API does not redirect, and a login page does. Credentials
// are sent to the server of the URL and nowhere else, and are in no error. The idle
// connections are closed by CloseIdleConnections of Connection.HTTP, or after 90 seconds.
func NewConnection(serverURL string, opts ConnectionOptions) (Connection, error) {
	fail := func(err error) (Connection, error) { return Connection{}, fmt.Errorf("client connection: %w", err) }
	server, err := Connection{URL: serverURL}.endpoint()
	if err != nil {
		return fail(err)
	}
	if err := opts.check(server.base.Scheme); err != nil {
		return fail(err)
	}
	t, err := newTransport(server.base, opts)
	if err != nil {
		return fail(err)
	}
	return Connection{URL: serverURL, HTTP: &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// check finds misuse that does not need the files.
func (o ConnectionOptions) check(scheme string) error {
	ca := o.CAFile != "" || len(o.CA) > 0
	cert, key := o.CertFile != "" || len(o.Cert) > 0, o.KeyFile != "" || len(o.Key) > 0
	token := o.TokenFile != "" || o.Token != ""
	switch {
	case o.CAFile != "" && len(o.CA) > 0, o.CertFile != "" && len(o.Cert) > 0, o.KeyFile != "" && len(o.Key) > 0, o.TokenFile != "" && o.Token != "":
		return errors.New("a credential is given both as a file and by value")
	case cert != key:
		return errors.New("a client certificate needs a key, and a key its certificate")
	case o.Insecure && ca:
		return errors.New("insecure trusts any certificate, so a CA means nothing")
	case scheme != "https" && (ca || cert || token):
		return errors.New("credentials and CA need an https URL: over http everybody on the way could read them")
	}
	return nil
}

// secrets are the contents of the files, or what was given instead.
type secrets struct{ ca, cert, key, token string }

// read reads the files. What cannot be used is as it was in last, and the error says
// what that is.
func (o ConnectionOptions) read(last secrets) (s secrets, err error) {
	s = last
	for _, part := range []struct {
		to   *string
		file string
		data string
	}{
		{&s.ca, o.CAFile, string(o.CA)},
		{&s.cert, o.CertFile, string(o.Cert)},
		{&s.key, o.KeyFile, string(o.Key)},
	} {
		content := []byte(part.data)
		if part.file != "" {
			var failed error
			if content, failed = os.ReadFile(part.file); failed != nil {
				err = errors.Join(err, failed)
				continue
			}
		}
		*part.to = string(content)
	}
	token, failed := o.readToken()
	if failed == nil {
		s.token = token
	}
	return s, errors.Join(err, failed)
}

func (o ConnectionOptions) readToken() (string, error) {
	token := o.Token
	if o.TokenFile != "" {
		content, err := os.ReadFile(o.TokenFile)
		if err != nil {
			return "", err
		}
		if token = strings.TrimSpace(string(content)); token == "" {
			return "", fmt.Errorf("token file %s is empty", o.TokenFile)
		}
	}
	token = strings.TrimSpace(token)
	if strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return "", errors.New("the bearer token has characters that no token has")
	}
	return token, nil
}

// sender makes the transport proper.
func (o ConnectionOptions) sender(s secrets) (*http.Transport, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: o.ServerName, InsecureSkipVerify: o.Insecure}
	if s.ca != "" || o.CAFile != "" {
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM([]byte(s.ca)) {
			return nil, fmt.Errorf("no certificate in the CA %s", o.CAFile)
		}
	}
	if s.cert != "" || s.key != "" {
		cert, err := tls.X509KeyPair([]byte(s.cert), []byte(s.key))
		if err != nil {
			return nil, fmt.Errorf("client certificate %s: %w", o.CertFile, err)
		}
		// Not Certificates, which are kept back if the server names other signers, as one
		// does that has just changed them.
		conf.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &cert, nil }
	}
	t := &http.Transport{
		Proxy:               o.Proxy,
		DialContext:         o.DialContext,
		TLSClientConfig:     conf,
		TLSHandshakeTimeout: handshakeLimit,
		MaxIdleConnsPerHost: idleConnections,
		IdleConnTimeout:     idleLimit,
		ForceAttemptHTTP2:   true,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingWait},
	}
	if t.Proxy == nil {
		t.Proxy = http.ProxyFromEnvironment
	}
	if t.DialContext == nil {
		t.DialContext = (&net.Dialer{Timeout: dialLimit}).DialContext
	}
	return t, nil
}
