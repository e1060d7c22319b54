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
