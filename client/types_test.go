package client_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/client"
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

var widgets = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}

// serve returns a connection to a server of its own that ends with the test.
func serve(t testing.TB, h http.HandlerFunc) client.Connection {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	t.Cleanup(srv.Client().CloseIdleConnections)
	return client.Connection{URL: srv.URL, HTTP: srv.Client()}
}

// answer serves the same body to every request.
func answer(t testing.TB, body string) client.Connection {
	return serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(body))
	})
}

func newResource[T any](t testing.TB, conn client.Connection, opts client.Options) *client.Resource[T] {
	t.Helper()
	r, err := client.New[T](conn, widgets, opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// collected is what a list or a watch passed to its consumer.
type collected[T any] struct {
	events []reflector.Event[T]
	errs   []error // of single objects
	meta   metav1.ListMeta
	err    error // the end
}

func (c *collected[T]) take(ev reflector.Event[T], err error) bool {
	if err != nil {
		c.errs = append(c.errs, err)
		return true
	}
	c.events = append(c.events, ev)
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
	if n := len(c.errs); n > 0 && !isObjectError(c.errs[n-1]) {
		c.err, c.errs = c.errs[n-1], c.errs[:n-1]
	}
	return c
}
