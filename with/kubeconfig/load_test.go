package kubeconfig

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kinform/kinform/client"
)

// What is named comes first, then the files of KUBECONFIG together, then that in the home.
func TestPrecedence(t *testing.T) {
	alone(t)
	s := newServer(t)
	if _, err := Load(Options{}); !errors.Is(err, ErrNoConfig) || !strings.Contains(err.Error(), ".kube/config") {
		t.Errorf("nothing there: %v", err)
	}
	if err := os.Mkdir(filepath.Dir(clientcmd.RecommendedHomeFile), 0o700); err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(s.config(t, "{token: t}"), "prod", "of-home")
	if err := os.WriteFile(clientcmd.RecommendedHomeFile, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if c := load(t, Options{}); c.Namespace != "of-home" || c.Context != "a" || c.Connection.URL != s.URL {
		t.Errorf("that of the home: %s, context %q, namespace %q", c.Connection.URL, c.Context, c.Namespace)
	}
	// The first file says which context is the current one; the second has it.
	t.Setenv("KUBECONFIG", strings.Join([]string{
		write(t, "missing-is-fine", "")[1:], write(t, "one", "current-context: b"), write(t, "two", s.config(t, "{token: t}")),
	}, string(os.PathListSeparator)))
	if c := load(t, Options{}); c.Context != "b" || c.Namespace != "default" || c.Connection.URL != "https://there.test" {
		t.Errorf("those of KUBECONFIG: %s, context %q, namespace %q", c.Connection.URL, c.Context, c.Namespace)
	}
	named := write(t, "named", strings.ReplaceAll(s.config(t, "{token: t}"), "prod", "of-file"))
	if c := load(t, Options{Path: named, Context: "a"}); c.Namespace != "of-file" {
		t.Errorf("that which is named: namespace %q", c.Namespace)
	}
}

func TestErrors(t *testing.T) {
	alone(t)
	s := newServer(t)
	good := write(t, "config", s.config(t, "{token: t}"))
	for name, c := range map[string]struct {
		opts Options
		want string
	}{
		"no file":         {Options{Path: "/there/is/none"}, "/there/is/none"},
		"unreadable":      {Options{Path: write(t, "bad", "}{")}, "bad"},
		"no context":      {Options{Path: good, Context: "c"}, `no context "c" in ` + good + `; choose one of: a, b`},
		"none is current": {Options{Path: write(t, "config", strings.Replace(s.config(t, "{}"), "current-context: a", "", 1))}, "config; choose one of: a, b"},
		"no CA":           {Options{Path: write(t, "config", strings.Replace(s.config(t, "{}"), "ca.crt", "none.crt", 1))}, "none.crt"},
		"empty":           {Options{Path: write(t, "empty", "")}, "empty, nor any other: is it a kubeconfig?"},
		"no such user":    {Options{Path: write(t, "config", strings.Replace(s.config(t, "{}"), "user: me", "user: you", 1))}, `context "a": no user "you"`},
	} {
		_, err := Load(c.opts)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q in it", name, err, c.want)
		}
	}
	var missing *ContextError
	if _, err := Load(Options{Path: good, Context: "c"}); !errors.As(err, &missing) || !slices.Equal(missing.Contexts, []string{"a", "b"}) {
		t.Errorf("no context: %v", err)
	}
}

// Each kind of credentials arrives at the server, and a file is read again when it changed.
func TestCredentials(t *testing.T) {
	alone(t)
	s := newServer(t)
	token, empty := write(t, "token", "of-file"), write(t, "empty", "")
	for user, want := range map[string]string{
		`{token: abc}`:                              "Bearer abc",
		`{tokenFile: "` + token + `"}`:              "Bearer of-file",
		`{token: abc, tokenFile: "` + token + `"}`:  "Bearer of-file",
		`{token: abc, tokenFile: "` + token + `x"}`: "Bearer abc",
		`{token: abc, tokenFile: "` + empty + `"}`:  "Bearer abc",
		`{username: u, password: p}`:                "Basic dTpw",
		`{}`:                                        "",
	} {
		c := load(t, Options{Path: write(t, "config", s.config(t, user))})
		if err := get(t, c.Connection); err != nil || s.header().Get("Authorization") != want {
			t.Errorf("%s: %q, %v; want %q", user, s.header().Get("Authorization"), err, want)
		}
	}
}

// Over http everybody on the way could read them.
func TestNoCredentialsOverHTTP(t *testing.T) {
	alone(t)
	s := newServer(t)
	plain := httptest.NewServer(s.Config.Handler)
	defer plain.Close()
	for _, user := range []string{`{token: abc}`, `{username: u, password: p}`, plugin(`{"token":"abc"}`).user(t)} {
		c := load(t, Options{Path: write(t, "config", strings.Replace(s.config(t, user), s.URL, plain.URL, 1))})
		if err := get(t, c.Connection); err != nil || s.header().Get("Authorization") != "" {
			t.Errorf("%s: %q, %v", user, s.header().Get("Authorization"), err)
		}
	}
}

func TestImpersonate(t *testing.T) {
	alone(t)
	s := newServer(t)
	path := write(t, "config", s.config(t, `{token: abc, as: of-file, as-groups: [g]}`))
	for who, want := range map[string]string{"": "of-file", "of-options": "of-options"} {
		c := load(t, Options{Path: path, Impersonate: rest.ImpersonationConfig{UserName: who}})
		err := get(t, c.Connection)
		h := s.header()
		if err != nil || h.Get("Impersonate-User") != want || h.Get("Authorization") != "Bearer abc" {
			t.Errorf("as %q: %v, %v; want %q", who, h, err, want)
		}
		if groups := h.Values("Impersonate-Group"); (who == "") != slices.Equal(groups, []string{"g"}) {
			t.Errorf("as %q: groups %q", who, groups)
		}
	}
}

// An address with a password is not shown if it does not parse.
func TestErrorsWithoutPasswords(t *testing.T) {
	alone(t)
	s := newServer(t)
	good := s.config(t, "{token: abc}")
	for _, bad := range []string{
		strings.Replace(good, s.URL, "https://user:secret%zz@here.test", 1),
		strings.Replace(good, s.URL, `https://user:secret\"%zz@here.test`, 1),
		strings.Replace(good, "certificate-authority", `proxy-url: "http://user:secret%zz@proxy.test", certificate-authority`, 1),
		strings.Replace(good, "certificate-authority", `proxy-url: "gopher://user:secret@proxy.test", certificate-authority`, 1),
	} {
		_, err := Load(Options{Path: write(t, "config", bad)})
		if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "hidden") {
			t.Errorf("%v, want an error without the address", err)
		}
	}
}

// closes counts how often its idle connections are closed.
type closes struct {
	http.RoundTripper
	n int
}

func (c *closes) CloseIdleConnections() { c.n++ }

func TestImpersonationClosesIdleConnections(t *testing.T) {
	base := &closes{}
	conn := client.Connection{HTTP: &http.Client{Transport: base}}
	impersonate(&conn, rest.ImpersonationConfig{UserName: "somebody"})
	if conn.HTTP.CloseIdleConnections(); base.n != 1 {
		t.Errorf("closed %d times, want 1", base.n)
	}
}

func TestDisableCompression(t *testing.T) {
	alone(t)
	s := newServer(t)
	for text, want := range map[string]string{"": "gzip", "disable-compression: true, ": "identity"} {
		config := strings.Replace(s.config(t, "{token: abc}"), "certificate-authority", text+"certificate-authority", 1)
		c := load(t, Options{Path: write(t, "config", config)})
		if err := list(t, c.Connection); err != nil || s.header().Get("Accept-Encoding") != want || s.header().Get("Authorization") != "Bearer abc" {
			t.Errorf("%q: %v, %v; want %s", text, s.header(), err, want)
		}
	}
}

// A proxy of the kubeconfig is used.
func TestProxy(t *testing.T) {
	alone(t)
	s := newServer(t)
	text := strings.Replace(s.config(t, "{token: abc}"), "certificate-authority", `proxy-url: "http://127.0.0.1:1", certificate-authority`, 1)
	c := load(t, Options{Path: write(t, "config", text)})
	if err := get(t, c.Connection); err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("through a proxy that is not there: %v", err)
	}
}

// The service account of a pod comes last, but before an error.
func TestInCluster(t *testing.T) {
	alone(t)
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "443")
	// Its files are at a place that a test cannot write to.
	if _, err := Load(Options{}); err == nil || !strings.Contains(err.Error(), "service account") {
		t.Errorf("in a pod: %v", err)
	}
	var missing *ContextError
	if _, err := Load(Options{Context: "a"}); !errors.As(err, &missing) || !strings.Contains(err.Error(), `no context "a" in `) {
		t.Errorf("a context in a pod: %v", err)
	}
}

// A context without a namespace has the pod's, as in client-go, and so has a pod without a kubeconfig.
func TestNamespaceInPod(t *testing.T) {
	s := newServer(t)
	bare := strings.Replace(s.config(t, "{}"), ", namespace: prod", "", 1)
	for name, c := range map[string]struct {
		config    string // empty for none
		pod       bool   // the process runs in one
		variable  string // POD_NAMESPACE
		namespace string // of the service account
		want      string
	}{
		"no pod":                         {config: bare, variable: "of-variable", namespace: "of-account", want: "default"},
		"variable":                       {config: bare, pod: true, variable: "of-variable", namespace: "of-account", want: "of-variable"},
		"service account":                {config: bare, pod: true, namespace: "of-account\n", want: "of-account"},
		"empty file":                     {config: bare, pod: true, want: "default"},
		"namespace in the file":          {config: s.config(t, "{}"), pod: true, variable: "of-variable", namespace: "of-account", want: "prod"},
		"no kubeconfig, variable":        {pod: true, variable: "of-variable", namespace: "of-account", want: "of-variable"},
		"no kubeconfig, service account": {pod: true, namespace: "of-account\n", want: "of-account"},
		"no kubeconfig, empty file":      {pod: true, want: "default"},
	} {
		t.Run(name, func(t *testing.T) {
			alone(t)
			if c.pod {
				t.Setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
				t.Setenv("KUBERNETES_SERVICE_PORT", "443")
			}
			t.Setenv("POD_NAMESPACE", c.variable)
			ca := s.ca(t)
			account := filepath.Dir(ca)
			for file, text := range map[string]string{"token": "abc", "namespace": c.namespace} {
				if err := os.WriteFile(filepath.Join(account, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var opts Options
			if c.config != "" {
				opts.Path = write(t, "config", c.config)
			}
			found, err := find(opts, account)
			if err != nil {
				t.Fatal(err)
			}
			if found.Namespace != c.want {
				t.Errorf("%q, want %q", found.Namespace, c.want)
			}
			found.Connection.HTTP.CloseIdleConnections()
		})
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	alone(t)
	s := newServer(t)
	for _, user := range []string{`{token: abc}`, plugin(`{"token":"abc"}`).user(t)} {
		c := load(t, Options{Path: write(t, "config", s.config(t, user))})
		if c.Connection.HTTP.CheckRedirect == nil || !errors.Is(c.Connection.HTTP.CheckRedirect(nil, nil), http.ErrUseLastResponse) {
			t.Errorf("%s: redirects are followed", user)
		}
		if c.Connection.Breaker == nil {
			t.Errorf("%s: no breaker", user)
		}
	}
}
