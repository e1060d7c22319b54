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
	// pingAfter is the silence after which an HTTP/2 connection is pinged, pingWait the time
	// limit for the answer. Both are client-go's values.
	pingAfter = 30 * time.Second
	pingWait  = 15 * time.Second
	// dialLimit and handshakeLimit limit the time to make a connection.
	dialLimit      = 30 * time.Second
	handshakeLimit = 10 * time.Second
	// idleLimit is the time that a connection without a request is kept. idleConnections is
	// the number of HTTP/1 connections kept; for HTTP/2 there is usually one.
	idleLimit       = 90 * time.Second
	idleConnections = 25
)

// ConnectionOptions hold the credentials and the network settings for a server. The zero value
// fits a server that requires no credentials and has a certificate that the system trusts.
// Package fmt, log handlers and JSON print them without Token and Key.
//
// [NewConnection] reads the files, and returns an error if one cannot be used. They are read
// again each minute, and whenever the server refuses the credentials (401) or its own
// certificate is not trusted. New requests then use the new contents, without a restart. A
// refused request is sent once more if anything has changed. A file that cannot be used at
// that time, such as a certificate whose new key is not there yet, is reported to OnError. Its
// last good contents stay in use, and the other files are still updated.
type ConnectionOptions struct {
	// CAFile is a PEM file with the certificates of the authorities that may sign the server's
	// certificate. CA is the same as bytes. If neither is set, the system's authorities are
	// trusted.
	CAFile string
	CA     []byte

	// CertFile and KeyFile are PEM files of a client certificate and its key. Cert and Key are
	// the same as bytes. When they change, new requests use new connections, and watches on
	// the old connections end in their own time.
	CertFile, KeyFile string
	Cert, Key         []byte

	// TokenFile holds a bearer token, such as a service account's. Token is the same as a
	// string. With both, as in a kubeconfig, Token is used until the file can be read, and a file
	// that cannot is reported to OnError. Surrounding space is ignored.
	TokenFile string
	Token     string

	// ServerName is the name that the server's certificate must have; empty means the host of
	// the URL.
	ServerName string

	// Insecure trusts any certificate, so anybody on the network path can read everything. It
	// excludes CA and CAFile.
	Insecure bool

	// Proxy returns the proxy for a request; nil means http.ProxyFromEnvironment.
	Proxy func(*http.Request) (*url.URL, error)

	// DialContext makes the network connections; nil means a net.Dialer.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)

	// OnError gets a *[CredentialError] for each file that was usable before and is not usable
	// now: when the problem is found, when its reason changes, and then again each minute in
	// which there are requests. It is called in the goroutine of the request that needs the
	// file, possibly by several at once, and the request waits for it. Nil logs each error at
	// level Warn to slog.Default().
	OnError func(error)
}

// Format implements fmt.Formatter: every verb prints the fields with Key and Token hidden, and
// with the sizes of CA and certificate. Do not print a struct that has the options in an
// unexported field: it is printed without this method.
func (o ConnectionOptions) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(o.text())) }

// MarshalText implements encoding.TextMarshaler with the text that Format prints, so that
// JSON and log handlers hide the same. It cannot be read back.
func (o ConnectionOptions) MarshalText() ([]byte, error) { return []byte(o.text()), nil }

func (o ConnectionOptions) text() string {
	var p printed
	p.field("CAFile", quoted(o.CAFile))
	p.field("CA", size(o.CA))
	p.field("CertFile", quoted(o.CertFile))
	p.field("KeyFile", quoted(o.KeyFile))
	p.field("Cert", size(o.Cert))
	p.field("Key", when(len(o.Key) > 0, hidden))
	p.field("TokenFile", quoted(o.TokenFile))
	p.field("Token", when(o.Token != "", hidden))
	p.field("ServerName", quoted(o.ServerName))
	p.field("Insecure", when(o.Insecure, "true"))
	p.field("Proxy", when(o.Proxy != nil, present))
	p.field("DialContext", when(o.DialContext != nil, present))
	p.field("OnError", when(o.OnError != nil, present))
	return "ConnectionOptions{" + string(p) + "}"
}

// check finds misuse that is visible without reading the files.
func (o ConnectionOptions) check(server *url.URL) error {
	ca := o.CAFile != "" || len(o.CA) > 0
	cert, key := o.CertFile != "" || len(o.Cert) > 0, o.KeyFile != "" || len(o.Key) > 0
	token := o.TokenFile != "" || o.Token != ""
	switch {
	case o.CAFile != "" && len(o.CA) > 0, o.CertFile != "" && len(o.Cert) > 0, o.KeyFile != "" && len(o.Key) > 0:
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

// secrets are the contents of the files, or the values given instead.
type secrets struct{ ca, cert, key, token string }

// read reads the files. If a file cannot be used, its value comes from last, and faults has
// the error, a *CredentialError if it concerns a file.
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
	if ca, err := fileContents(o.CAFile, o.CA); use(o.CAFile, err) && use(o.CAFile, o.checkCA(ca)) {
		s.ca = ca
	}
	cert, err := fileContents(o.CertFile, o.Cert)
	usable := use(o.CertFile, err)
	key, err := fileContents(o.KeyFile, o.Key)
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

// fileContents returns the contents of file, or data if file is empty.
func fileContents(file string, data []byte) (string, error) {
	if file == "" {
		return string(data), nil
	}
	data, err := os.ReadFile(file)
	return string(data), err
}

// checkCA checks that there are certificates if CA or CAFile is set.
func (o ConnectionOptions) checkCA(ca string) error {
	if (ca != "" || o.CAFile != "") && !x509.NewCertPool().AppendCertsFromPEM([]byte(ca)) {
		return errors.New("no certificate in the CA")
	}
	return nil
}

func (o ConnectionOptions) readToken() (string, error) {
	token, err := fileContents(o.TokenFile, []byte(o.Token))
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

// sender makes the actual transport from secrets that read has found usable.
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
		// Not Certificates: those are withheld if the server names other signers, as a server
		// may that has just changed them.
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
