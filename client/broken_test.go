package client_test

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/client"
)

// Reads survive connections that really break, of either HTTP version; writes report it.
func TestConnectionsThatBreak(t *testing.T) {
	ca := newAuthority(t)
	cert, key := ca.issue(t, "api.test")
	for _, proto := range []string{"HTTP/1.1", "HTTP/2.0"} {
		synctest.Test(t, func(t *testing.T) {
			var s seen
			var srv *memServer
			breaks := 0
			serve := func(w http.ResponseWriter, req *http.Request) {
				_, _ = io.ReadAll(req.Body)
				s.add(req.Method)
				if req.Proto != proto {
					t.Error(req.Proto)
				}
				if breaks > 0 {
					breaks--
					srv.cut()
					return
				}
				answerWidget(w)
			}
			opts := client.ConnectionOptions{CA: ca.pem}
			url := apiURL
			if proto == "HTTP/1.1" {
				srv, url, opts.CA = servePlain(serve), "http://api.test", nil
			} else {
				srv = serveTLS(t, cert, key, nil, serve)
			}
			defer srv.stop()
			opts.DialContext = srv.dial
			conn := connect(t, url, opts)
			defer conn.HTTP.CloseIdleConnections()
			r := newResource[*widget](t, conn, client.Options{})
			breaks = 3
			if err := get(t.Context(), r); err != nil {
				t.Error(proto, err)
			}
			if got := s.take(); got != "GET,GET,GET,GET" {
				t.Error(proto, got)
			}
			for verb, method := range map[string]string{"update": "PUT", "create": "POST", "patch": "PATCH", "delete": "DELETE"} {
				conn.HTTP.CloseIdleConnections() // net/http itself repeats some on one that it has used before
				breaks = 1
				if err := calls(t.Context(), r)[verb](); err == nil {
					t.Errorf("%s: %s on a broken connection did not fail", proto, verb)
				}
				if got := s.take(); got != method {
					t.Error(proto, verb, got)
				}
			}
			breaks = 1
			if got := list(t.Context(), r, metav1.ListOptions{}); got.err == nil || s.take() != "GET" {
				t.Error(proto, got.err)
			}
		})
	}
}
