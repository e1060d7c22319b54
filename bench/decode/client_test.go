package decode

import (
	"bytes"
	"encoding/json"
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

// clientFor returns a client of T, a pointer, that gets the given answer to everything.
func clientFor[T any](t testing.TB, gvk schema.GroupVersionKind, a answers) *client.Resource[T] {
	t.Helper()
	return clientWith[T](t, gvk, a, client.Options{})
}

// clientWith is clientFor with options.
func clientWith[T any](t testing.TB, gvk schema.GroupVersionKind, a answers, o client.Options) *client.Resource[T] {
	t.Helper()
	c, err := client.New(client.Connection{URL: "http://server.invalid", HTTP: &http.Client{Transport: a}},
		kind.OfResource[T](schema.GroupVersionResource{Group: gvk.Group, Version: gvk.Version, Resource: "things"}).Named(gvk.Kind), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// list returns the objects of a list. An error about one of them ends it.
func list[T any](t testing.TB, gvk schema.GroupVersionKind, a answers) ([]T, error) {
	t.Helper()
	return listed(t, clientFor[T](t, gvk, a))
}

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

// objectType is a type of Kubernetes objects with a client of its own.
type objectType struct {
	typ         reflect.Type
	list, watch func(testing.TB, schema.GroupVersionKind, answers) ([]runtime.Object, error)
	// sharing is watch with equal parts of objects shared.
	sharing func(testing.TB, schema.GroupVersionKind, answers) ([]runtime.Object, error)
}

// of makes the objectType of T, a pointer to a struct. All pointers share the same compiled code.
func of[T runtime.Object]() objectType {
	general := func(all []T, err error) ([]runtime.Object, error) {
		var out []runtime.Object
		for _, one := range all {
			out = append(out, one)
		}
		return out, err
	}
	return objectType{
		typ: reflect.TypeFor[T]().Elem(),
		list: func(t testing.TB, gvk schema.GroupVersionKind, a answers) ([]runtime.Object, error) {
			return general(list[T](t, gvk, a))
		},
		watch: func(t testing.TB, gvk schema.GroupVersionKind, a answers) ([]runtime.Object, error) {
			return general(watch[T](t, gvk, a))
		},
		sharing: func(t testing.TB, gvk schema.GroupVersionKind, a answers) ([]runtime.Object, error) {
			return general(watched(t, clientWith[T](t, gvk, a, client.Options{SharedParts: 4096})))
		},
	}
}

// TestSharedPartsOfEveryType sends random objects of every type several times over. What
// the client makes of them with equal parts shared must be what client-go gets.
func TestSharedPartsOfEveryType(t *testing.T) {
	for _, o := range objectTypes {
		gvk := o.gvk(t)
		for _, e := range encodings {
			name := fmt.Sprintf("%v as %s", gvk, e.name)
			few := randomObjects(t, o, gvk)
			all := slices.Concat(few, few, few, few)
			events := eventsBody(t, gvk, e.mediaType, all)
			want, err := clientGoEvents(gvk, e.mediaType, events)
			if err != nil {
				t.Fatalf("%s: client-go: %v", name, err)
			}
			got, err := o.sharing(t, gvk, answers{watchType(e.mediaType), events})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			requireSameObjects(t, name, got, want)
		}
	}
}

func (o objectType) gvk(t testing.TB) schema.GroupVersionKind {
	t.Helper()
	all, _, err := scheme.Scheme.ObjectKinds(reflect.New(o.typ).Interface().(runtime.Object))
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

func TestObjectTypesAreAll(t *testing.T) {
	here := map[reflect.Type]bool{}
	for _, o := range objectTypes {
		here[o.typ] = true
	}
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
		typ := scheme.Scheme.AllKnownTypes()[gvk]
		if !here[typ] {
			t.Errorf("%v is missing in objectTypes", gvk)
		}
		delete(here, typ)
	}
	for typ := range here {
		t.Errorf("%s.%s in objectTypes has a newer version", typ.PkgPath(), typ.Name())
	}
}

// TestEveryTypeInEveryEncoding sends random objects of every type as lists and as watches. Our
// client must get what client-go gets.
func TestEveryTypeInEveryEncoding(t *testing.T) {
	for _, o := range objectTypes {
		gvk := o.gvk(t)
		for _, e := range encodings {
			objects := randomObjects(t, o, gvk)
			name := fmt.Sprintf("%v as %s", gvk, e.name)
			events := eventsBody(t, gvk, e.mediaType, objects)
			want, err := clientGoEvents(gvk, e.mediaType, events)
			if err != nil {
				t.Fatalf("%s: client-go: %v", name, err)
			}
			got, err := o.watch(t, gvk, answers{watchType(e.mediaType), events})
			if err != nil {
				t.Fatalf("%s: watch: %v", name, err)
			}
			requireSameObjects(t, name+", watched", got, want)

			all := listOf(t, gvk, objects)
			if all == nil {
				continue // the scheme has no list of it
			}
			got, err = o.list(t, gvk, answers{e.mediaType, encode(t, gvk, e.mediaType, all)})
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
		sortRaw(t, reflect.ValueOf(got[i]))
		sortRaw(t, reflect.ValueOf(want[i]))
		requireEqual(t, fmt.Sprintf("%s, object %d", name, i), got[i], want[i])
	}
}

// sortRaw sorts the members of JSON that is kept as it came. Out of CBOR they come in any
// order.
func sortRaw(t testing.TB, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Pointer:
		sortRaw(t, v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			sortRaw(t, v.Index(i))
		}
	case reflect.Struct:
		switch raw := v.Addr().Interface().(type) {
		case *runtime.RawExtension:
			raw.Raw = sortMembers(t, raw.Raw)
			return
		case *metav1.FieldsV1:
			raw.SetRawBytes(sortMembers(t, raw.GetRawBytes()))
			return
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				sortRaw(t, v.Field(i))
			}
		}
	}
}

func sortMembers(t testing.TB, data []byte) []byte {
	t.Helper()
	if len(data) == 0 {
		return data
	}
	var value any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		t.Fatal(err)
	}
	sorted, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return sorted
}
