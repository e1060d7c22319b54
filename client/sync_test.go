package client_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/reflector"
)

// syncing runs a reflector on the connection until a request has failed in a way that lasts, or five
// minutes have passed: then it returns nil. No list succeeds.
func syncing(t *testing.T, conn client.Connection) *reflector.RequestError {
	t.Helper()
	defer conn.HTTP.CloseIdleConnections()
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	var lasting atomic.Pointer[reflector.RequestError]
	var f follower
	ref, err := reflector.New(newResource[*widget](t, conn, client.Options{}), &f, reflector.Options{OnError: func(err error) {
		var failed *reflector.RequestError
		if errors.As(err, &failed) && failed.Lasting() && lasting.CompareAndSwap(nil, failed) {
			stop()
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := ref.Run(ctx); err != nil || f.at() != "" {
		t.Errorf("Run returned %v, at version %q", err, f.at())
	}
	return lasting.Load()
}

// lasting checks that a request has failed in a way that lasts, and that the error matches want.
func lasting(t *testing.T, err *reflector.RequestError, want func(error) bool) {
	t.Helper()
	if err == nil || !want(err) {
		t.Errorf("the lasting failure is %v", err)
	}
}

func is(want error) func(error) bool { return func(err error) bool { return errors.Is(err, want) } }

// as is whether an error has one of type E in it.
func as[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

const (
	list200  = `{"kind":"WidgetList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"5"},"items":[`
	statusOf = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d}`
)

// answers is a handler that always says the same.
func answers(code int, contentType, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		if len(header) > 0 {
			w.Header().Set(header[0], header[1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

func refuses(code int, reason string) http.HandlerFunc {
	return answers(code, "application/json", fmt.Sprintf(statusOf, reason, code))
}

// Failures that do not end by trying again last. An informer's WaitForSync returns them.
func TestSyncThatCannotSucceed(t *testing.T) {
	code := func(code int32) func(error) bool {
		return func(err error) bool {
			var status *apierrors.StatusError
			return errors.As(err, &status) && status.ErrStatus.Code == code
		}
	}
	for name, test := range map[string]struct {
		serve http.HandlerFunc
		cause func(error) bool
	}{
		"login page": {answers(200, "text/html", "<!DOCTYPE html><title>Sign in</title>"), is(client.ErrNotKubernetes)},
		"redirect":   {answers(302, "text/html", "", "Location", "https://login.test/"), code(302)},
		"empty":      {answers(200, "application/json", ""), is(client.ErrNotKubernetes)},
		"text":       {answers(200, "text/plain", "ok"), is(client.ErrNotKubernetes)},
		"other JSON": {answers(200, "application/json", `{"status":"up"}`), is(reflector.ErrUnusable)},
		"table":      {answers(200, "application/json", `{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}`), is(client.ErrTable)},
		"group": {answers(200, "application/json", strings.Replace(list200, "example.com/v1", "example.com/v2", 1)+`]}`),
			is(reflector.ErrUnusable)},
		"one object":   {answers(200, "application/json", full(widgetJSON("a", 1, 1))), is(reflector.ErrUnusable)},
		"malformed":    {answers(200, "application/json", list200+`{"metadata":{"name":]}`), is(reflector.ErrUnusable)},
		"protobuf":     {answers(200, "application/vnd.kubernetes.protobuf", "<html>"), is(client.ErrNotKubernetes)},
		"no version":   {answers(200, "application/json", strings.Replace(list200, "resourceVersion", "x\":\"y\",\"continue", 1)+`]}`), is(reflector.ErrProtocol)},
		"400":          {refuses(400, "BadRequest"), code(400)},
		"401":          {refuses(401, "Unauthorized"), code(401)},
		"403":          {refuses(403, "Forbidden"), code(403)},
		"404":          {refuses(404, "NotFound"), code(404)},
		"404 by proxy": {answers(404, "text/html", "<h1>nginx</h1>"), code(404)},
		"405":          {refuses(405, "MethodNotAllowed"), code(405)},
		"406":          {refuses(406, "NotAcceptable"), code(406)},
		"422":          {refuses(422, "Invalid"), code(422)},
		"501":          {refuses(501, ""), code(501)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := servePlain(test.serve)
				defer srv.stop()
				conn := connect(t, "http://api.test", client.ConnectionOptions{DialContext: srv.dial})
				lasting(t, syncing(t, conn), test.cause)
			})
		})
	}
}

func TestSyncWithoutAgreementOnTLS(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	cert, key := ca.issue(t, "api.test")
	stranger, strangersKey := other.issue(t, "me")
	never := func(http.ResponseWriter, *http.Request) { t.Error("a request came through") }
	for name, test := range map[string]struct {
		serve func() *memServer
		opts  client.ConnectionOptions
		cause func(error) bool
	}{
		"other CA": {
			func() *memServer { return serveTLS(t, cert, key, nil, never) },
			client.ConnectionOptions{CA: other.pem}, as[x509.UnknownAuthorityError],
		},
		"other name": {
			func() *memServer { return serveTLS(t, cert, key, nil, never) },
			client.ConnectionOptions{CA: ca.pem, ServerName: "x.test"}, as[x509.HostnameError],
		},
		"client certificate": {
			func() *memServer { return serveTLS(t, cert, key, ca, never) },
			client.ConnectionOptions{CA: ca.pem, Cert: stranger, Key: strangersKey}, as[*net.OpError],
		},
		"plain HTTP": {
			func() *memServer { return servePlain(never) },
			client.ConnectionOptions{CA: ca.pem}, is(http.ErrSchemeMismatch),
		},
		"neither": {
			func() *memServer {
				s := &memServer{pipes: newPipes()}
				s.stop = func() { _ = s.Close() }
				go func() {
					for c, err := s.Accept(); err == nil; c, err = s.Accept() {
						_, _ = io.WriteString(c, "SSH-2.0-OpenSSH_9.9\r\n")
					}
				}()
				return s
			},
			client.ConnectionOptions{CA: ca.pem}, as[tls.RecordHeaderError],
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := test.serve()
				defer srv.stop()
				defer srv.cut()
				test.opts.DialContext = srv.dial
				lasting(t, syncing(t, connect(t, apiURL, test.opts)), test.cause)
			})
		})
	}
	t.Run("TLS where HTTP is spoken", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			srv := serveTLS(t, cert, key, nil, never)
			defer srv.stop()
			conn := connect(t, "http://api.test", client.ConnectionOptions{DialContext: srv.dial})
			lasting(t, syncing(t, conn), apierrors.IsBadRequest)
		})
	})
}

// All other failures may end, however long they take. An informer's WaitForSync waits for that.
func TestSyncThatMayYetSucceed(t *testing.T) {
	cut := func(after string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, after)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}
	for name, serve := range map[string]http.HandlerFunc{
		"408":            refuses(408, "Timeout"),
		"409":            refuses(409, "Conflict"),
		"410":            refuses(410, "Expired"),
		"429":            refuses(429, "TooManyRequests"),
		"500":            refuses(500, "InternalError"),
		"502 by a proxy": answers(502, "text/html", "<h1>Bad gateway</h1>"),
		"503":            refuses(503, "ServiceUnavailable"),
		"504":            refuses(504, "Timeout"),
		"broken":         cut(list200),
		"broken header":  cut(""),
		"broken object":  cut(list200 + `{"metadata":{"na`),
		"silent": func(_ http.ResponseWriter, req *http.Request) {
			<-req.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := servePlain(serve)
				defer srv.stop()
				conn := connect(t, "http://api.test", client.ConnectionOptions{DialContext: srv.dial})
				if err := syncing(t, conn); err != nil {
					t.Error("lasts:", err)
				}
			})
		})
	}
	for name, err := range map[string]error{
		"refused": &net.OpError{Op: "dial", Err: errors.New("connection refused")},
		"no name": &net.DNSError{Err: "no such host", Name: "api.test", IsNotFound: true},
		"timeout": &net.OpError{Op: "dial", Err: context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn := connect(t, apiURL, client.ConnectionOptions{DialContext: func(context.Context, string, string) (net.Conn, error) {
					return nil, err
				}})
				if err := syncing(t, conn); err != nil {
					t.Error("lasts:", err)
				}
			})
		})
	}
}
