package client_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
)

const apiURL = "https://api.test"

var aKey = types.NamespacedName{Namespace: "ns", Name: "a"}

func get(ctx context.Context, r *client.Resource[*widget]) error {
	_, err := r.Get(ctx, aKey, metav1.GetOptions{})
	return err
}

// inBubble runs a test with the certificates that it needs: making them takes the time
// of the machine, not of the bubble.
func inBubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

// seen has the requests to a server.
type seen struct {
	mu       sync.Mutex
	requests []string
}

func (s *seen) add(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, what)
}

// take returns what came since the last time.
func (s *seen) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := strings.Join(s.requests, ",")
	s.requests = nil
	return all
}

func answerWidget(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, full(widgetJSON("a", 1, 1)))
}

func TestTLS(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	cert, key := ca.issue(t, "api.test")
	f := newFiles(t)
	f.write(t, "ca", ca.pem)
	for _, test := range []struct {
		name string
		url  string
		opts client.ConnectionOptions
		bad  bool
	}{
		{name: "CA", opts: client.ConnectionOptions{CA: ca.pem}},
		{name: "CA file", opts: client.ConnectionOptions{CAFile: f.path("ca")}},
		{name: "insecure", opts: client.ConnectionOptions{Insecure: true}},
		{name: "server name", url: "https://10.0.0.1:6443", opts: client.ConnectionOptions{CA: ca.pem, ServerName: "api.test"}},
		{name: "wrong server name", opts: client.ConnectionOptions{CA: ca.pem, ServerName: "else.test"}, bad: true},
		{name: "other host", url: "https://10.0.0.1:6443", opts: client.ConnectionOptions{CA: ca.pem}, bad: true},
		{name: "other CA", opts: client.ConnectionOptions{CA: other.pem}, bad: true},
		{name: "the system's CAs", bad: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				var s seen
				srv := serveTLS(t, cert, key, nil, func(w http.ResponseWriter, req *http.Request) {
					s.add(req.Proto)
					answerWidget(w)
				})
				defer srv.stop()
				if test.url == "" {
					test.url = apiURL
				}
				test.opts.DialContext = srv.dial
				conn := connect(t, test.url, test.opts)
				defer conn.HTTP.CloseIdleConnections()
				r := newResource[*widget](t, conn, client.Options{})
				err := get(t.Context(), r)
				var untrusted x509.UnknownAuthorityError
				var misnamed x509.HostnameError
				if test.bad {
					if !errors.As(err, &untrusted) && !errors.As(err, &misnamed) || !strings.HasPrefix(err.Error(), subject("get")) {
						t.Error(err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if err := get(t.Context(), r); err != nil {
					t.Fatal(err)
				}
				if got := s.take(); got != "HTTP/2.0,HTTP/2.0" || srv.dialed.Load() != 1 {
					t.Errorf("%s over %d connections", got, srv.dialed.Load())
				}
			})
		})
	}
}

// tokens is a server that accepts one token at a time.
type tokens struct {
	seen
	accepted string
}

func (a *tokens) serve(w http.ResponseWriter, req *http.Request) {
	got := req.Header.Get("Authorization")
	body, _ := io.ReadAll(req.Body)
	a.add(fmt.Sprintf("%s %s %d", req.Method, strings.TrimPrefix(got, "Bearer "), len(body)))
	a.mu.Lock()
	defer a.mu.Unlock()
	if got != "Bearer "+a.accepted && a.accepted != "any" {
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	answerWidget(w)
}

func (a *tokens) accept(token string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.accepted = token
}

func TestTokenRotates(t *testing.T) {
	ca := newAuthority(t)
	cert, key := ca.issue(t, "api.test")
	f := newFiles(t)
	inBubble(t, func(t *testing.T) {
		a := &tokens{accepted: "one"}
		srv := serveTLS(t, cert, key, nil, a.serve)
		defer srv.stop()
		f.write(t, "token", []byte("one\n"))
		conn := connect(t, apiURL, client.ConnectionOptions{CA: ca.pem, TokenFile: f.path("token"), DialContext: srv.dial})
		defer conn.HTTP.CloseIdleConnections()
		r := newResource[*widget](t, conn, client.Options{})
		expect := func(do func() error, want string) {
			t.Helper()
			err := do()
			if got := a.take(); got != want {
				t.Errorf("asked %q, want %q", got, want)
			}
			if refused := strings.HasSuffix(want, "!"); refused != apierrors.IsUnauthorized(err) {
				t.Error(err)
			}
		}
		read := func() error { return get(t.Context(), r) }
		expect(read, "GET one 0")

		// A file is trusted for a minute, and then read again.
		a.accept("any")
		f.write(t, "token", []byte(" two"))
		expect(read, "GET one 0")
		time.Sleep(time.Minute)
		expect(read, "GET two 0")

		// A refusal is a reason to look before that; the request is repeated, whole.
		f.write(t, "token", []byte("three"))
		a.accept("three")
		patch := func() error {
			_, err := r.Patch(t.Context(), aKey, types.MergePatchType, []byte(`{"a":1}`), metav1.PatchOptions{})
			return err
		}
		expect(patch, "PATCH two 7,PATCH three 7")

		// If nothing has changed, it is only refused.
		a.accept("four")
		if err := read(); !apierrors.IsUnauthorized(err) || strings.Contains(err.Error(), "three") || !strings.Contains(err.Error(), "who are you") {
			t.Error(err)
		}
		if got := a.take(); got != "GET three 0" {
			t.Error(got)
		}
		// A file that is not usable changes nothing.
		for _, content := range []string{"", "  \n", "a b", "a\x00b"} {
			f.write(t, "token", []byte(content))
			if err := read(); !apierrors.IsUnauthorized(err) {
				t.Error(err)
			}
			if got := a.take(); got != "GET three 0" {
				t.Errorf("%q: %s", content, got)
			}
		}
		if n := srv.dialed.Load(); n != 1 {
			t.Errorf("%d connections for tokens", n)
		}
	})
}

// A token beside a file is used until the file can be read. After that, the file's last good contents
// stay in use.
func TestTokenBesideFile(t *testing.T) {
	ca := newAuthority(t)
	cert, key := ca.issue(t, "api.test")
	f := newFiles(t)
	inBubble(t, func(t *testing.T) {
		a := &tokens{accepted: "any"}
		srv := serveTLS(t, cert, key, nil, a.serve)
		defer srv.stop()
		var reported []error
		conn := connect(t, apiURL, client.ConnectionOptions{
			CA: ca.pem, Token: " spare\n", TokenFile: f.path("token"), DialContext: srv.dial,
			OnError: func(err error) { reported = append(reported, err) },
		})
		defer conn.HTTP.CloseIdleConnections()
		r := newResource[*widget](t, conn, client.Options{})
		for _, step := range []struct {
			content []byte // of the file; nil for no file
			want    string
		}{
			{nil, "GET spare 0"},
			{[]byte{}, "GET spare 0"},
			{[]byte("of-file"), "GET of-file 0"},
			{[]byte{}, "GET of-file 0"},
			{nil, "GET of-file 0"},
		} {
			if err := os.Remove(f.path("token")); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			if step.content != nil {
				f.write(t, "token", step.content)
			}
			time.Sleep(time.Minute)
			if err := get(t.Context(), r); err != nil {
				t.Error(err)
			}
			if got := a.take(); got != step.want {
				t.Errorf("asked %q, want %q", got, step.want)
			}
		}
		var file *client.CredentialError
		if len(reported) == 0 || !errors.As(reported[0], &file) || file.File != f.path("token") {
			t.Errorf("reported %v, want the file first", reported)
		}
	})
}

// A CA that cannot be used for the time being does not hold up the next token, which
// without it would be refused in an hour.
func TestTokenRotatesBesideABrokenFile(t *testing.T) {
	ca := newAuthority(t)
	cert, key := ca.issue(t, "api.test")
	for name, spoil := range map[string]func(ca string) error{
		"half":      func(ca string) error { return os.WriteFile(ca, []byte("-----BEGIN CERT"), 0o600) },
		"gone":      os.Remove,
		"directory": func(ca string) error { return errors.Join(os.Remove(ca), os.Mkdir(ca, 0o700)) },
	} {
		f := newFiles(t)
		inBubble(t, func(t *testing.T) {
			a := &tokens{accepted: "one"}
			srv := serveTLS(t, cert, key, nil, a.serve)
			defer srv.stop()
			f.write(t, "token", []byte("one"))
			f.write(t, "ca", ca.pem)
			conn := connect(t, apiURL, client.ConnectionOptions{CAFile: f.path("ca"), TokenFile: f.path("token"), DialContext: srv.dial})
			defer conn.HTTP.CloseIdleConnections()
			r := newResource[*widget](t, conn, client.Options{})
			if err := spoil(f.path("ca")); err != nil {
				t.Fatal(err)
			}
			f.write(t, "token", []byte("two"))
			a.accept("two")
			if err := get(t.Context(), r); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if got := a.take(); got != "GET one 0,GET two 0" || srv.dialed.Load() != 1 {
				t.Errorf("%s: %s over %d connections", name, got, srv.dialed.Load())
			}
		})
	}
}

// A file that can no longer be used is reported with its name and without its contents. Its
// former contents stay in use, and new contents of other files are used.
func TestUnusableCredentialsAreReported(t *testing.T) {
	ca := newAuthority(t)
	cert, key := ca.issue(t, "api.test")
	mine, myKey := ca.issue(t, "one")
	next, nextKey := ca.issue(t, "two")
	good := map[string][]byte{"ca": ca.pem, "cert": mine, "key": myKey, "token": []byte("one")}
	for name, test := range map[string]struct {
		file, blamed string
		content      []byte // nil: the file is gone
	}{
		"token gone":        {file: "token"},
		"token empty":       {file: "token", content: []byte(" ")},
		"token of two":      {file: "token", content: []byte("secret secret")},
		"CA gone":           {file: "ca"},
		"CA without any":    {file: "ca", content: []byte("secret")},
		"certificate gone":  {file: "cert"},
		"certificate half":  {file: "cert", content: mine[:100]},
		"certificate alone": {file: "cert", content: next},
		"key gone":          {file: "key"},
		"key half":          {file: "key", content: myKey[:50], blamed: "cert"},
		"key alone":         {file: "key", content: nextKey, blamed: "cert"},
	} {
		f := newFiles(t)
		for file, content := range good {
			f.write(t, file, content)
		}
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				var s seen
				srv := serveTLS(t, cert, key, ca, func(w http.ResponseWriter, req *http.Request) {
					s.add(req.TLS.PeerCertificates[0].Subject.CommonName + req.Header.Get("Authorization"))
					answerWidget(w)
				})
				defer srv.stop()
				var told []error
				conn := connect(t, apiURL, client.ConnectionOptions{
					CAFile: f.path("ca"), CertFile: f.path("cert"), KeyFile: f.path("key"), TokenFile: f.path("token"), DialContext: srv.dial,
					OnError: func(err error) { told = append(told, err) },
				})
				defer conn.HTTP.CloseIdleConnections()
				r := newResource[*widget](t, conn, client.Options{})
				read := func(want string, faults int) {
					t.Helper()
					if err := get(t.Context(), r); err != nil {
						t.Error(err)
					}
					if got := s.take(); got != want {
						t.Errorf("asked as %q, want %q", got, want)
					}
					if len(told) != faults {
						t.Fatalf("told %v, want %d", told, faults)
					}
				}
				read("oneBearer one", 0)
				if test.content == nil {
					if err := os.Remove(f.path(test.file)); err != nil {
						t.Fatal(err)
					}
				} else {
					f.write(t, test.file, test.content)
				}
				time.Sleep(time.Minute)
				read("oneBearer one", 1)
				var fault *client.CredentialError
				if test.blamed == "" {
					test.blamed = test.file
				}
				if !errors.As(told[0], &fault) || fault.File != f.path(test.blamed) || !strings.Contains(fault.Error(), fault.File) ||
					strings.Contains(fault.Error(), "secret") || (test.content == nil) != errors.Is(fault, os.ErrNotExist) {
					t.Errorf("%+v", told)
				}
				// Once a minute at most, however many requests; and others go on changing.
				read("oneBearer one", 1)
				if test.file != "token" {
					f.write(t, "token", []byte("two"))
					time.Sleep(time.Minute)
					read("oneBearer two", 2)
				}
				if test.file == "ca" || test.file == "token" {
					f.write(t, "cert", next)
					f.write(t, "key", nextKey)
					time.Sleep(time.Minute)
					token := "two"
					if test.file == "token" {
						token = "one"
					}
					read("twoBearer "+token, len(told)+1)
				}
				for file, content := range good {
					f.write(t, file, content)
				}
				time.Sleep(time.Minute)
				faults := len(told)
				read("oneBearer one", faults)
				time.Sleep(time.Minute)
				read("oneBearer one", faults)
			})
		})
	}
}

// A refusal is a reason to read files, and not one to tell of them each time.
func TestUnusableCredentialsOfManyRefusals(t *testing.T) {
	ca := newAuthority(t)
	cert, key := ca.issue(t, "api.test")
	f := newFiles(t)
	inBubble(t, func(t *testing.T) {
		a := &tokens{accepted: "two"}
		srv := serveTLS(t, cert, key, nil, a.serve)
		defer srv.stop()
		f.write(t, "token", []byte("one"))
		var told []error
		conn := connect(t, apiURL, client.ConnectionOptions{
			CA: ca.pem, TokenFile: f.path("token"), DialContext: srv.dial,
			OnError: func(err error) { told = append(told, err) },
		})
		defer conn.HTTP.CloseIdleConnections()
		r := newResource[*widget](t, conn, client.Options{})
		f.write(t, "token", nil)
		for range 10 {
			if err := get(t.Context(), r); !apierrors.IsUnauthorized(err) {
				t.Error(err)
			}
		}
		f.write(t, "token", []byte("a b")) // another reason
		for range 10 {
			if err := get(t.Context(), r); !apierrors.IsUnauthorized(err) {
				t.Error(err)
			}
		}
		if len(told) != 2 {
			t.Errorf("told %v", told)
		}
	})
}

// A request whose body cannot be read twice is not sent twice.
func TestUnauthorizedStream(t *testing.T) {
	ca := newAuthority(t)
	cert, key := ca.issue(t, "api.test")
	f := newFiles(t)
	inBubble(t, func(t *testing.T) {
		a := &tokens{accepted: "two"}
		srv := serveTLS(t, cert, key, nil, a.serve)
		defer srv.stop()
		f.write(t, "token", []byte("one"))
		conn := connect(t, apiURL, client.ConnectionOptions{CA: ca.pem, TokenFile: f.path("token"), DialContext: srv.dial})
		defer conn.HTTP.CloseIdleConnections()
		f.write(t, "token", []byte("two"))
		for _, want := range []struct {
			code int
			seen string
		}{{401, "POST one 3"}, {200, "POST two 3"}} {
			resp, err := conn.HTTP.Post(apiURL, "text/plain", io.MultiReader(strings.NewReader("abc")))
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if got := a.take(); resp.StatusCode != want.code || got != want.seen {
				t.Errorf("%d, asked %q, want %v", resp.StatusCode, got, want)
			}
		}
	})
}

// A new client certificate is used for new requests, while a watch goes on by the old one.
func TestClientCertificateRotates(t *testing.T) {
	ca := newAuthority(t)
	cert, key := ca.issue(t, "api.test")
	oldCert, oldKey := ca.issue(t, "old")
	newCert, newKey := ca.issue(t, "new")
	f := newFiles(t)
	inBubble(t, func(t *testing.T) {
		var s seen
		more := make(chan struct{})
		srv := serveTLS(t, cert, key, ca, func(w http.ResponseWriter, req *http.Request) {
			s.add(req.TLS.PeerCertificates[0].Subject.CommonName)
			if req.URL.Query().Get("watch") == "" {
				answerWidget(w)
				return
			}
			for range more {
				_, _ = io.WriteString(w, eventJSON("ADDED", full(widgetJSON("a", 1, 1))))
				_ = http.NewResponseController(w).Flush()
			}
		})
		defer srv.stop()
		f.write(t, "cert", oldCert)
		f.write(t, "key", oldKey)
		conn := connect(t, apiURL, client.ConnectionOptions{
			CA: ca.pem, CertFile: f.path("cert"), KeyFile: f.path("key"), DialContext: srv.dial,
		})
		defer conn.HTTP.CloseIdleConnections()
		r := newResource[*widget](t, conn, client.Options{})
		next, stop := pull(r.Watch(t.Context(), metav1.ListOptions{}))
		defer stop()
		event := func() {
			t.Helper()
			go func() { more <- struct{}{} }()
			if _, err, ok := next(); err != nil || !ok {
				t.Fatal(err, ok)
			}
		}
		event()

		f.write(t, "cert", newCert) // its key is not there yet
		time.Sleep(time.Minute)
		if err := get(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		f.write(t, "key", newKey)
		time.Sleep(time.Minute)
		for range 2 {
			if err := get(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		event()
		if got := s.take(); got != "old,old,new,new" || srv.dialed.Load() != 2 {
			t.Errorf("%s over %d connections", got, srv.dialed.Load())
		}
		close(more)
		if ev, err, ok := next(); ok {
			t.Error(ev, err)
		}
		conn.HTTP.CloseIdleConnections() // the old certificate's connections too, or the bubble never ends
	})
}

// The server's certificate is replaced by another authority's.
func TestCARotates(t *testing.T) {
	before, after := newAuthority(t), newAuthority(t)
	f := newFiles(t)
	cert1, key1 := before.issue(t, "api.test")
	cert2, key2 := after.issue(t, "api.test")
	inBubble(t, func(t *testing.T) {
		serve := func(w http.ResponseWriter, _ *http.Request) { answerWidget(w) }
		first, second := serveTLS(t, cert1, key1, nil, serve), serveTLS(t, cert2, key2, nil, serve)
		defer first.stop()
		defer second.stop()
		dial := first.dial
		f.write(t, "ca", before.pem)
		conn := connect(t, apiURL, client.ConnectionOptions{
			CAFile:      f.path("ca"),
			DialContext: func(ctx context.Context, n, a string) (net.Conn, error) { return dial(ctx, n, a) },
		})
		defer conn.HTTP.CloseIdleConnections()
		r := newResource[*widget](t, conn, client.Options{})
		if err := get(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		first.stop()
		dial = second.dial
		synctest.Wait()
		var untrusted x509.UnknownAuthorityError
		if err := get(t.Context(), r); !errors.As(err, &untrusted) {
			t.Fatal(err)
		}
		f.write(t, "ca", []byte("-----BEGIN CERT"))
		if err := get(t.Context(), r); !errors.As(err, &untrusted) {
			t.Fatal(err)
		}
		f.write(t, "ca", append(before.pem, after.pem...))
		if err := calls(t.Context(), r)["update"](); err != nil {
			t.Fatal(err)
		}
	})
}

// A connection on which nothing comes any more is noticed: the watch on it ends, and a read
// is done again on another one.
func TestHungConnection(t *testing.T) {
	ca := newAuthority(t)
	cert, key := ca.issue(t, "api.test")
	inBubble(t, func(t *testing.T) {
		srv := serveTLS(t, cert, key, nil, func(w http.ResponseWriter, req *http.Request) {
			if req.URL.Query().Get("watch") != "" {
				_ = http.NewResponseController(w).Flush()
				<-req.Context().Done()
				return
			}
			answerWidget(w)
		})
		defer srv.stop()
		conn := connect(t, apiURL, client.ConnectionOptions{CA: ca.pem, DialContext: srv.dial})
		defer conn.HTTP.CloseIdleConnections()
		r := newResource[*widget](t, conn, client.Options{})
		ended := make(chan error, 1)
		begin := time.Now()
		go func() { ended <- watch(t.Context(), r, metav1.ListOptions{}).err }()

		// As long as there are answers to pings, silence is all right.
		time.Sleep(time.Hour)
		select {
		case err := <-ended:
			t.Fatalf("ended after %v: %v", time.Since(begin), err)
		default:
		}
		srv.hang()
		begin = time.Now()
		if err := get(t.Context(), r); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took > 46*time.Second {
			t.Errorf("the read took %v", took)
		}
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "http2: client connection lost") || time.Since(begin) > 46*time.Second {
			t.Errorf("the watch ended after %v: %v", time.Since(begin), err)
		}
		if n := srv.dialed.Load(); n != 2 {
			t.Errorf("%d connections", n)
		}
	})
}

// Credentials go to no other server, whatever the server answers.
func TestRedirectsAreNotFollowed(t *testing.T) {
	ca := newAuthority(t)
	cert, key := ca.issue(t, "api.test")
	inBubble(t, func(t *testing.T) {
		var s seen
		srv := serveTLS(t, cert, key, nil, func(w http.ResponseWriter, req *http.Request) {
			s.add(req.Host)
			http.Redirect(w, req, "https://login.test/?next=x", http.StatusFound)
		})
		defer srv.stop()
		conn := connect(t, apiURL, client.ConnectionOptions{CA: ca.pem, Token: "secret", DialContext: srv.dial})
		defer conn.HTTP.CloseIdleConnections()
		r := newResource[*widget](t, conn, client.Options{})
		for verb, do := range calls(t.Context(), r) {
			if err := do(); err == nil || !strings.Contains(err.Error(), "login.test") || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: %v", verb, err)
			}
		}
		if got := s.take(); strings.Contains(got, "login") {
			t.Error(got)
		}
		for _, other := range []string{"https://login.test", "http://api.test", "https://api.test:8443"} {
			resp, err := conn.HTTP.Post(other, "text/plain", strings.NewReader("x"))
			if err == nil {
				_ = resp.Body.Close()
				t.Error("sent to", other)
			}
		}
		if got := s.take(); got != "" {
			t.Error(got)
		}
	})
}

// kubectl proxy speaks plain HTTP/1.1 and wants no credentials.
func TestPlainHTTP(t *testing.T) {
	var s seen
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		s.add(req.Proto + req.Header.Get("Authorization"))
		answerWidget(w)
	}))
	defer srv.Close()
	conn := connect(t, srv.URL+"/prefix", client.ConnectionOptions{})
	defer conn.HTTP.CloseIdleConnections()
	if err := get(t.Context(), newResource[*widget](t, conn, client.Options{})); err != nil {
		t.Fatal(err)
	}
	if got := s.take(); got != "HTTP/1.1" {
		t.Error(got)
	}
}

func TestProxy(t *testing.T) {
	var s seen
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		s.add(req.URL.Host)
		answerWidget(w)
	}))
	defer proxy.Close()
	u, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	conn := connect(t, "http://api.test", client.ConnectionOptions{Proxy: http.ProxyURL(u)})
	defer conn.HTTP.CloseIdleConnections()
	if err := get(t.Context(), newResource[*widget](t, conn, client.Options{})); err != nil {
		t.Fatal(err)
	}
	if got := s.take(); got != "api.test" {
		t.Error(got)
	}
}

func TestNewConnectionMisuse(t *testing.T) {
	ca := newAuthority(t)
	cert, key := ca.issue(t, "client")
	f := newFiles(t)
	f.write(t, "empty", nil)
	for _, test := range []struct {
		name, url string
		opts      client.ConnectionOptions
		text      string
	}{
		{"no URL", "", client.ConnectionOptions{}, "no URL"},
		{"scheme", "unix:///x", client.ConnectionOptions{}, "does not begin with https://"},
		{"token over http", "http://api.test", client.ConnectionOptions{Token: "secret"}, "https"},
		{"certificate over http", "http://api.test", client.ConnectionOptions{Cert: cert, Key: key}, "https"},
		{"CA over http", "http://api.test", client.ConnectionOptions{CA: ca.pem}, "https"},
		{"no token beside a file", apiURL, client.ConnectionOptions{Token: "secret\nX-Header: y", TokenFile: f.path("empty")}, "characters"},
		{"two CAs", apiURL, client.ConnectionOptions{CA: ca.pem, CAFile: "x"}, "both"},
		{"two certificates", apiURL, client.ConnectionOptions{Cert: cert, CertFile: "x", Key: key}, "both"},
		{"two keys", apiURL, client.ConnectionOptions{Cert: cert, Key: key, KeyFile: "x"}, "both"},
		{"no key", apiURL, client.ConnectionOptions{Cert: cert}, "needs a key"},
		{"no certificate", apiURL, client.ConnectionOptions{KeyFile: "x"}, "needs a key"},
		{"insecure with CA", apiURL, client.ConnectionOptions{Insecure: true, CA: ca.pem}, "insecure"},
		{"no file", apiURL, client.ConnectionOptions{TokenFile: f.path("missing")}, "missing"},
		{"empty token", apiURL, client.ConnectionOptions{TokenFile: f.path("empty")}, "is empty"},
		{"no token", apiURL, client.ConnectionOptions{Token: "secret\nX-Header: y"}, "characters"},
		{"empty CA", apiURL, client.ConnectionOptions{CAFile: f.path("empty")}, "no certificate"},
		{"garbage CA", apiURL, client.ConnectionOptions{CA: []byte("garbage")}, "no certificate"},
		{"garbage key", apiURL, client.ConnectionOptions{Cert: cert, Key: []byte("secret")}, "client certificate"},
	} {
		_, err := client.NewConnection(test.url, test.opts)
		if err == nil || !strings.Contains(err.Error(), test.text) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// Many requests find the credentials changed at the same time.
func TestRotationUnderLoad(t *testing.T) {
	ca := newAuthority(t)
	cert, key := ca.issue(t, "api.test")
	f := newFiles(t)
	f.write(t, "token", []byte("0"))
	f.write(t, "ca", ca.pem)
	a := &tokens{accepted: "any"}
	srv := serveTLS(t, cert, key, nil, a.serve)
	defer srv.stop()
	conn := connect(t, apiURL, client.ConnectionOptions{CAFile: f.path("ca"), TokenFile: f.path("token"), DialContext: srv.dial})
	defer conn.HTTP.CloseIdleConnections()
	r := newResource[*widget](t, conn, client.Options{})
	for round := range 5 {
		token := fmt.Sprint(round)
		f.write(t, "token", []byte(token))
		f.write(t, "ca", append(ca.pem, strings.Repeat("\n", round)...)) // and other connections
		a.accept(token)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 3 {
					if err := get(t.Context(), r); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
	}
}
