package decode

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
)

// answers is a server in the process: each request gets the same body.
type answers struct {
	contentType string
	body        []byte
}

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {a.contentType}}, Body: io.NopCloser(bytes.NewReader(a.body)), ContentLength: -1,
	}, nil
}

func connectionTo(a answers) client.Connection {
	return client.Connection{URL: "http://server.invalid", HTTP: &http.Client{Transport: a}}
}

// clientFor returns a client of T, a pointer, that gets the given answer to everything.
func clientFor[T any](t testing.TB, gvk schema.GroupVersionKind, a answers) *client.Resource[T] {
	t.Helper()
	c, err := client.New(connectionTo(a),
		kind.OfResource[T](schema.GroupVersionResource{Group: gvk.Group, Version: gvk.Version, Resource: "things"}).Named(gvk.Kind), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// listed returns the objects of a list. An error about one of them ends it.
func listed[T any](t testing.TB, c *client.Resource[T]) (out []T, err error) {
	var failed error
	_, err = c.List(t.Context(), metav1.ListOptions{}, func(e reflector.Event[T], err error) bool {
		if failed = err; err == nil {
			out = append(out, e.Object)
		}
		return failed == nil
	})
	return out, errors.Join(failed, err)
}

// watch returns the objects of a watch. The first error ends it.
func watch[T any](t testing.TB, gvk schema.GroupVersionKind, a answers) ([]T, error) {
	t.Helper()
	return watched(t, clientFor[T](t, gvk, a))
}

func watched[T any](t testing.TB, c *client.Resource[T]) (out []T, err error) {
	for e, err := range c.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "1"}) {
		if err != nil {
			return out, err
		}
		out = append(out, e.Object)
	}
	return out, nil
}

// objectType is a type of Kubernetes objects, a struct.
type objectType struct {
	typ reflect.Type
	gvk schema.GroupVersionKind
}

// client returns a client whose objects have the type, and that gets the given answer to
// everything. All types have the same T, because a client is long to compile for each.
func (o objectType) client(t testing.TB, a answers, opts client.Options) *client.Resource[runtime.Object] {
	t.Helper()
	k := kind.OfResource[runtime.Object](schema.GroupVersionResource{Group: o.gvk.Group, Version: o.gvk.Version, Resource: "things"}).Named(o.gvk.Kind)
	c, err := client.NewLike(connectionTo(a), k, reflect.New(o.typ).Interface().(runtime.Object), opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// objectTypes returns all types of client-go's scheme that have metadata, each in its newest
// version: TestRandomObjects decodes all versions.
func objectTypes(t testing.TB) (all []objectType) {
	t.Helper()
	newest := map[schema.GroupKind]schema.GroupVersionKind{}
	for gvk, typ := range scheme.Scheme.AllKnownTypes() {
		_, object := reflect.New(typ).Interface().(metav1.Object)
		if _, list := typ.FieldByName("Items"); !object || list {
			continue
		}
		if than, seen := newest[gvk.GroupKind()]; !seen || version.CompareKubeAwareVersionStrings(gvk.Version, than.Version) > 0 {
			newest[gvk.GroupKind()] = gvk
		}
	}
	for _, gvk := range newest {
		all = append(all, objectType{scheme.Scheme.AllKnownTypes()[gvk], gvk})
	}
	slices.SortFunc(all, func(a, b objectType) int { return compare(a.gvk, b.gvk) })
	if len(all) < 80 {
		t.Fatalf("%d types only: this scheme is not client-go's", len(all))
	}
	return all
}

// TestSharedPartsOfEveryType sends random objects of every type several times over. What
// the client makes of them with equal parts shared must be what client-go gets.
func TestSharedPartsOfEveryType(t *testing.T) {
	for _, o := range objectTypes(t) {
		gvk := o.gvk
		for _, e := range encodings {
			name := fmt.Sprintf("%v as %s", gvk, e.name)
			few := randomObjects(o)
			all := slices.Repeat(few, 8) // sharing begins after some objects
			events := eventsBody(t, gvk, e.mediaType, all)
			want, err := clientGoEvents(gvk, e.mediaType, events)
			if err != nil {
				t.Fatalf("%s: client-go: %v", name, err)
			}
			got, err := watched(t, forCache(o.client(t, answers{watchType(e.mediaType), events}, client.Options{ShareJSON: true})))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			requireSameObjects(t, name, got, want)
		}
	}
}

// TestEveryTypeInEveryEncoding sends random objects of every type as lists and as watches. Our
// client must get what client-go gets.
func TestEveryTypeInEveryEncoding(t *testing.T) {
	for _, o := range objectTypes(t) {
		gvk := o.gvk
		for _, e := range encodings {
			objects := randomObjects(o)
			name := fmt.Sprintf("%v as %s", gvk, e.name)
			events := eventsBody(t, gvk, e.mediaType, objects)
			want, err := clientGoEvents(gvk, e.mediaType, events)
			if err != nil {
				t.Fatalf("%s: client-go: %v", name, err)
			}
			got, err := watched(t, o.client(t, answers{watchType(e.mediaType), events}, client.Options{}))
			if err != nil {
				t.Fatalf("%s: watch: %v", name, err)
			}
			requireSameObjects(t, name+", watched", got, want)

			all := listOf(t, gvk, objects)
			if all == nil {
				continue // the scheme has no list of it
			}
			got, err = listed(t, o.client(t, answers{e.mediaType, encode(t, gvk, e.mediaType, all)}, client.Options{}))
			if err != nil {
				t.Fatalf("%s: list: %v", name, err)
			}
			requireSameObjects(t, name+", listed", got, want)
		}
	}
}

func requireSameObjects(t testing.TB, name string, got, want []runtime.Object) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d objects, want %d", name, len(got), len(want))
	}
	for i := range got {
		// client-go's typed clients leave kind and apiVersion out, ours puts them in.
		got[i].GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		want[i].GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		requireEqual(t, fmt.Sprintf("%s, object %d", name, i), got[i], want[i])
	}
}
