package client_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
)

// The address of an object is the base URL with the path of the API, whatever characters the two have.
func TestAddress(t *testing.T) {
	const rest = "apis/example.com/v1/namespaces"
	for base, host := range map[string]string{
		"http://api.test": "api.test", "http://api.test/": "api.test", "http://api.test:": "api.test", "http://api.test:8080": "api.test:8080",
		"http://[::1]:8080/k8s//clusters/c-1/": "[::1]:8080", "http://api.test/a%2Fb/(c)": "api.test", "http://api.test/a b/ü": "api.test",
	} {
		for _, name := range []string{"a", "system:node", "(a)!*'", "a b?#ü", "a+b&c=d"} {
			var got *http.Request
			conn := transport(func(req *http.Request) (*http.Response, error) {
				got = req
				return response(strings.NewReader(full(widgetJSON("a", 1, 1)))), nil
			}).connection()
			conn.URL = base
			r := newResource[*widget](t, conn, client.Options{})
			_, _ = r.Get(t.Context(), types.NamespacedName{Namespace: "ns", Name: name}, metav1.GetOptions{ResourceVersion: "1 2"})
			u, err := url.Parse(base)
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Replace(u.JoinPath(rest, "ns", "widgets", name).String(), "api.test:/", "api.test/", 1) + "?resourceVersion=1+2"
			if got.URL.String() != want || got.Host != host || !strings.HasPrefix(got.URL.Path, "/") {
				t.Errorf("%s, %s: %s of host %s, want %s", base, name, got.URL, got.Host, want)
			}
		}
	}
}

// The length that a server states need not be right.
func TestStatedLength(t *testing.T) {
	body := full(widgetJSON("a", 1, 1))
	for _, stated := range []int64{-1, 0, 1, int64(len(body)) - 1, int64(len(body)), int64(len(body)) + 1, 1000, 1 << 40} {
		for _, text := range []string{body, body + strings.Repeat(" ", 100_000)} {
			r := newResource[*widget](t, transport(func(*http.Request) (*http.Response, error) {
				resp := response(strings.NewReader(text))
				resp.ContentLength = stated
				return resp, nil
			}).connection(), client.Options{})
			if w, err := r.Get(t.Context(), aKey, metav1.GetOptions{}); err != nil || w.Name != "a" {
				t.Errorf("%d bytes, said to be %d: %v, %v", len(text), stated, w, err)
			}
		}
	}
}
