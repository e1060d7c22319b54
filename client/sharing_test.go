package client_test

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
)

// replicas are the texts of objects of a few owners; what differs is the name.
func replicas(n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`{"metadata":{"name":"w%d","resourceVersion":"%d","labels":{"app":"a%d"},"finalizers":["f"],`+
			`"ownerReferences":[{"kind":"Set","name":"s%d","uid":"u","controller":true}]},"spec":{"parts":[{"name":"x"},{"name":"y"}]}}`, i, i+1, i%3, i%3))
	}
	return all
}

// sharing lists a body without and with shared parts. What is decoded is the same.
func sharing[T any](t *testing.T, contentType string, body []byte) (*client.Resource[T], []T) {
	t.Helper()
	plain := newNamed[T](t, bodiesOf(contentType, body), "Widget", client.Options{})
	// Places of parts depend on addresses. Two parts with one place would push each other out, so
	// there are many.
	shared := newNamed[T](t, bodiesOf(contentType, body), "Widget", client.Options{SharedParts: 1 << 18, InternedStrings: -1})
	want, got := list(t.Context(), plain, metav1.ListOptions{}), list(t.Context(), shared, metav1.ListOptions{})
	if d := cmp.Diff(want.events, got.events); d != "" || got.err != nil || len(got.events) < 20 {
		t.Fatal(got.err, len(got.events), d)
	}
	var objects []T
	for _, ev := range got.events {
		objects = append(objects, ev.Object)
	}
	return shared, objects
}

func address(v any) uintptr { return reflect.ValueOf(v).Pointer() }

// Equal parts of objects are one in every encoding, for every kind of T, and nothing else
// changes. A list goes on with the parts of the one before it.
func TestSharedParts(t *testing.T) {
	text := listJSON(replicas(24)...)
	var items []metav1.PartialObjectMetadata
	for i := range 24 {
		m := partialWidget(fmt.Sprint("w", i), fmt.Sprint(i+1))
		m.Labels = map[string]string{"app": fmt.Sprint("a", i%3)}
		m.OwnerReferences = []metav1.OwnerReference{{Kind: "Set", Name: fmt.Sprint("s", i%3), Controller: new(bool)}}
		items = append(items, *m)
	}
	for contentType, body := range map[string][]byte{
		"application/json":                    []byte(text),
		"application/vnd.kubernetes.protobuf": protobufListOf(t, "WidgetList", "12", items...),
	} {
		t.Run(strings.TrimPrefix(contentType, "application/"), func(t *testing.T) {
			r, all := sharing[*metav1.PartialObjectMetadata](t, contentType, body)
			again := list(t.Context(), r, metav1.ListOptions{}).events
			for i := 6; i < 24; i++ {
				a, b := all[i], all[i-3]
				if address(a.Labels) != address(b.Labels) && i >= 9 || address(a.OwnerReferences) != address(b.OwnerReferences) && i >= 9 {
					t.Errorf("objects %d and %d share no labels and owners", i, i-3)
				}
				if address(a.Labels) == address(all[i-1].Labels) {
					t.Errorf("objects %d and %d share different labels", i, i-1)
				}
				if address(again[i].Object.Labels) != address(all[23-(23-i)%3].Labels) {
					t.Errorf("object %d of another list has labels of its own", i)
				}
			}
			if contentType == "application/vnd.kubernetes.protobuf" {
				return
			}
			_, widgets := sharing[*widget](t, contentType, body)
			if a, b := widgets[20], widgets[23]; address(a.Labels) != address(b.Labels) {
				t.Error("widgets share no labels")
			}
			_, plain := sharing[widget](t, contentType, body)
			if a, b := plain[20], plain[23]; address(a.Labels) != address(b.Labels) {
				t.Error("widgets that are structs share no labels")
			}
			_, untyped := sharing[*unstructured.Unstructured](t, contentType, body)
			if a, b := untyped[20].Object, untyped[22].Object; address(a["spec"]) != address(b["spec"]) || address(a) == address(b) {
				t.Error("unstructured objects share other than their parts")
			}
		})
	}
}

// What Get returns may be changed for an update.
func TestGetSharesNothing(t *testing.T) {
	conn := bodies(`{"apiVersion":"example.com/v1","kind":"Widget",` + replicas(1)[0][1:])
	r := newResource[*widget](t, conn, client.Options{SharedParts: 100})
	var all []*widget
	for range 4 {
		w, err := r.Get(t.Context(), types.NamespacedName{Name: "w0"}, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, w)
	}
	if address(all[2].Labels) == address(all[3].Labels) {
		t.Error("two objects have the same labels")
	}
}

// Lists and watches of one Resource at the same time share nothing that they write to.
func TestSharedPartsAtTheSameTime(t *testing.T) {
	var events strings.Builder
	for _, text := range replicas(50) {
		events.WriteString(eventJSON("ADDED", full(text)))
	}
	r := newResource[*widget](t, bodies(events.String()), client.Options{SharedParts: 16})
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 3 {
				got := watch(t.Context(), r, metav1.ListOptions{})
				for i, ev := range got.events {
					if want := fmt.Sprint("a", i%3); ev.Object.Labels["app"] != want {
						t.Errorf("object %d has labels %v", i, ev.Object.Labels)
					}
				}
				if got.err != nil || len(got.events) != 50 {
					t.Error(got.err, len(got.events))
				}
			}
		})
	}
	group.Wait()
}
