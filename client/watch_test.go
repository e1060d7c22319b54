package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/reflector"
)

const (
	bookmarkJSON = `{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"resourceVersion":"20","creationTimestamp":null},"spec":{"size":0}}`
	initialJSON  = `{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"resourceVersion":"21","annotations":{"k8s.io/initial-events-end":"true"}}}`
	goneJSON     = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version: 1 (5)","reason":"Expired","code":410}`
)

func watchBody(t *testing.T, body string) collected[*widget] {
	t.Helper()
	return watch(t.Context(), newResource[*widget](t, bodies(body), client.Options{}), metav1.ListOptions{})
}

func TestWatchEvents(t *testing.T) {
	got := watchBody(t, eventJSON("ADDED", full(widgetJSON("a", 10, 1)))+
		eventJSON("MODIFIED", full(widgetJSON("a", 11, 2)))+
		eventJSON("BOOKMARK", bookmarkJSON)+
		eventJSON("BOOKMARK", initialJSON)+
		eventJSON("DELETED", full(widgetJSON("a", 22, 2))))
	want := []reflector.Event[*widget]{
		newEvent(reflector.Added, newWidget("a", 10, 1)),
		newEvent(reflector.Modified, newWidget("a", 11, 2)),
		{Type: reflector.Bookmark, ResourceVersion: "20"},
		{Type: reflector.Bookmark, ResourceVersion: "21", InitialEventsEnd: true},
		newEvent(reflector.Deleted, newWidget("a", 22, 2)),
	}
	if d := cmp.Diff(want, got.events); d != "" || got.err != nil || got.errs != nil {
		t.Error(got.err, got.errs, d)
	}
}

// arrivals is a body that arrives in arrivals.
type arrivals []string

func (p *arrivals) Read(b []byte) (int, error) {
	if len(*p) == 0 {
		return 0, io.EOF
	}
	n := copy(b, (*p)[0])
	if (*p)[0] = (*p)[0][n:]; (*p)[0] == "" {
		*p = (*p)[1:]
	}
	return n, nil
}

// TestIdle finds which events are the last ones that have arrived as a whole.
func TestIdle(t *testing.T) {
	a, b := eventJSON("ADDED", full(widgetJSON("a", 10, 1))), eventJSON("MODIFIED", full(widgetJSON("b", 11, 1)))
	bad := eventJSON("MODIFIED", full(`{"metadata":{}}`))
	for _, c := range []struct {
		arrivals arrivals
		want     []bool
	}{
		{arrivals{a, b}, []bool{true, true}},
		{arrivals{a + b}, []bool{false, true}},
		{arrivals{a + b + a[:1], a[1:]}, []bool{false, true, true}},
		{arrivals{a + b[:len(b)-1], "\n" + a}, []bool{true, true, true}},
		{arrivals{a + "\n" + b + " \n"}, []bool{false, true}},
		{arrivals{a + bad + b}, []bool{false, false, true}},
	} {
		body := slices.Clone(c.arrivals)
		r := newResource[*widget](t, transport(func(*http.Request) (*http.Response, error) { return response(&body), nil }).connection(), client.Options{})
		var got []bool
		for ev := range r.Watch(t.Context(), metav1.ListOptions{}) {
			got = append(got, ev.Idle)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: idle after %v, want %v", c.arrivals, got, c.want)
		}
	}
}

// Servers other than the Kubernetes API's may order the members of an event as they want,
// escape them, repeat them, or add to them.
func TestWatchEnvelopes(t *testing.T) {
	object := full(widgetJSON("a", 10, 1))
	for _, body := range []string{
		`{"object":` + object + `,"type":"ADDED"}`,
		"\n\n{ \"type\" : \"ADDED\" ,\r\n\t\"object\" : " + object + " }  ",
		`{"\u0074ype":"AD\u0044ED","object":` + object + `}`,
		`{"extra":{"a":[1]},"type":"ADDED","more":null,"object":` + object + `,"last":0}`,
		`{"type":"DELETED","type":"ADDED","object":{"metadata":{}},"object":` + object + `}`,
		`{"object":5,"object":` + object + `,"type":"ADDED"}`,
		`{"object":5,"type":"ADDED","object":` + object + `}`,
	} {
		got := watchBody(t, body)
		want := []reflector.Event[*widget]{newEvent(reflector.Added, newWidget("a", 10, 1))}
		if d := cmp.Diff(want, got.events); d != "" || got.err != nil || got.errs != nil {
			t.Error(body, got.err, got.errs, d)
		}
	}
}

func TestWatchEndsInOrder(t *testing.T) {
	for _, body := range []string{"", "\n", eventJSON("ADDED", full(widgetJSON("a", 10, 1)))} {
		if got := watchBody(t, body); got.err != nil || got.errs != nil {
			t.Errorf("%q: %v %v", body, got.err, got.errs)
		}
	}
}

// An event that cannot be used costs itself and nothing else.
func TestWatchBadEvents(t *testing.T) {
	for _, test := range []struct {
		name, event string
		key, rv     string
		is          error
		text        string
	}{
		{name: "null object", event: eventJSON("ADDED", "null"), is: client.ErrNotAnObject},
		{name: "null object, type last", event: `{"object":null,"type":"ADDED"}`, is: client.ErrNotAnObject},
		{name: "no object", event: `{"type":"ADDED"}`, text: "ADDED event without an object"},
		{name: "no type", event: `{"object":` + full(widgetJSON("x", 3, 1)) + `}`, key: "ns/x", rv: "3", text: "without a type"},
		{name: "unknown type", event: eventJSON("RENAMED", full(widgetJSON("x", 3, 1))), key: "ns/x", rv: "3", text: `unknown watch event type "RENAMED"`},
		{name: "no name", event: eventJSON("DELETED", full(`{"metadata":{}}`)), is: reflector.ErrNoName},
		{name: "wrong type", event: eventJSON("MODIFIED", full(`{"metadata":{"name":"x"},"spec":{"size":"big"}}`)), key: "x", text: "size"},
		{name: "wrong kind", event: eventJSON("MODIFIED", `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x"},"spec":{"size":"big"}}`), key: "x", is: client.ErrWrongKind},
		{name: "wrong kind of this group", event: eventJSON("MODIFIED", strings.Replace(full(widgetJSON("x", 3, 1)), "Widget", "Gadget", 1)), key: "ns/x", rv: "3", is: client.ErrWrongKind, text: `want example.com/v1 Widget: use the Go type of Gadget or, if only its name differs, Named("Gadget") of the Kind`},
		{name: "a Status", event: eventJSON("ADDED", goneJSON), is: client.ErrWrongKind},
		{name: "bookmark without a version", event: eventJSON("BOOKMARK", full(`{"metadata":{}}`)), text: "bookmark"},
		{name: "bookmark of another kind", event: eventJSON("BOOKMARK", strings.Replace(bookmarkJSON, "Widget", "Gadget", 1)), rv: "20", is: client.ErrWrongKind},
		{name: "bookmark null", event: eventJSON("BOOKMARK", "null"), text: "bookmark"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := watchBody(t, eventJSON("ADDED", full(widgetJSON("a", 10, 1)))+test.event+eventJSON("ADDED", full(widgetJSON("b", 11, 2))))
			want := []reflector.Event[*widget]{
				newEvent(reflector.Added, newWidget("a", 10, 1)), newEvent(reflector.Added, newWidget("b", 11, 2)),
			}
			if d := cmp.Diff(want, got.events); d != "" || got.err != nil {
				t.Fatal(got.err, d)
			}
			if len(got.errs) != 1 {
				t.Fatalf("object errors: %v", got.errs)
			}
			e := got.errs[0]
			if e.Resource != "widgets.example.com" || e.Key != test.key || e.ResourceVersion != test.rv {
				t.Errorf("%#v", e)
			}
			if test.is != nil && !errors.Is(e, test.is) || !strings.Contains(e.Error(), test.text) {
				t.Error(e)
			}
		})
	}
}

// What ends a stream is its last pair, and says what was being read.
func TestWatchBadStreams(t *testing.T) {
	good := eventJSON("ADDED", full(widgetJSON("a", 10, 1)))
	for _, test := range []struct {
		name, body string
		events     int
		is         error
		texts      []string
	}{
		{name: "HTML", body: "<html>Please log in", is: client.ErrNotKubernetes, texts: []string{"Please log in"}},
		{name: "null", body: "null", is: client.ErrNotKubernetes},
		{name: "other JSON", body: `{"hello":"world"}`, is: client.ErrNotKubernetes, texts: []string{"hello"}},
		{name: "a list", body: listJSON(widgetJSON("a", 1, 1)), is: client.ErrNotKubernetes, texts: []string{"WidgetList"}},
		{name: "a table", body: `{"kind":"Table","apiVersion":"meta.k8s.io/v1"}`, is: client.ErrTable},
		{name: "tables", body: eventJSON("ADDED", `{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[{"object":{"metadata":{"name":"x"}}}]}`), is: client.ErrTable},
		{name: "type of a wrong type", body: `{"type":7}`, is: client.ErrNotKubernetes},
		{name: "garbage after an event", body: good + "garbage" + good, events: 1, texts: []string{"event 2"}},
		{name: "garbage within an event", body: good + `{"type":"ADDED","object":{]}`, events: 1, texts: []string{"event 2"}},
		{name: "number after an event", body: good + "7" + good, events: 1, texts: []string{"event 2", "JSON number"}},
		{name: "truncated", body: good + good[:len(good)-20], events: 1, is: io.ErrUnexpectedEOF, texts: []string{"event 2"}},
		{name: "ERROR without an object", body: `{"type":"ERROR"}` + good, is: client.ErrNotKubernetes},
		{name: "ERROR with another Status", body: eventJSON("ERROR", strings.Replace(goneJSON, `"v1"`, `"example.com/v1"`, 1)), is: client.ErrNotKubernetes},
		{name: "ERROR without a Status", body: eventJSON("ERROR", `{"oh":"no"}`) + good, is: client.ErrNotKubernetes, texts: []string{"oh"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := watchBody(t, test.body)
			if got.err == nil {
				t.Fatal("no error")
			}
			t.Log(got.err)
			if test.is != nil && !errors.Is(got.err, test.is) {
				t.Errorf("is not %q", test.is)
			}
			for _, text := range append(test.texts, "watch widgets.example.com: ") {
				if !strings.Contains(got.err.Error(), text) {
					t.Errorf("does not say %q", text)
				}
			}
			if len(got.events) != test.events || got.errs != nil {
				t.Errorf("%d events, %v", len(got.events), got.errs)
			}
		})
	}
}

func TestWatchErrorEvent(t *testing.T) {
	for _, event := range []string{
		eventJSON("ERROR", goneJSON),
		`{"object":` + goneJSON + `,"type":"ERROR"}`,
		eventJSON("ERROR", strings.Replace(goneJSON, `"metadata":{}`, `"metadata":7,"details":"?"`, 1)),
		eventJSON("ERROR", strings.Replace(goneJSON, `"apiVersion":"v1",`, ``, 1)),
		eventJSON("ERROR", strings.Replace(goneJSON, `"kind":"Status",`, ``, 1)),
		eventJSON("ERROR", `{"status":"Failure","message":"too old","reason":"Expired"}`),
		eventJSON("ERROR", `{"message":"too old","code":410}`),
		eventJSON("ERROR", strings.Replace(goneJSON, `"v1"`, `"meta.k8s.io/v1"`, 1)),
		goneJSON, // its own body
		strings.Replace(goneJSON, `"v1"`, `"meta.k8s.io/v1"`, 1),
		`{"status":"Failure","message":"too old","code":410}`,
	} {
		got := watchBody(t, eventJSON("ADDED", full(widgetJSON("a", 10, 1)))+event+"garbage")
		if len(got.events) != 1 || !apierrors.IsResourceExpired(got.err) && !apierrors.IsGone(got.err) || !strings.Contains(got.err.Error(), "too old") {
			t.Errorf("%s: %d events, %v", event, len(got.events), got.err)
		}
	}
}

// The other encodings, too, know a Status without kind and one of the Go package's group.
func TestStatusInOtherEncodings(t *testing.T) {
	gone := &metav1.Status{Status: metav1.StatusFailure, Message: "too old", Reason: metav1.StatusReasonExpired, Code: 410}
	for _, kind := range []metav1.TypeMeta{{Kind: "Status", APIVersion: "v1"}, {Kind: "Status", APIVersion: "meta.k8s.io/v1"}, {}} {
		object := protobufObject(t, kind.APIVersion, kind.Kind, gone)
		for name, err := range map[string]error{
			"protobuf watch": watch(t.Context(), newResource[*widget](t, bodiesOf("application/vnd.kubernetes.protobuf", protobufEvent(t, "ERROR", object)), client.Options{}), metav1.ListOptions{}).err,
			"protobuf list":  list(t.Context(), newResource[*widget](t, bodiesOf("application/vnd.kubernetes.protobuf", object), client.Options{}), metav1.ListOptions{}).err,
		} {
			if !apierrors.IsResourceExpired(err) {
				t.Errorf("%s of %v: %v", name, kind, err)
			}
		}
	}
}

// An ERROR event ends a watch with a Status even if it carries none.
func TestWatchErrorEventWithoutStatus(t *testing.T) {
	for _, event := range []string{`{"type":"ERROR"}`, eventJSON("ERROR", `{"oh":"no"}`), eventJSON("ERROR", "null"), eventJSON("ERROR", `{"message":"oh"}`)} {
		err := watchBody(t, event).err
		var status *apierrors.StatusError
		if !errors.As(err, &status) || status.ErrStatus.Code != 0 || !errors.Is(err, client.ErrNotKubernetes) || !errors.Is(err, reflector.ErrUnusable) {
			t.Errorf("%s: %v", event, err)
		}
	}
}

// Kinds are judged by Options.Kind, then by the last list, then by the first object.
func TestWatchKind(t *testing.T) {
	gadget := strings.Replace(full(widgetJSON("g", 3, 1)), "Widget", "Gadget", 1)
	events := eventJSON("ADDED", gadget) + eventJSON("ADDED", full(widgetJSON("a", 4, 1)))
	conn := transport(func(req *http.Request) (*http.Response, error) {
		if req.URL.Query().Get("watch") == "true" {
			return response(strings.NewReader(events)), nil
		}
		return response(strings.NewReader(listJSON(widgetJSON("a", 4, 1)))), nil
	}).connection()

	r := newResource[*widget](t, conn, client.Options{})
	if got := watch(t.Context(), r, metav1.ListOptions{}); len(got.events) != 1 || got.events[0].Object.Name != "g" || len(got.errs) != 1 {
		t.Error("before a list:", got)
	}
	list(t.Context(), r, metav1.ListOptions{})
	if got := watch(t.Context(), r, metav1.ListOptions{}); len(got.events) != 1 || got.events[0].Object.Name != "a" || len(got.errs) != 1 {
		t.Error("after a list:", got)
	}
	r = newNamed[*widget](t, conn, "Widget", client.Options{})
	if got := watch(t.Context(), r, metav1.ListOptions{}); len(got.events) != 1 || got.events[0].Object.Name != "a" || len(got.errs) != 1 {
		t.Error("with Options.Kind:", got)
	}
}

// A list of a wrong kind does not spoil the ones after it.
func TestListKindIsNotRemembered(t *testing.T) {
	body := strings.ReplaceAll(listJSON(widgetJSON("a", 1, 1)), "Widget", "Gadget")
	conn := transport(func(*http.Request) (*http.Response, error) { return response(strings.NewReader(body)), nil }).connection()
	r := newResource[*widget](t, conn, client.Options{})
	for _, kind := range []string{"Gadget", "Widget"} {
		body = strings.ReplaceAll(body, "Gadget", kind)
		if got := list(t.Context(), r, metav1.ListOptions{}); got.err != nil || len(got.events) != 1 || got.events[0].Object.Kind != kind {
			t.Error(kind, got)
		}
	}
}

func TestWatchUnstructured(t *testing.T) {
	r := newResource[*unstructured.Unstructured](t, bodies(
		eventJSON("ADDED", full(widgetJSON("a", 10, 1)))+eventJSON("ADDED", `{"kind":7,"metadata":{"name":"x"}}`)), client.Options{})
	got := watch(t.Context(), r, metav1.ListOptions{})
	want := map[string]any{
		"kind": "Widget", "apiVersion": "example.com/v1",
		"metadata": map[string]any{"name": "a", "namespace": "ns", "resourceVersion": "10"},
		"spec":     map[string]any{"size": int64(1)},
	}
	if got.err != nil || len(got.events) != 1 || len(got.errs) != 1 {
		t.Fatal(got)
	}
	if d := cmp.Diff(want, got.events[0].Object.Object); d != "" || got.events[0].ResourceVersion != "10" {
		t.Error(d)
	}
}

// pipeServer hands the test the writing end of each watch body.
func pipeServer(t *testing.T) (client.Connection, <-chan *io.PipeWriter) {
	t.Helper()
	outs := make(chan *io.PipeWriter, 1)
	conn := serve(t, func(w http.ResponseWriter, req *http.Request) {
		in, out := io.Pipe()
		outs <- out
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		stop := context.AfterFunc(req.Context(), func() { _ = in.Close() })
		defer stop()
		buf := make([]byte, 4096)
		for {
			n, err := in.Read(buf)
			if err != nil {
				return
			}
			_, _ = w.Write(buf[:n])
			_ = http.NewResponseController(w).Flush()
		}
	})
	return conn, outs
}

// An event is yielded when its last byte is there, without waiting for the next.
func TestWatchIsPrompt(t *testing.T) {
	conn, outs := pipeServer(t)
	next, stop := pull(newResource[*widget](t, conn, client.Options{}).Watch(t.Context(), metav1.ListOptions{}))
	defer stop()
	var out *io.PipeWriter
	for i, name := range []string{"a", "b", "c"} {
		event := strings.TrimSpace(eventJSON("ADDED", full(widgetJSON(name, i, i))))
		got := make(chan string, 1)
		go func() {
			ev, err, _ := next()
			if err != nil {
				got <- err.Error()
				return
			}
			got <- ev.Object.Name
		}()
		if out == nil {
			out = <-outs
		}
		if _, err := io.WriteString(out, event); err != nil {
			t.Fatal(err)
		}
		if g := <-got; g != name {
			t.Fatalf("got %s, want %s", g, name)
		}
	}
	_ = out.Close()
	if _, err, ok := next(); ok {
		t.Error(err)
	}
}

// Cancelling ends a blocked read with the context's error.
func TestWatchCancel(t *testing.T) {
	conn, outs := pipeServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		out := <-outs
		_, _ = io.WriteString(out, eventJSON("ADDED", full(widgetJSON("a", 1, 1)))+`{"type":"AD`)
		cancel()
	}()
	got := watch(ctx, newResource[*widget](t, conn, client.Options{}), metav1.ListOptions{})
	if len(got.events) > 1 || !errors.Is(got.err, context.Canceled) {
		t.Error(got)
	}
}

// A context that is done when the loop body returns ends the sequence, even if more events are
// buffered, and a done context sends nothing.
func TestWatchCancelBetweenEvents(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	event := eventJSON("ADDED", full(widgetJSON("a", 1, 1)))
	r := newResource[*widget](t, bodies(event+event+event), client.Options{})
	n := 0
	var last error
	for _, err := range r.Watch(ctx, metav1.ListOptions{}) {
		if last = err; err == nil {
			n++
			cancel()
		}
	}
	if n != 1 || !errors.Is(last, context.Canceled) {
		t.Errorf("%d events, %v", n, last)
	}
	if got := watch(ctx, r, metav1.ListOptions{}); !errors.Is(got.err, context.Canceled) {
		t.Error(got.err)
	}
}

// Leaving the loop closes the request, and an unused sequence sends none.
func TestWatchLeft(t *testing.T) {
	closed := make(chan struct{})
	asked := make(chan struct{}, 2)
	conn := serve(t, func(w http.ResponseWriter, req *http.Request) {
		asked <- struct{}{}
		_, _ = io.WriteString(w, eventJSON("ADDED", full(widgetJSON("a", 1, 1))))
		_ = http.NewResponseController(w).Flush()
		<-req.Context().Done()
		close(closed)
	})
	r := newResource[*widget](t, conn, client.Options{})
	r.Watch(t.Context(), metav1.ListOptions{})
	for range r.Watch(t.Context(), metav1.ListOptions{}) {
		break
	}
	<-closed
	if len(asked) != 1 {
		t.Errorf("%d requests", len(asked))
	}
}
