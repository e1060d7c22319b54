package client_test

import (
	"net/http"
	"testing"

	"github.com/kinform/kinform/client"
)

// BenchmarkGet is a call over TLS and HTTP/2 in memory, server included: with credentials
// in files, and with none.
func BenchmarkGet(b *testing.B) {
	for _, bench := range []struct {
		name string
		with func(*client.ConnectionOptions)
	}{
		{"anonymous", func(*client.ConnectionOptions) {}},
		{"token", func(o *client.ConnectionOptions) { o.Token = "token" }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			ca := newAuthority(b)
			cert, key := ca.issue(b, "api.test")
			srv := serveTLS(b, cert, key, nil, func(w http.ResponseWriter, _ *http.Request) { answerWidget(w) })
			defer srv.stop()
			opts := client.ConnectionOptions{CA: ca.pem, DialContext: srv.dial}
			bench.with(&opts)
			conn := connect(b, apiURL, opts)
			defer conn.HTTP.CloseIdleConnections()
			r := newResource[*widget](b, conn, client.Options{})
			b.ReportAllocs()
			for b.Loop() {
				if err := get(b.Context(), r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
