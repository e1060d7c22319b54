package client_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/kind"
)

// connectionOf serves a recording.
func connectionOf(rec recording) client.Connection {
	return bodiesOf(rec.Header.Get("Content-Type"), rec.body)
}

// Managed fields are dropped in every encoding, and nothing else is.
func TestDropManagedFields(t *testing.T) {
	n := 0
	for _, rec := range recordings(t, recording.isList, ".json", ".pb") {
		if !strings.HasPrefix(rec.File, "list-pods") {
			continue
		}
		lists := func(opts client.Options) collected[*metav1.PartialObjectMetadata] {
			r, err := client.New(connectionOf(rec), kind.OfResource[*metav1.PartialObjectMetadata](pods), opts)
			if err != nil {
				t.Fatal(err)
			}
			return list(t.Context(), r, metav1.ListOptions{})
		}
		want, got := lists(client.Options{}), lists(client.Options{DropManagedFields: true})
		for _, ev := range want.events {
			n += len(ev.Object.ManagedFields)
			ev.Object.ManagedFields = nil
		}
		if d := cmp.Diff(want.events, got.events); d != "" || got.err != nil || len(got.events) == 0 {
			t.Error(rec.File, got.err, d)
		}
	}
	if n == 0 {
		t.Error("the recordings have no managed fields")
	}
	for _, object := range []string{
		`{"metadata":{"name":"a"%s}}`, `{ "metadata" : { "name" : "a" %s , "uid":"u"} , "x":1}`, `{"kind":"Widget","a":["\\\"",{"}":1}],"metadata":{"name":"a"%s}}`,
	} {
		for _, managed := range []string{``, `,"managedFields":null`, `,"managedFields":[]`, `, "managed\u0046ields" : [ {"a":"]}\""} ]`} {
			body := listJSON(fmt.Sprintf(object, managed))
			want := list(t.Context(), newNamed[*unstructured.Unstructured](t, bodies(listJSON(fmt.Sprintf(object, ""))), "Widget", client.Options{}), metav1.ListOptions{})
			got := list(t.Context(), newNamed[*unstructured.Unstructured](t, bodies(body), "Widget", client.Options{DropManagedFields: true}), metav1.ListOptions{})
			if d := cmp.Diff(want.events, got.events); d != "" || got.err != nil || len(got.events) != 1 {
				t.Error(body, got.err, got.errs, d)
			}
		}
	}
	first := listJSON(`{"metadata":{"managedFields":[{}],"name":"a"}}`)
	got := list(t.Context(), newResource[*widget](t, bodies(first), client.Options{DropManagedFields: true}), metav1.ListOptions{})
	if got.err != nil || len(got.events) != 1 || got.events[0].Object.ManagedFields != nil {
		t.Error(got)
	}
}

// An object over the limit costs itself, with an error that names resource and limit.
func TestMaxObjectBytes(t *testing.T) {
	large := `{"metadata":{"name":"x","namespace":"ns","resourceVersion":"3"},"spec":{"extra":[` + strings.Repeat(`"0123456789",`, 5000) + `1]}}`
	body := listJSON(widgetJSON("a", 1, 1), large, widgetJSON("b", 2, 2))
	r := newResource[*widget](t, bodies(body), client.Options{MaxObjectBytes: 1000})
	got := list(t.Context(), r, metav1.ListOptions{})
	tooLarge := func(err error) bool {
		var e *client.TooLargeError
		return errors.As(err, &e) && e.Limit == 1000 && e.Resource == "widgets.example.com" && strings.Contains(err.Error(), "1000 bytes")
	}
	if got.err != nil || len(got.events) != 2 || len(got.errs) != 1 || !tooLarge(got.errs[0]) || got.errs[0].Key != "ns/x" {
		t.Error(got.err, len(got.events), got.errs)
	}
	if s := r.Stats(); s.Objects != 2 || s.ObjectErrors != 1 || s.Bytes != int64(len(body)) || s.DecodeTime <= 0 {
		t.Errorf("%+v", s)
	}
	got = watch(t.Context(), newResource[*widget](t, bodies(eventJSON("ADDED", full(widgetJSON("a", 1, 1)))+eventJSON("DELETED", full(large))), client.Options{MaxObjectBytes: 1000}), metav1.ListOptions{})
	if got.err != nil || len(got.events) != 1 || len(got.errs) != 1 || !tooLarge(got.errs[0]) || got.errs[0].Type.String() != "DELETED" {
		t.Error(got.err, len(got.events), got.errs)
	}
	if _, err := newResource[*widget](t, bodies(full(large)), client.Options{MaxObjectBytes: 1000}).Get(t.Context(), types.NamespacedName{Name: "x"}, metav1.GetOptions{}); !tooLarge(err) {
		t.Error(err)
	}
	if got := list(t.Context(), newResource[*widget](t, bodies(body), client.Options{MaxObjectBytes: -1}), metav1.ListOptions{}); got.err != nil || len(got.events) != 3 {
		t.Error(got.err, got.errs)
	}
	for _, rec := range recordings(t, func(rec recording) bool {
		return strings.HasPrefix(rec.File, "list-configmaps.") || strings.HasPrefix(rec.File, "watchlist-configmaps.")
	}, ".pb") {
		r, err := client.New(connectionOf(rec), kind.OfResource[*metav1.PartialObjectMetadata](pods), client.Options{MaxObjectBytes: 350})
		if err != nil {
			t.Fatal(err)
		}
		got := list(t.Context(), r, metav1.ListOptions{})
		if strings.HasPrefix(rec.File, "watch") {
			got = watch(t.Context(), r, metav1.ListOptions{})
		}
		if got.err != nil || len(got.errs) == 0 || len(got.events) == 0 {
			t.Error(rec.File, filepath.Ext(rec.File), got.err, len(got.events), len(got.errs))
		}
	}
}

// Sharing strings and parts changes nothing else, however many are remembered.
func TestInterned(t *testing.T) {
	var items []string
	for i := range 600 {
		items = append(items, widgetJSON(fmt.Sprint("w\u00e9", i%50), i, i))
	}
	body := listJSON(items...)
	for _, n := range []int{1, 3, 100_000} {
		same[*widget](t, body, n)
		same[*unstructured.Unstructured](t, body, n)
	}
}

func same[T any](t *testing.T, body string, n int) {
	t.Helper()
	want := list(t.Context(), client.Interned(newResource[T](t, bodies(body), client.Options{}), 0), metav1.ListOptions{})
	got := list(t.Context(), forCache(client.Interned(newResource[T](t, bodies(body), client.Options{ShareJSON: true}), n)), metav1.ListOptions{})
	if d := cmp.Diff(want.events, got.events); d != "" || got.err != nil || len(got.events) != 600 {
		t.Error(got.err, d)
	}
}
