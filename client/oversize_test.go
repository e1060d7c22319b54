package client_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
)

// protobufObject puts an object into its envelope.
func protobufObject(t testing.TB, apiVersion, kind string, object interface{ Marshal() ([]byte, error) }) []byte {
	t.Helper()
	raw, err := object.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	data, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}, Raw: raw}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte("k8s\x00"), data...)
}

// protobufEvent makes a frame of a watch.
func protobufEvent(t testing.TB, typ string, object []byte) []byte {
	t.Helper()
	data, err := (&metav1.WatchEvent{Type: typ, Object: runtime.RawExtension{Raw: object}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...)
}

const oversizeLimit = 1000

// oversized watches the deletion of an object over the limit, between two objects, and
// checks what is said of it.
func oversized[T any](t *testing.T, conn client.Connection, want reflector.EventType) {
	t.Helper()
	r, err := client.New(conn, kind.OfResource[T](widgets), client.Options{MaxObjectBytes: oversizeLimit})
	if err != nil {
		t.Fatal(err)
	}
	got := watch(t.Context(), r, metav1.ListOptions{})
	if got.err != nil || len(got.events) != 2 || len(got.errs) != 1 {
		t.Fatal(got.err, len(got.events), got.errs)
	}
	var large *client.TooLargeError
	e := got.errs[0]
	if !errors.As(e, &large) || e.Type != want || e.Key != "ns/x" || e.ResourceVersion != "3" {
		t.Errorf("%v of type %v, want %v", e, e.Type, want)
	}
	if s := r.Stats(); s.Objects != 2 || s.ObjectErrors != 1 {
		t.Errorf("%+v", s)
	}
}

func partialWidget(name, rv string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", ResourceVersion: rv}}
}

// The event of an object over the limit is known by type, key and version: a deletion must
// not go unseen. One whose type cannot be known counts as a deletion.
func TestOversizedEventsInProtobuf(t *testing.T) {
	small := protobufEvent(t, "ADDED", protobufObject(t, "example.com/v1", "Widget", partialWidget("a", "1")))
	for _, size := range []int{2000, 70_000, 300_000} {
		x := partialWidget("x", "3")
		x.Annotations = map[string]string{"note": strings.Repeat("n", size)}
		object := protobufObject(t, "example.com/v1", "Widget", x)
		for typ, want := range map[string]reflector.EventType{"ADDED": reflector.Added, "MODIFIED": reflector.Modified, "DELETED": reflector.Deleted, "": reflector.Deleted, "NEW": 0} {
			body := append(append(append([]byte{}, small...), protobufEvent(t, typ, object)...), small...)
			oversized[*metav1.PartialObjectMetadata](t, bodiesOf("application/vnd.kubernetes.protobuf;stream=watch", body), want)
		}
		failed := protobufEvent(t, "ERROR", object)
		r := newResource[*metav1.PartialObjectMetadata](t, bodiesOf("application/vnd.kubernetes.protobuf;stream=watch", append(failed, small...)), client.Options{MaxObjectBytes: oversizeLimit})
		var large *client.TooLargeError
		if got := watch(t.Context(), r, metav1.ListOptions{}); !errors.As(got.err, &large) || got.events != nil || got.errs != nil {
			t.Error(got)
		}

		list := protobufListOf(t, "WidgetList", "4", *partialWidget("a", "1"), *x, *partialWidget("b", "2"))
		oversizedItem[*metav1.PartialObjectMetadata](t, bodiesOf("application/vnd.kubernetes.protobuf", list))
	}
}

// protobufListOf makes a list.
func protobufListOf(t testing.TB, kind, rv string, items ...metav1.PartialObjectMetadata) []byte {
	t.Helper()
	return protobufObject(t, "example.com/v1", kind, &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: rv}, Items: items})
}

func oversizedItem[T any](t *testing.T, conn client.Connection) {
	t.Helper()
	got := list(t.Context(), newResource[T](t, conn, client.Options{MaxObjectBytes: oversizeLimit}), metav1.ListOptions{})
	var large *client.TooLargeError
	if got.err != nil || len(got.events) != 2 || len(got.errs) != 1 || !errors.As(got.errs[0], &large) || got.errs[0].Key != "ns/x" || got.errs[0].ResourceVersion != "3" {
		t.Error(got.err, len(got.events), got.errs)
	}
}

// oversizedObjects have what identifies them before and behind what is large, which is of
// many values, or one.
func oversizedObjects(size int) map[string]string {
	const meta = `"name":"x","namespace":"ns","resourceVersion":"3"`
	header := `"kind":"Widget","apiVersion":"example.com/v1",`
	large := map[string]string{
		"a string":  `"` + strings.Repeat("y", size) + `"`,
		"escapes":   `"` + strings.Repeat(`\u00e9\"\\\n`, size/4) + `"`,
		"strings":   `["` + strings.Repeat(`0123456789","`, size/12) + `"]`,
		"objects":   `[` + strings.Repeat(`{"a":{"b":[1,2]}},`, size/16) + `{"metadata":{"name":"wrong"}}]`,
		"a name":    `{"` + strings.Repeat("n", size) + `":{"name":"wrong"}}`,
		"metadata":  `{"kind":"wrong","metadata":{"name":"wrong","namespace":"wrong","resourceVersion":"wrong"},"a":["` + strings.Repeat("z", size) + `"]}`,
		"a pattern": `"` + strings.Repeat(`\",\"metadata\":{`, size/17) + `"`,
	}
	objects := map[string]string{}
	for name, value := range large {
		objects[name+" last"] = `{` + header + `"metadata":{` + meta + `},"spec":` + value + `}`
		objects[name+" first"] = `{"spec":` + value + `,` + header + `"metadata":{` + meta + `}}`
		objects[name+" in metadata"] = `{` + header + `"metadata":{"annotations":{"a":` + value + `},` + meta + `,"labels":{"name":"wrong"}}}`
	}
	return objects
}

func TestOversizedEventsInJSON(t *testing.T) {
	small := full(widgetJSON("a", 1, 1))
	for _, size := range []int{2 * oversizeLimit, 3*oversizeLimit + 7, 100_000} {
		for name, object := range oversizedObjects(size) {
			t.Run(fmt.Sprint(name, size), func(t *testing.T) {
				for typ, want := range map[string]reflector.EventType{"MODIFIED": reflector.Modified, "DELETED": reflector.Deleted, "NEW": 0} {
					body := eventJSON("ADDED", small) + eventJSON(typ, object) + eventJSON("ADDED", small)
					oversized[*widget](t, bodies(body), want)
					oversized[*unstructured.Unstructured](t, bodies(eventJSON("ADDED", small)+`{"object":`+object+`,"type":"`+typ+`"}`+eventJSON("ADDED", small)), want)
				}
				noType := eventJSON("ADDED", small) + `{"object":` + object + `}` + eventJSON("ADDED", small)
				oversized[*widget](t, bodies(noType), reflector.Deleted)
				conn := transport(func(*http.Request) (*http.Response, error) {
					return response(&chunks{text: noType, size: 1}), nil
				}).connection()
				if size < 10_000 {
					oversized[*widget](t, conn, reflector.Deleted)
				}
				oversizedItem[*widget](t, bodies(listJSON(widgetJSON("a", 1, 1), object, widgetJSON("b", 2, 2))))
			})
		}
	}
}

// An ERROR event that is too large ends the watch, as any does.
func TestOversizedFailure(t *testing.T) {
	object := `{"kind":"Status","apiVersion":"v1","message":"` + strings.Repeat("m", 5000) + `"}`
	for _, conn := range []client.Connection{
		bodies(eventJSON("ERROR", object) + eventJSON("ADDED", widgetJSON("a", 1, 1))),
	} {
		got := watch(t.Context(), newResource[*widget](t, conn, client.Options{MaxObjectBytes: oversizeLimit}), metav1.ListOptions{})
		var large *client.TooLargeError
		if !errors.As(got.err, &large) || got.events != nil || got.errs != nil {
			t.Error(got)
		}
	}
}

// An object of the size of the limit passes, and one with a byte more does not. That holds for
// all splits of the reads and all neighbours.
func TestExactLimit(t *testing.T) {
	object := full(widgetJSON("a", 1, 1))
	for name, body := range map[string]string{
		"list":  listJSON("\n "+object, " "+object+" "),
		"event": `{"type":"ADDED", "object" : ` + "\n " + object + "}\n" + eventJSON("ADDED", object),
	} {
		for _, conn := range []client.Connection{bodies(body), inPieces([]byte(body))} {
			for _, more := range []int{0, 1} {
				r := newNamed[*widget](t, conn, "Widget", client.Options{MaxObjectBytes: int64(len(object) - more)})
				read := list[*widget]
				if name == "event" {
					read = watch[*widget]
				}
				if got := read(t.Context(), r, metav1.ListOptions{}); got.err != nil || len(got.events) != 2-2*more || len(got.errs) != 2*more {
					t.Error(name, more, got.err, len(got.events), got.errs)
				}
			}
		}
	}
}

// For any limit and any split of the reads, objects over the limit are left out and the others
// are the same as without it.
func TestRandomLimits(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	texts := []string{`\"`, `\\`, `\u0041`, `\ud83d\ude00`, "x", "é", " ", `\n`, "},{"}
	for seed := range 300 {
		var items []string
		for i := range 5 {
			var b strings.Builder
			for range rng.Intn(150) {
				b.WriteString(texts[rng.Intn(len(texts))])
			}
			items = append(items, fmt.Sprintf(`{"spec":{"color":"%s"},"metadata":{"name":"w%d","resourceVersion":"%d"}}`, b.String(), i, i))
		}
		limit := 100 + rng.Intn(500)
		body := listJSON(items...)
		conn := transport(func(*http.Request) (*http.Response, error) {
			return response(&chunks{text: body, size: 1 + rng.Intn(200)}), nil
		}).connection()
		want := list(t.Context(), newResource[*widget](t, bodies(body), client.Options{}), metav1.ListOptions{})
		got := list(t.Context(), newResource[*widget](t, conn, client.Options{MaxObjectBytes: int64(limit)}), metav1.ListOptions{})
		if got.err != nil {
			t.Fatal(seed, got.err)
		}
		e, g := 0, 0
		for i, item := range items {
			if len(item) <= limit {
				if d := cmp.Diff(want.events[i], got.events[e]); d != "" {
					t.Fatal(seed, d)
				}
				e++
			} else if name := fmt.Sprint("w", i); got.errs[g].Key != name {
				t.Fatal(seed, got.errs[g])
			} else {
				g++
			}
		}
		if e != len(got.events) || g != len(got.errs) {
			t.Fatal(seed, len(got.events), got.errs)
		}
	}
}
