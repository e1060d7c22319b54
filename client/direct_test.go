package client_test

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/kind"
)

// What somebody sets in the http.Client of a Connection counts, even later.
func TestChangedHTTPClient(t *testing.T) {
	jar := &cookies{}
	for name, test := range map[string]struct {
		change func(*http.Client)
		want   func(error) bool
	}{
		"as it was":    {func(*http.Client) {}, func(err error) bool { return err != nil && strings.Contains(err.Error(), "302") }},
		"a limit":      {func(c *http.Client) { c.Timeout = time.Nanosecond }, func(err error) bool { return timedOut(err) }},
		"cookies":      {func(c *http.Client) { c.Jar = jar }, func(err error) bool { return err != nil && jar.asked }},
		"redirects on": {func(c *http.Client) { c.CheckRedirect = nil }, func(err error) bool { return err == nil }},
	} {
		t.Run(name, func(t *testing.T) {
			conn := serve(t, func(w http.ResponseWriter, req *http.Request) {
				if strings.HasSuffix(req.URL.Path, "/x") {
					http.Redirect(w, req, req.URL.Path+"y", http.StatusFound)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x","namespace":"ns","resourceVersion":"1"}}`))
			})
			conn, err := client.NewConnection(conn.URL, client.ConnectionOptions{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(conn.HTTP.CloseIdleConnections)
			r, err := client.New(conn, kind.OfResource[*metav1.PartialObjectMetadata](pods), client.Options{})
			if err != nil {
				t.Fatal(err)
			}
			test.change(conn.HTTP)
			_, err = r.Get(t.Context(), types.NamespacedName{Namespace: "ns", Name: "x"}, metav1.GetOptions{})
			if !test.want(err) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// An error of a proxy is not taken for one of the API server.
func TestProxyWithoutTLS(t *testing.T) {
	proxy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var answered sync.WaitGroup
	answered.Go(func() {
		c, err := proxy.Accept()
		if err != nil {
			return
		}
		_, _ = bufio.NewReader(c).ReadByte()
		_, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
		_ = c.Close()
	})
	conn, err := client.NewConnection("https://api.test", client.ConnectionOptions{
		Proxy: http.ProxyURL(&url.URL{Scheme: "https", Host: proxy.Addr().String()}),
	})
	if err != nil {
		t.Fatal(err)
	}
	conn.Retries = -1
	r, err := client.New(conn, kind.OfResource[*metav1.PartialObjectMetadata](pods), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Get(t.Context(), types.NamespacedName{Namespace: "ns", Name: "x"}, metav1.GetOptions{})
	_ = proxy.Close()
	answered.Wait()
	if err == nil || !strings.Contains(err.Error(), "proxyconnect tcp: tls: first record does not look like a TLS handshake") {
		t.Error(err)
	}
}

func timedOut(err error) bool {
	late, ok := errors.AsType[*url.Error](err)
	return ok && late.Timeout()
}

// cookies is a jar that notes that it is asked.
type cookies struct{ asked bool }

func (c *cookies) Cookies(*url.URL) []*http.Cookie     { c.asked = true; return nil }
func (c *cookies) SetCookies(*url.URL, []*http.Cookie) {}
