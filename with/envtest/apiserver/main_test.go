package apiserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/with/envtest/apiserver"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"),
		// The client of webhooks keeps a connection to each.
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
		goleak.IgnoreAnyFunction("internal/poll.runtime_pollWait"))
}

// server serves the options, and can be asked.
type server struct {
	*apiserver.Server
	url string
}

func start(t *testing.T, opts apiserver.Options) server {
	t.Helper()
	s, err := apiserver.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	return server{s, web.URL}
}

// answer is what a request has got.
type answer struct {
	code     int
	status   metav1.Status // if it is one
	body     []byte
	warnings []string
}

// as sends a request with a bearer token; an empty one sends none. The body is encoded as JSON,
// unless it is a string.
func (s server) as(t *testing.T, token, method, path string, body any, headers ...string) answer {
	t.Helper()
	text, ok := body.(string)
	if !ok && body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		text = string(b)
	}
	r, err := http.NewRequestWithContext(context.Background(), method, s.url+path, bytes.NewBufferString(text))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	out := answer{code: resp.StatusCode, warnings: resp.Header.Values("Warning")}
	if out.body, err = io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	_ = json.Unmarshal(out.body, &out.status) // objects have a status of another form
	return out
}

// must fails the test if the request is refused, and decodes the answer into out, unless it is nil.
func (s server) must(t *testing.T, method, path string, body, out any) {
	t.Helper()
	a := s.as(t, "", method, path, body)
	if a.code/100 != 2 {
		t.Fatalf("%s %s: %d %s", method, path, a.code, a.body)
	}
	if out != nil {
		if err := json.Unmarshal(a.body, out); err != nil {
			t.Fatal(err)
		}
	}
}
