package client_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/kind"
)

// TestLike: a client for a type known at run time brings what the client for the same type brings,
// in every encoding.
func TestLike(t *testing.T) {
	n := 0
	for _, rec := range recordings(t, recording.isList, ".json", ".pb") {
		if strings.HasPrefix(rec.File, "list-pods") {
			n += likeTyped(t, rec, &metav1.PartialObjectMetadata{}) + likeTyped(t, rec, (*unstructured.Unstructured)(nil))
		}
	}
	if n == 0 {
		t.Error("the recordings have no pods")
	}
}

// likeTyped compares both clients of the type T, and returns the number of objects.
func likeTyped[T any](t *testing.T, rec recording, like T) int {
	t.Helper()
	opts := client.Options{ShareJSON: true}
	typed, err := client.New(connectionOf(rec), kind.OfResource[T](pods), opts)
	if err != nil {
		t.Fatal(err)
	}
	dynamic, err := client.NewLike(connectionOf(rec), kind.OfResource[any](pods), any(like), opts)
	if err != nil {
		t.Fatal(err)
	}
	want, got := list(t.Context(), typed, metav1.ListOptions{}), list(t.Context(), forCache(dynamic), metav1.ListOptions{})
	if len(got.events) != len(want.events) || len(got.errs) != len(want.errs) || (got.err == nil) != (want.err == nil) {
		t.Fatalf("%s: %d objects, %v, %v; want %d, %v, %v", rec.File, len(got.events), got.errs, got.err, len(want.events), want.errs, want.err)
	}
	for i, ev := range want.events {
		if d := cmp.Diff(any(ev.Object), got.events[i].Object); d != "" || ev.ResourceVersion != got.events[i].ResourceVersion {
			t.Error(rec.File, d)
		}
	}
	return len(got.events)
}

// Types that cannot hold an object are refused.
func TestLikeErrors(t *testing.T) {
	for name, like := range map[string]any{"nil": nil, "a struct": widget{}, "a pointer to text": new(string)} {
		if _, err := client.NewLike(bodies(""), kind.OfResource[any](widgets), like, client.Options{}); err == nil || !strings.Contains(err.Error(), "widgets") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
