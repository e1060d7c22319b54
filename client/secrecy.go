package client

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// hidden replaces a secret in texts, present a value without a useful text.
const (
	hidden  = "hidden"
	present = "set"
)

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

// Format implements fmt.Formatter. Connection.HTTP leads to the transport, and fmt would print
// the credentials in it.
func (t *transport) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "transport{Server:%q}", t.server.Host)
}

// printed is the text of a struct's fields.
type printed string

// field adds a field, unless its value has no text.
func (p *printed) field(name, value string) {
	if value == "" {
		return
	}
	if *p != "" {
		*p += " "
	}
	*p += printed(name + ":" + value)
}

func quoted(s string) string {
	return when(s != "", strconv.Quote(s))
}

func size(data []byte) string {
	return when(len(data) > 0, fmt.Sprintf("%d bytes", len(data)))
}

func when(set bool, text string) string {
	if !set {
		return ""
	}
	return text
}

// publicURL returns a base URL without the parts that may be secret: user, password, query and
// fragment. In a text that does not parse these may be anywhere.
func publicURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" {
		return hidden
	}
	if u.User != nil {
		u.User = url.User(hidden)
	}
	if u.RawQuery != "" {
		u.RawQuery = hidden
	}
	if u.Fragment != "" {
		u.Fragment, u.RawFragment = hidden, ""
	}
	return u.String()
}

// parseURL is url.Parse, except that its error shows nothing of a text that may have a
// password.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err == nil {
		return u, nil
	}
	if strings.ContainsAny(text, "@?#") {
		return nil, errors.New("the URL does not parse; it is not shown, because it may have a password")
	}
	return nil, err
}

// privateProxy hides the address of a proxy in the errors of proxy.
func privateProxy(proxy func(*http.Request) (*url.URL, error)) func(*http.Request) (*url.URL, error) {
	return func(req *http.Request) (*url.URL, error) {
		u, err := proxy(req)
		return u, withoutAddress(err)
	}
}

// privateError hides the address of a proxy in an error of an http.Client that was asked for a
// URL. That URL needs no care, because http.Client hides its password. If the client followed a
// redirect, the error has another URL, whose query may be secret.
func privateError(err error, asked *url.URL) error {
	sent, ok := err.(*url.Error)
	if !ok {
		return err
	}
	shown, cause := sent.URL, withoutAddress(sent.Err)
	if u, err := url.Parse(shown); err != nil || u.Host != asked.Host || u.Path != asked.Path {
		shown = publicURL(shown)
	}
	if cause != nil && strings.Contains(cause.Error(), "Location header") {
		cause = errors.New("a redirect to an address that does not parse")
	}
	return &url.Error{Op: sent.Op, URL: shown, Err: cause}
}

// withoutAddress replaces an error that may show an address with a password:
// http.ProxyFromEnvironment shows an address that it cannot parse. Network and TLS errors only
// contain host names and numbers.
func withoutAddress(err error) error {
	if err == nil || !strings.Contains(err.Error(), "@") ||
		errors.As(err, new(*net.OpError)) || errors.As(err, new(*tls.CertificateVerificationError)) {
		return err
	}
	return errors.New("an error that is not shown, because it may have the password of a proxy")
}
