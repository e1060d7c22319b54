package client_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/kind"
)

const secret = "s3cret"

// texts are all the ways in which a value may come into a log.
func texts(v any) map[string]string {
	all := map[string]string{}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		all[verb] = fmt.Sprintf(verb, v)
	}
	var text, inJSON bytes.Buffer
	slog.New(slog.NewTextHandler(&text, nil)).Info("m", "v", v)
	slog.New(slog.NewJSONHandler(&inJSON, nil)).Info("m", "v", v)
	all["slog text"], all["slog JSON"] = text.String(), inJSON.String()
	raw, err := json.Marshal(v)
	all["JSON"] = fmt.Sprintf("%s %v", raw, err)
	return all
}

// The text of options and connections has neither tokens nor keys nor passwords, but what else
// is in them.
func TestTextsHideSecrets(t *testing.T) {
	opts := client.ConnectionOptions{
		CA: []byte("ca"), Cert: []byte("cert"), Key: []byte(secret), Token: secret, ServerName: "api.test",
	}
	for _, u := range []string{"https://" + secret + ":" + secret + "@api.test/base", "https://me:" + secret + "@api.test:port", "me:" + secret + "@api.test"} {
		conn := client.Connection{URL: u, UserAgent: "agent", HTTP: &http.Client{}, Retries: 3}
		for what, v := range map[string]any{
			"options": opts, "pointer": &opts, "field": struct{ Opts client.ConnectionOptions }{opts}, "list": []client.ConnectionOptions{opts},
			"connection": conn, "connection's pointer": &conn, "map": map[string]any{"conn": conn},
		} {
			for how, text := range texts(v) {
				if hidesBadly(text) {
					t.Errorf("%s by %s: %s", what, how, text)
				}
				if want := map[bool]string{true: "agent", false: "api.test"}[strings.Contains(text, "UserAgent")]; !strings.Contains(text, want) {
					t.Errorf("%s by %s says too little: %s", what, how, text)
				}
			}
		}
	}
	if got, want := fmt.Sprint(opts), `ConnectionOptions{CA:2 bytes Cert:4 bytes Key:hidden Token:hidden ServerName:"api.test"}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	conn := client.Connection{URL: "https://me:" + secret + "@api.test/base", Retries: -1}
	if got, want := fmt.Sprint(conn), `Connection{URL:"https://hidden@api.test/base" Retries:-1}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := fmt.Sprint(client.Connection{}, client.ConnectionOptions{}); got != "Connection{} ConnectionOptions{}" {
		t.Error(got)
	}
}

// hidesBadly reports whether the secret is in a text, as it is or in numbers.
func hidesBadly(text string) bool {
	numbers := strings.Trim(fmt.Sprint([]byte(secret)), "[]")
	return strings.Contains(text, secret) || strings.Contains(text, numbers) || strings.Contains(text, fmt.Sprintf("%x", secret)) ||
		strings.Contains(text, "0x73, 0x33")
}

// The http.Client from NewConnection holds the token, and does not print it.
func TestTransportHidesSecrets(t *testing.T) {
	conn := connect(t, "https://api.test", client.ConnectionOptions{Token: secret})
	for _, v := range []any{conn, conn.HTTP, *conn.HTTP, conn.HTTP.Transport} {
		for how, text := range texts(v) {
			if hidesBadly(text) {
				t.Errorf("%T by %s: %s", v, how, text)
			}
		}
	}
	r := newResource[*widget](t, conn, client.Options{})
	if text := fmt.Sprintf("%+v", r); hidesBadly(text) {
		t.Error(text)
	}
}

// A URL that is refused is in the error without what may be a password.
func TestURLErrorsHidePasswords(t *testing.T) {
	for _, u := range []string{
		"https://me:s3cret@host:port", "https://me:s3cret@[::1", "https://me:s3cret@ho st", "https://me:s3cret@host/%zz",
		"https://me:s3cret%zz@host", "https://me:p/s3cret@host", "ftp://me:s3cret@host", "https://me:s3cret@host?x=1", "https://host?token=s3cret",
		"https://host#s3cret", "https://me:s3cret@", "me:s3cret@host", "//me:s3cret@host", "https://s3cret@", "http://me:s3cret@host",
		"http://s3cret@127.0.0.1:8001", "https://me:s3\x00cret@host", "https://host:1?token=s3cret%zz\x7f",
	} {
		_, err := client.NewConnection(u, client.ConnectionOptions{})
		if err == nil || strings.Contains(err.Error(), "s3c") || strings.Contains(err.Error(), "cret") {
			t.Errorf("NewConnection %s: %v", u, err)
		}
		_, err = client.New(client.Connection{URL: u}, kind.OfResource[*widget](widgets), client.Options{})
		if err == nil || strings.Contains(err.Error(), "s3c") || strings.Contains(err.Error(), "cret") {
			t.Errorf("New %s: %v", u, err)
		}
	}
	// An error that cannot have a password says where the fault is.
	if _, err := client.NewConnection("https://host:port", client.ConnectionOptions{}); err == nil || !strings.Contains(err.Error(), "port") {
		t.Error(err)
	}
}

// Over https a user and password of the URL are credentials, beside which there is no token.
func TestUserOfURL(t *testing.T) {
	const u = "https://me:" + secret + "@api.test"
	if _, err := client.NewConnection(u, client.ConnectionOptions{Token: "t"}); err == nil || hidesBadly(err.Error()) {
		t.Error(err)
	}
	var user, password string
	send := transport(func(req *http.Request) (*http.Response, error) {
		user, password, _ = req.BasicAuth()
		return nil, errors.New("broken")
	})
	r := newResource[*widget](t, client.Connection{URL: u, HTTP: &http.Client{Transport: send}}, client.Options{})
	for verb, call := range calls(t.Context(), r) {
		if err := call(); err == nil || hidesBadly(err.Error()) || !strings.Contains(err.Error(), "api.test") {
			t.Errorf("%s: %v", verb, err)
		}
		if user != "me" || password != secret {
			t.Errorf("%s as %q, %q", verb, user, password)
		}
	}
}

// The address of a proxy that does not parse is not shown, for any http.Client.
func TestProxyErrorsHidePasswords(t *testing.T) {
	address := "http://me:" + secret + "@proxy:port"
	proxy := func(*http.Request) (*url.URL, error) {
		_, err := url.Parse(address)
		return nil, fmt.Errorf("invalid proxy address %q: %w", address, err)
	}
	made := connect(t, "https://api.test", client.ConnectionOptions{Proxy: proxy})
	if _, err := made.HTTP.Get("https://api.test"); err == nil || hidesBadly(err.Error()) {
		t.Error(err)
	}
	own := client.Connection{URL: "https://api.test", HTTP: &http.Client{Transport: &http.Transport{Proxy: proxy}}}
	for _, conn := range []client.Connection{made, own} {
		for verb, call := range calls(t.Context(), newResource[*widget](t, conn, client.Options{})) {
			if err := call(); err == nil || hidesBadly(err.Error()) || !strings.Contains(err.Error(), "proxy") {
				t.Errorf("%s: %v", verb, err)
			}
		}
	}
}

// Files that cannot be used are named, and nothing of their contents is.
func TestCredentialErrorsHideContents(t *testing.T) {
	dir := t.TempDir()
	file := func(text string) string {
		name := filepath.Join(dir, fmt.Sprint(len(text)))
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	pem := "-----BEGIN PRIVATE KEY-----\n" + secret + "\n-----END PRIVATE KEY-----\n"
	kubeconfig := "users:\n- user: {token: " + secret + "}\n"
	for _, opts := range []client.ConnectionOptions{
		{TokenFile: file(kubeconfig)}, {Token: kubeconfig}, {CAFile: file(secret)}, {CA: []byte(kubeconfig)},
		{CertFile: file(pem), KeyFile: file(pem)}, {Cert: []byte(pem), Key: []byte(kubeconfig)}, {Cert: []byte(kubeconfig), Key: []byte(pem)},
	} {
		if _, err := client.NewConnection("https://api.test", opts); err == nil || hidesBadly(err.Error()) {
			t.Errorf("%v: %v", opts, err)
		} else {
			for how, text := range texts(err) {
				if hidesBadly(text) {
					t.Errorf("%v by %s: %s", opts, how, text)
				}
			}
		}
	}
}

// An answer that is none of the API is shown where it is text. One that was not asked for, such as
// CBOR, may begin with the data of a Secret.
func TestExcerptsHideData(t *testing.T) {
	body := []byte("\xd9\xd9\xf7\xa1\x44data\xa1\x48password\x53" + secret)
	for _, cut := range []int{len(body), len(body) - 1} {
		r := newResource[*widget](t, bodiesOf("application/cbor", body[:cut]), client.Options{})
		for verb, call := range calls(t.Context(), r) {
			if err := call(); err != nil && hidesBadly(err.Error()) {
				t.Errorf("%s: %v", verb, err)
			}
		}
	}
	text := `{"apiVersion":"v1","data":{"password":"` + secret + `"},"kind":"Secret","metadata":{"name":"a"}}`
	applied := `{"annotations":{"a":"{\"data\":{\"p\":\"` + secret + `\"}}"},`
	for _, body := range []string{text[:len(text)-1], text, `{"type":"ERROR","object":` + text + "}", applied} {
		for verb, call := range calls(t.Context(), newResource[*widget](t, bodies(body), client.Options{})) {
			if err := call(); err != nil && hidesBadly(err.Error()) {
				t.Errorf("%s of %s: %v", verb, body, err)
			}
		}
	}
	moved := transport(func(*http.Request) (*http.Response, error) {
		resp := response(strings.NewReader("<a href=\"/in?code=" + secret + "\">Found</a>"))
		resp.StatusCode = http.StatusFound
		resp.Header.Set("Content-Type", "text/html")
		resp.Header.Set("Location", "https://me:"+secret+"@login.test/in?code="+secret)
		return resp, nil
	}).connection()
	moved.HTTP.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	got := list(t.Context(), newResource[*widget](t, moved, client.Options{}), metav1.ListOptions{})
	if got.err == nil || hidesBadly(got.err.Error()) || !strings.Contains(got.err.Error(), "login.test/in") {
		t.Error(got.err)
	}
}

// An http.Client that follows redirects has errors with the address of the last one.
func TestRedirectErrorsHideQueries(t *testing.T) {
	for to, shown := range map[string]string{
		"https://me:" + secret + "@login.test/in?code=" + secret: "login.test/in",
		"https://login.test/%zz?code=" + secret:                  "api.test",
	} {
		conn := transport(func(req *http.Request) (*http.Response, error) {
			if req.URL.Host == "login.test" {
				return nil, errors.New("broken")
			}
			resp := response(strings.NewReader(""))
			resp.StatusCode = http.StatusFound
			resp.Header.Set("Location", to)
			return resp, nil
		}).connection()
		conn.URL = "https://api.test"
		got := list(t.Context(), newResource[*widget](t, conn, client.Options{}), metav1.ListOptions{})
		if got.err == nil || hidesBadly(got.err.Error()) || !strings.Contains(got.err.Error(), shown) {
			t.Error(got.err)
		}
	}
}
