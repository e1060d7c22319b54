package informer_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
)

var widgetsResource = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}

// gate is a RoundTripper of the user's own, without traces. While it is closed, it answers the
// lists of one object in its own way: those that ask whether the server was restored.
type gate struct {
	next   http.RoundTripper
	answer http.RoundTripper

	closed   atomic.Bool
	requests atomic.Int64
}

func (g *gate) RoundTrip(req *http.Request) (*http.Response, error) {
	g.requests.Add(1)
	if g.closed.Load() && req.URL.Query().Get("limit") == "1" {
		return g.answer.RoundTrip(req)
	}
	return g.next.RoundTrip(req)
}

// trip is a function as a RoundTripper.
type trip func(req *http.Request) (*http.Response, error)

func (f trip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// answering answers with a body, which is a Status if it is empty.
func answering(code int, reason, body string, headers ...string) trip {
	return func(req *http.Request) (*http.Response, error) {
		if body == "" {
			body = fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d}`, reason, code)
		}
		resp := &http.Response{StatusCode: code, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Content-Type": {"application/json"}}, Request: req}
		for i := 0; i < len(headers); i += 2 {
			resp.Header.Set(headers[i], headers[i+1])
		}
		resp.Body = io.NopCloser(strings.NewReader(body))
		return resp, nil
	}
}

// Whatever becomes of the question whether the server was restored, the watch goes on, and without
// many requests. One more informer has the same connection, and for it all is well.
func TestQuestionIsNotAnswered(t *testing.T) {
	hang := func(req *http.Request) (*http.Response, error) {
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	for name, answer := range map[string]trip{
		"unauthorized": answering(401, "Unauthorized", ""),
		"forbidden":    answering(403, "Forbidden", ""),
		"not found":    answering(404, "NotFound", ""),
		"busy":         answering(429, "TooManyRequests", "", "Retry-After", "2"),
		"broken":       answering(500, "InternalError", ""),
		"timeout":      answering(504, "Timeout", ""),
		"login page":   answering(200, "", "<html>", "Content-Type", "text/html"),
		"redirect":     answering(302, "", "moved", "Location", "https://login.example.com"),
		"hangs":        hang,
		"limited":      func(*http.Request) (*http.Response, error) { return nil, fmt.Errorf("no lists today") },
		"slow": func(req *http.Request) (*http.Response, error) {
			time.Sleep(3 * time.Second)
			return hang(req)
		},
	} {
		for _, opts := range []client.Options{{}, {Namespace: "n"}, {FieldSelector: "metadata.name=a"}} {
			synctest.Test(t, func(t *testing.T) {
				server := newServer(t)
				must1(fake.Create(server, newWidget("n", "a", "")))(t)
				inner := server.Client()
				g := &gate{next: inner.Transport, answer: answer}
				conn := client.Connection{URL: fake.URL, HTTP: &http.Client{
					Transport: g, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
				}, Breaker: new(reflector.Breaker)}
				var heard errorsOf
				inf := newInformer(t, must1(client.New(conn, kind.OfResource[*widget](widgetsResource).Named("Widget"), opts))(t), informer.Options[*widget]{OnError: heard.add})
				defer run(t, inf)()
				sane := conn
				sane.HTTP = inner
				beside := newInformer(t, must1(client.New(sane, kind.OfResource[*widget](widgetsResource).Named("Widget"), client.Options{}))(t), informer.Options[*widget]{OnError: ignore})
				defer run(t, beside)()
				time.Sleep(time.Minute)
				g.closed.Store(true)
				server.DropWatches()
				time.Sleep(3 * time.Minute)
				server.JumpResourceVersion(1) // nothing that a watch brings
				for round := range 4 {
					w := must1(fake.Get[*widget](server, key{Namespace: "n", Name: "a"}))(t)
					w.Spec.Size = round + 1
					must1(fake.Update(server, w))(t)
					time.Sleep(20 * time.Second)
					synctest.Wait()
					if w, ok := inf.Store().Get(key{Namespace: "n", Name: "a"}); !ok || w.Spec.Size != round+1 {
						t.Errorf("%s, %+v: the cache is behind by more than 20 s in round %d: %+v", name, opts, round, w)
					}
				}
				if n := g.requests.Load(); n > 40 {
					t.Errorf("%s, %+v: %d requests", name, opts, n)
				}
				if n := inf.Stats().Lists; n != 1 {
					t.Errorf("%s, %+v: %d lists", name, opts, n)
				}
			})
		}
	}
}
