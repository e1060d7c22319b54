package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// spelling is a server of the objects w0 … w19, of which respelt says how the first ones are written.
type spelling struct {
	t          testing.TB
	in         encoded
	version    int
	way, color string
	respelt    int
	events     chan []byte // for the watch in progress; an empty one ends it by 410
}

const spelled = 20

func (s *spelling) objects() (all [][]byte) {
	for n := range spelled {
		way, color := "", "red"
		if n < s.respelt {
			way, color = s.way, s.color
		}
		all = append(all, s.in.object(s.t, way, fmt.Sprint("w", n), color))
	}
	return all
}

func (s *spelling) serve(w http.ResponseWriter, req *http.Request) {
	q := req.URL.Query()
	if q.Get("watch") == "" {
		w.Header().Set("Content-Type", s.in.contentType)
		_, _ = w.Write(s.in.list(s.t, s.version, s.objects()))
		return
	}
	w.Header().Set("Content-Type", s.in.stream)
	send := func(event []byte) {
		_, _ = w.Write(event)
		_ = http.NewResponseController(w).Flush()
	}
	if q.Get("sendInitialEvents") == "true" {
		for _, object := range s.objects() {
			send(s.in.event(s.t, "ADDED", object))
		}
		send(s.in.event(s.t, "BOOKMARK", s.in.bookmark(s.t, s.version)))
	}
	send(nil) // the header, as an API server does
	for {
		select {
		case <-req.Context().Done():
			return
		case event := <-s.events:
			if event == nil {
				send(s.in.gone(s.t))
				return
			}
			send(event)
		}
	}
}

// relist makes the watch end, and waits until the objects have been listed again.
func (s *spelling) relist() {
	s.version++
	s.events <- nil
	time.Sleep(5 * time.Minute)
	synctest.Wait()
}

// spell runs a test with an informer of such a server. got returns what handlers got since the last
// call, and how many objects of lists were not decoded.
func spell[T metav1.Object](t *testing.T, in encoded, tuning reflector.Tuning, test func(s *spelling, inf *informer.Informer[types.NamespacedName, T], got func() ([]string, uint64))) {
	synctest.Test(t, func(t *testing.T) {
		s := &spelling{t: t, in: in, version: 20, events: make(chan []byte)}
		srv := servePlain(s.serve)
		defer srv.stop()
		conn := connect(t, "http://api.test", client.ConnectionOptions{DialContext: srv.dial})
		defer conn.HTTP.CloseIdleConnections()
		inf, err := informer.New(newNamed[T](t, conn, "Widget", client.Options{}), store.ObjectKey[T], informer.Options[T]{
			OnError: func(err error) {
				if !apierrors.IsResourceExpired(errors.Unwrap(err)) {
					t.Log(err)
				}
			},
			Reflector: tuning,
		})
		if err != nil {
			t.Fatal(err)
		}
		var seen []string
		_, err = inf.AddHandler(informer.HandlerFunc[types.NamespacedName, T](func(ev informer.Event[types.NamespacedName, T]) {
			if !ev.Initial {
				seen = append(seen, fmt.Sprint(ev.Type, " ", ev.Key.Name))
			}
		}), informer.HandlerOptions[T]{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- inf.Run(ctx) }()
		time.Sleep(time.Second)
		synctest.Wait()
		recalled := uint64(0)
		test(s, inf, func() ([]string, uint64) {
			events, before := seen, recalled
			slices.Sort(events)
			seen, recalled = nil, inf.Stats().Recalled
			return events, recalled - before
		})
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// testSpelling: bytes that differ only in the order of members, in white space or in escapes are the
// same object. It is decoded once, and handlers get no event. Other contents at the version are an
// update.
func testSpelling[T metav1.Object](t *testing.T, in encoded, colorOf func(T) string) {
	for _, tuning := range []reflector.Tuning{{}, {DisableWatchList: true}} {
		for _, way := range in.ways {
			for _, respelt := range []int{1, spelled} {
				t.Run(fmt.Sprintf("%+v, %s of %d", tuning, way, respelt), func(t *testing.T) {
					spell(t, in, tuning, func(s *spelling, inf *informer.Informer[types.NamespacedName, T], got func() ([]string, uint64)) {
						list := func(note string, unread int, want int) {
							t.Helper()
							s.relist()
							if events, recalled := got(); len(events) != want || recalled != uint64(unread) {
								t.Errorf("%s: handlers got %q, want %d events; %d objects were not decoded, want %d", note, events, want, recalled, unread)
							}
						}
						list("same bytes", spelled, 0)
						s.way, s.color, s.respelt = way, "red", respelt
						list("other bytes", spelled-respelt, 0)
						list("the same other bytes", spelled, 0)
						s.events <- in.event(t, "MODIFIED", in.object(t, "", "w0", "red"))
						time.Sleep(time.Second)
						synctest.Wait()
						if events, _ := got(); len(events) > 0 {
							t.Errorf("other bytes in a watch: handlers got %q", events)
						}
						list("after the watch", spelled, 0)
						s.color = "blue"
						list("other contents", spelled-respelt, respelt)
						for key, obj := range inf.Store().All() {
							var n int
							_, _ = fmt.Sscanf(key.Name, "w%d", &n)
							want := "red"
							if n < respelt {
								want = "blue"
							}
							if color := colorOf(obj); color != want {
								t.Errorf("the store has %s in %q, want %q", key.Name, color, want)
							}
						}
						list("the same other contents", spelled, 0)
					})
				})
			}
		}
	}
}

func TestSpelling(t *testing.T) {
	t.Run("typed", func(t *testing.T) {
		testSpelling(t, encodedJSON, func(w *widget) string { return w.Spec.Color })
	})
	t.Run("unstructured", func(t *testing.T) {
		testSpelling(t, encodedJSON, func(u *unstructured.Unstructured) string {
			color, _, _ := unstructured.NestedString(u.Object, "spec", "color")
			return color
		})
	})
	for name, in := range map[string]encoded{"JSON": encodedJSON, "protobuf": encodedProtobuf} {
		t.Run("metadata in "+name, func(t *testing.T) {
			testSpelling(t, in, func(m *metav1.PartialObjectMetadata) string { return m.Labels["a"] })
		})
	}
}
