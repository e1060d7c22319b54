package client_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
)

// member is text, compressed as one member of gzip. Nothing but its end says that it is complete.
func member(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A streaming list is compressed, and no event waits for the next one. A watch without initial
// events is not compressed. The transport decides about everything else.
func TestCompressedWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		next := make(chan struct{})
		srv := servePlain(func(w http.ResponseWriter, req *http.Request) {
			encoding := req.Header.Get("Accept-Encoding")
			asked = append(asked, encoding)
			w.Header().Set("Content-Type", "application/json")
			if req.URL.Query().Get("sendInitialEvents") == "" {
				_, _ = io.WriteString(w, eventJSON("BOOKMARK", full(`{"metadata":{"resourceVersion":"5"}}`)))
				return
			}
			w.Header().Set("Content-Encoding", encoding)
			for _, name := range []string{"a", "b", "c"} {
				_, _ = w.Write(member(t, eventJSON("ADDED", full(`{"metadata":{"namespace":"ns","name":"`+name+`"}}`))))
				_ = http.NewResponseController(w).Flush()
				<-next
			}
		})
		defer srv.stop()
		conn := connect(t, "http://api.test", client.ConnectionOptions{DialContext: srv.dial})
		defer conn.HTTP.CloseIdleConnections()
		r := newResource[*widget](t, conn, client.Options{})
		yes, got := true, ""
		for ev, err := range r.Watch(t.Context(), metav1.ListOptions{SendInitialEvents: &yes}) {
			if err != nil {
				t.Fatal(err)
			}
			got += ev.Object.Name
			next <- struct{}{}
		}
		if got != "abc" {
			t.Errorf("got %q", got)
		}
		watch(t.Context(), r, metav1.ListOptions{})
		list(t.Context(), r, metav1.ListOptions{})
		if len(asked) != 3 || asked[0] != "gzip" || asked[1] != "identity" || asked[2] != "gzip" {
			t.Errorf("asked for %q", asked)
		}
	})
}

// A transport that does not want compression gets none. One that nobody knows decides for itself.
func TestNoCompression(t *testing.T) {
	yes := true
	for name, through := range map[string]http.RoundTripper{
		"disabled": &http.Transport{DisableCompression: true},
		"unknown":  nil,
	} {
		var once sync.Once
		encoding := "nothing was asked"
		conn := serve(t, func(_ http.ResponseWriter, req *http.Request) {
			once.Do(func() { encoding = req.Header.Get("Accept-Encoding") })
		})
		if through == nil {
			through = transport(func(req *http.Request) (*http.Response, error) {
				once.Do(func() { encoding = req.Header.Get("Accept-Encoding") })
				return nil, errors.New("no answer")
			})
		}
		conn.HTTP = &http.Client{Transport: through}
		watch(t.Context(), newResource[*widget](t, conn, client.Options{}), metav1.ListOptions{SendInitialEvents: &yes})
		conn.HTTP.CloseIdleConnections()
		if encoding != "" {
			t.Errorf("%s: asked for %q", name, encoding)
		}
	}
}

// Members are read as they are cut, and a body that breaks within one is truncated.
func TestMembers(t *testing.T) {
	text := listJSON(`{"metadata":{"namespace":"ns","name":"a"}}`)
	read := func(body []byte) (objects int, err error) {
		conn := client.Connection{URL: "http://server.invalid", HTTP: &http.Client{Transport: transport(func(req *http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: http.StatusOK, Request: req, Body: io.NopCloser(bytes.NewReader(body)),
				Header: http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}},
			}, nil
		})}}
		got := list(t.Context(), newResource[*widget](t, conn, client.Options{}), metav1.ListOptions{})
		return len(got.events), got.err
	}
	for split := range len(text) {
		whole := append(member(t, text[:split]), member(t, text[split:])...)
		if n, err := read(whole); err != nil || n != 1 {
			t.Errorf("split at %d: %d objects, %v", split, n, err)
		}
	}
	one := member(t, text)
	for _, n := range []int{5, 15, len(one) / 2} {
		if _, err := read(one[:n]); !errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, client.ErrNotKubernetes) {
			t.Errorf("cut after %d bytes: %v", n, err)
		}
	}
	if _, err := read(nil); !errors.Is(err, client.ErrNotKubernetes) {
		t.Errorf("an empty body: %v", err)
	}
}

// An answer without a body, or one that is a part of another, is no list and no object. It is not
// taken for a connection that broke.
func TestAnswersThatAreNone(t *testing.T) {
	pods := kind.OfResource[*widget](schema.GroupVersionResource{Version: "v1", Resource: "pods"})
	for _, code := range []int{http.StatusOK, http.StatusNoContent, http.StatusPartialContent} {
		body := ""
		if code == http.StatusPartialContent {
			body = listJSON()
		}
		r, err := client.New(client.Connection{URL: "http://server.invalid", HTTP: &http.Client{Transport: &answering{code: code, body: body}}}, pods, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := list(t.Context(), r, metav1.ListOptions{}); !errors.Is(got.err, client.ErrNotKubernetes) || !errors.Is(got.err, reflector.ErrUnusable) {
			t.Errorf("%d: a list: %v", code, got.err)
		}
		if _, err := r.Get(t.Context(), types.NamespacedName{Namespace: "ns", Name: "a"}, metav1.GetOptions{}); !errors.Is(err, client.ErrNotKubernetes) {
			t.Errorf("%d: an object: %v", code, err)
		}
	}
}
