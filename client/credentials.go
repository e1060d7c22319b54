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

	"github.com/kinform/kinform/reflector"
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
// that everybody may use, with a certificate that the system trusts. Package fmt, log handlers
// and JSON print them without Token and Key.
//
// Files are read by [NewConnection], which returns an error if one cannot be used, and
// again each minute and whenever the server refuses the credentials (401) or its own
// certificate is not trusted. New requests then use the file's new contents, without a
// restart. The request that was refused is sent once more, if anything has changed. A file
// that cannot be used at that time, such as a certificate without its new key yet, is
// reported to OnError, and what it held before stays in use; other files are used all the
// same.
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

	// OnError hears of each file that could be used once and cannot be used now, as a
	// *[CredentialError]: when that is found out, when the reason is another, and then
	// again each minute in which there are requests. It is called in the goroutine of the
	// request that was about to use the file, at times by several at once, and holds up
	// that request. Nil logs each at level Warn to slog.Default().
	OnError func(error)
}

// NewConnection makes the connection to the server with base URL serverURL (see
// [Connection.URL]). It sends nothing, and starts no goroutine. The URL has to be https if
// opts has credentials or a CA.
//
// The connection speaks HTTP/2 where the server does. One that has been silent for 30
// seconds is asked for a sign of life, and closed if there is none within 15 more; then
// watches on it end with an error, and a read is tried again. Once a reflector has found the
// server away, those that try it again do so through connections of their own making. Over HTTP/1, as through
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
	if err := opts.check(server.base); err != nil {
		return fail(err)
	}
	t, err := newTransport(server.base, opts)
	if err != nil {
		return fail(err)
	}
	return Connection{URL: serverURL, Breaker: new(reflector.Breaker), HTTP: &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// check finds misuse that does not need the files.
func (o ConnectionOptions) check(server *url.URL) error {
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
	case token && server.User != nil:
		return errors.New("there is a bearer token, and a user in the URL: one request has room for one of them")
	case server.Scheme != "https" && (ca || cert || token):
		return errors.New("credentials and CA need an https URL: over http everybody on the way could read them")
	}
	return nil
}

// secrets are the contents of the files, or what was given instead.
type secrets struct{ ca, cert, key, token string }

// read reads the files. What cannot be used is as it was in last; the errors say what that
// is, each a *CredentialError if it is about a file.
func (o ConnectionOptions) read(last secrets) (s secrets, faults []error) {
	s = last
	use := func(file string, err error) bool {
		if err != nil && file != "" {
			err = &CredentialError{File: file, Err: err}
		}
		if err != nil {
			faults = append(faults, err)
		}
		return err == nil
	}
	if ca, err := contents(o.CAFile, o.CA); use(o.CAFile, err) && use(o.CAFile, o.checkCA(ca)) {
		s.ca = ca
	}
	cert, err := contents(o.CertFile, o.Cert)
	usable := use(o.CertFile, err)
	key, err := contents(o.KeyFile, o.Key)
	if usable = use(o.KeyFile, err) && usable; usable && cert+key != "" {
		if _, err = tls.X509KeyPair([]byte(cert), []byte(key)); err != nil {
			err = fmt.Errorf("client certificate: %w", err)
		}
		usable = use(o.CertFile, err)
	}
	if usable {
		s.cert, s.key = cert, key
	}
	if token, err := o.readToken(); use(o.TokenFile, err) {
		s.token = token
	}
	return s, faults
}

// contents is what a file holds, if there is one, or else data.
func contents(file string, data []byte) (string, error) {
	if file == "" {
		return string(data), nil
	}
	data, err := os.ReadFile(file)
	return string(data), err
}

// checkCA makes sure that there are certificates, where there have to be.
func (o ConnectionOptions) checkCA(ca string) error {
	if (ca != "" || o.CAFile != "") && !x509.NewCertPool().AppendCertsFromPEM([]byte(ca)) {
		return errors.New("no certificate in the CA")
	}
	return nil
}

func (o ConnectionOptions) readToken() (string, error) {
	token, err := contents(o.TokenFile, []byte(o.Token))
	if err != nil {
		return "", err
	}
	if token = strings.TrimSpace(token); token == "" && o.TokenFile != "" {
		return "", errors.New("the token file is empty")
	}
	if strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return "", errors.New("the bearer token has characters that no token has")
	}
	return token, nil
}

// sender makes the transport proper, of secrets that read has found usable.
func (o ConnectionOptions) sender(s secrets) (*http.Transport, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: o.ServerName, InsecureSkipVerify: o.Insecure}
	if s.ca != "" {
		conf.RootCAs = x509.NewCertPool()
		conf.RootCAs.AppendCertsFromPEM([]byte(s.ca))
	}
	if s.cert != "" {
		cert, err := tls.X509KeyPair([]byte(s.cert), []byte(s.key))
		if err != nil {
			return nil, err
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
	t.Proxy = privateProxy(t.Proxy)
	if t.DialContext == nil {
		t.DialContext = (&net.Dialer{Timeout: dialLimit}).DialContext
	}
	return t, nil
}
