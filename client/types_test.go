package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
)

// widget is a user's own type of a custom resource, written by hand: no DeepCopyObject,
// no scheme.
type widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec widgetSpec `json:"spec"`
}

type widgetSpec struct {
	Size    int            `json:"size"`
	Color   string         `json:"color,omitempty"`
	Ratio   float64        `json:"ratio,omitempty"`
	Options map[string]any `json:"options,omitempty"`
	Extra   any            `json:"extra,omitempty"`
	Data    []byte         `json:"data,omitempty"`
	Parts   []*widgetPart  `json:"parts,omitempty"`
}

type widgetPart struct {
	Name string `json:"name"`
}

// plain holds nothing that identifies it.
type plain struct {
	Spec struct {
		Size int `json:"size"`
	} `json:"spec"`
}

// touchy panics when its JSON says so.
type touchy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              touchySpec `json:"spec"`
}

type touchySpec struct{ text string }

var errTouchy = errors.New("boom")

func (s *touchySpec) UnmarshalJSON(b []byte) error {
	if bytes.Contains(b, []byte("boom")) {
		panic(errTouchy)
	}
	s.text = string(b)
	return nil
}

var widgets = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}

// serve returns a connection to a new server, which ends with the test.
func serve(t testing.TB, h http.HandlerFunc) client.Connection {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	t.Cleanup(srv.Client().CloseIdleConnections)
	return client.Connection{URL: srv.URL, HTTP: srv.Client()}
}

// transport answers requests without a socket.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (f transport) connection() client.Connection {
	return client.Connection{URL: "http://test.invalid", HTTP: &http.Client{Transport: f}}
}

// response makes a 200 answer of JSON.
func response(body io.Reader) *http.Response {
	return &http.Response{
		StatusCode: http.StatusOK,
		Header:     http.Header{"Content-Type": {"application/json"}},
		Body:       io.NopCloser(body),
	}
}

// bodiesOf answers every request with the same body.
func bodiesOf(contentType string, body []byte) client.Connection {
	return transport(func(*http.Request) (*http.Response, error) {
		resp := response(bytes.NewReader(body))
		resp.Header.Set("Content-Type", contentType)
		return resp, nil
	}).connection()
}

// bodies answers every request with the same body, in one read.
func bodies(body string) client.Connection {
	return transport(func(*http.Request) (*http.Response, error) {
		return response(strings.NewReader(body)), nil
	}).connection()
}

// newResource makes a client that learns the kind from the server.
func newResource[T any](t testing.TB, conn client.Connection, opts client.Options) *client.Resource[T] {
	t.Helper()
	return newNamed[T](t, conn, "", opts)
}

// newNamed makes a client for a kind of this name.
func newNamed[T any](t testing.TB, conn client.Connection, name string, opts client.Options) *client.Resource[T] {
	t.Helper()
	r, err := client.New(conn, kind.OfResource[T](widgets).Named(name), opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// newLike is newResource for objects of the type of like. All of them are decoded by the code for any:
// a separate T would be compiled with all code of a client again.
func newLike(t testing.TB, conn client.Connection, like any, opts client.Options) *client.Resource[any] {
	t.Helper()
	r, err := client.NewLike(conn, kind.OfResource[any](widgets), like, opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// collected has everything that a list or a watch passed to its consumer.
type collected[T any] struct {
	events []reflector.Event[T]
	errs   []*reflector.ObjectError
	meta   metav1.ListMeta
	err    error // the end
}

func (c *collected[T]) take(ev reflector.Event[T], err error) bool {
	var oe *reflector.ObjectError
	switch {
	case errors.As(err, &oe):
		c.errs = append(c.errs, oe)
	case err != nil:
		c.err = err
	default:
		ev.Idle = false // depends on how the bytes arrive: see TestIdle
		ev.Sum = 0      // each Resource has its own seed: see TestSumsOfListAndWatch
		c.events = append(c.events, ev)
	}
	return true
}

func list[T any](ctx context.Context, r *client.Resource[T], opts metav1.ListOptions) (c collected[T]) {
	c.meta, c.err = r.List(ctx, opts, c.take)
	return c
}

func watch[T any](ctx context.Context, r *client.Resource[T], opts metav1.ListOptions) (c collected[T]) {
	for ev, err := range r.Watch(ctx, opts) {
		c.take(ev, err)
	}
	return c
}

func widgetJSON(name string, rv, size int) string {
	return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"ns","resourceVersion":"%d"},"spec":{"size":%d}}`, name, rv, size)
}

// listJSON is a list as the API server writes it.
func listJSON(items ...string) string {
	return `{"kind":"WidgetList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"12","continue":"tok","remainingItemCount":7},"items":[` +
		strings.Join(items, ",") + "]}\n"
}

// eventJSON is a watch event as the API server writes it.
func eventJSON(typ, object string) string {
	return fmt.Sprintf(`{"type":%q,"object":%s}`+"\n", typ, object)
}

// full gives an object the kind and apiVersion that it has in a watch.
func full(object string) string {
	return `{"kind":"Widget","apiVersion":"example.com/v1",` + object[1:]
}

func newWidget(name string, rv, size int) *widget {
	return &widget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Widget"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", ResourceVersion: fmt.Sprint(rv)},
		Spec:       widgetSpec{Size: size},
	}
}

func newEvent(typ reflector.EventType, w *widget) reflector.Event[*widget] {
	return reflector.Event[*widget]{Type: typ, ResourceVersion: w.ResourceVersion, Object: w}
}

// pull is iter.Pull2 under a name that reads well beside Watch.
func pull[T any](seq iter.Seq2[reflector.Event[T], error]) (func() (reflector.Event[T], error, bool), func()) {
	return iter.Pull2(seq)
}
