package client_test

import (
	"context"
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
	"github.com/kinform/kinform/internal/objid"
	"github.com/kinform/kinform/reflector"
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

// forCache returns the client that a reflector reads from.
func forCache[T any](r *client.Resource[T]) *client.Resource[T] {
	return r.Relist(r, nil).(*client.Resource[T])
}

// sharing lists a body without and with shared parts. What is decoded is the same.
func sharing[T any](t *testing.T, contentType string, body []byte) (*client.Resource[T], []T) {
	t.Helper()
	plain := newNamed[T](t, bodiesOf(contentType, body), "Widget", client.Options{})
	r := client.Interned(newNamed[T](t, bodiesOf(contentType, body), "Widget", client.Options{ShareJSON: true}), 0)
	shared := forCache(client.Decoders(r, 1))
	want, got := list(t.Context(), plain, metav1.ListOptions{}), list(t.Context(), shared, metav1.ListOptions{})
	if d := cmp.Diff(want.events, got.events); d != "" || got.err != nil || len(got.events) != many {
		t.Fatal(got.err, len(got.events), d)
	}
	return shared, objects(got)
}

func objects[T any](of collected[T]) (all []T) {
	for _, ev := range of.events {
		all = append(all, ev.Object)
	}
	return all
}

func address(v any) uintptr { return reflect.ValueOf(v).Pointer() }

// many is a number of objects after which equal parts are shared.
const many = 60

// requireShared checks that the last objects share what part returns with the one of the same owner before them.
// A part whose place in the table another one takes is not shared, which depends on addresses: so most must.
func requireShared[T any](t *testing.T, of []T, part func(T) any) {
	t.Helper()
	shared := 0
	for i := many / 2; i < many; i++ {
		if address(part(of[i])) == address(part(of[i-3])) {
			shared++
		}
	}
	if shared < many/6 {
		t.Errorf("%d of %d parts of %T are shared", shared, many/2, of[0])
	}
}

// Equal parts of objects are one in every encoding, for every kind of T, and nothing else
// changes. A list goes on with the parts of the one before it.
func TestSharedParts(t *testing.T) {
	text := listJSON(replicas(many)...)
	var items []metav1.PartialObjectMetadata
	for i := range many {
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
			requireShared(t, all, func(m *metav1.PartialObjectMetadata) any { return m.Labels })
			requireShared(t, all, func(m *metav1.PartialObjectMetadata) any { return m.OwnerReferences })
			again, known := objects(list(t.Context(), r, metav1.ListOptions{})), 0
			for i, m := range again {
				if i > 0 && address(m.Labels) == address(again[i-1].Labels) {
					t.Errorf("objects %d and %d share different labels", i, i-1)
				}
				if address(m.Labels) == address(all[many-3+i%3].Labels) {
					known++
				}
			}
			if known < many/3 {
				t.Errorf("%d of %d objects of the next list have known labels", known, many)
			}
			if contentType == "application/vnd.kubernetes.protobuf" {
				return
			}
			_, widgets := sharing[*widget](t, contentType, body)
			requireShared(t, widgets, func(w *widget) any { return w.Labels })
			_, plain := sharing[widget](t, contentType, body)
			requireShared(t, plain, func(w widget) any { return w.Labels })
			_, untyped := sharing[*unstructured.Unstructured](t, contentType, body)
			requireShared(t, untyped, func(u *unstructured.Unstructured) any { return u.Object["spec"] })
			if address(untyped[40].Object) == address(untyped[43].Object) {
				t.Error("unstructured objects are one")
			}
		})
	}
}

// Objects share nothing in JSON without the option, and nothing in the lists of anybody but a reflector.
func TestListSharesNothing(t *testing.T) {
	body := listJSON(replicas(many)...)
	for _, r := range []*client.Resource[*widget]{
		newResource[*widget](t, bodies(body), client.Options{ShareJSON: true}),
		forCache(newResource[*widget](t, bodies(body), client.Options{})),
	} {
		for i, w := range objects(list(t.Context(), r, metav1.ListOptions{})) {
			w.Labels["index"] = fmt.Sprint(i)
			w.OwnerReferences[0].Name = fmt.Sprint(i)
			defer func() {
				if w.Labels["index"] != fmt.Sprint(i) || w.OwnerReferences[0].Name != fmt.Sprint(i) {
					t.Errorf("object %d has parts of another one", i)
				}
			}()
		}
	}
}

// A reflector that reads through Map shares nothing, because the function may write to its argument. One that reads
// through Filter does.
func TestMapSharesNothing(t *testing.T) {
	type source = reflector.Source[*widget]
	relist := func(of source) source {
		return of.(interface {
			Relist(source, func(objid.Identity) bool) source
		}).Relist(of, nil)
	}
	r := source(newResource[*widget](t, bodies(listJSON()), client.Options{}))
	if relist(reflector.Map(r, func(w *widget) (*widget, error) { return w, nil })) != nil {
		t.Error("the objects of Map share parts")
	}
	if relist(reflector.Filter(r, func(*widget) bool { return true })) == nil {
		t.Error("the objects of Filter share nothing")
	}
}

// pile is a sink of one's own, which may write to what it has got.
type pile struct {
	objects []*widget
	end     context.CancelFunc
}

func (p *pile) Listed(_ context.Context, ev reflector.Event[*widget]) error {
	p.objects = append(p.objects, ev.Object)
	return nil
}
func (p *pile) Replace(context.Context, string) error               { p.end(); return nil }
func (*pile) Apply(context.Context, reflector.Event[*widget]) error { return nil }
func (*pile) Skipped(*reflector.ObjectError)                        {}
func (*pile) Discard()                                              {}

// Objects share parts only if nobody writes to them.
func TestReadOnlyShares(t *testing.T) {
	whole := strings.Replace(listJSON(replicas(many)...), `"12","continue":"tok","remainingItemCount":7`, `"100"`, 1)
	for _, reads := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		to := &pile{end: cancel}
		source := client.Decoders(newResource[*widget](t, bodies(whole), client.Options{ShareJSON: true}), 1)
		r, err := reflector.New(source, to, reflector.Options{ReadOnly: reads, Tuning: reflector.Tuning{DisableWatchList: true}})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Run(ctx); err != nil {
			t.Error(err)
		}
		shared := 0
		for n := 3; n < len(to.objects); n++ {
			if address(to.objects[n].Labels) == address(to.objects[n-3].Labels) {
				shared++
			}
		}
		if len(to.objects) != many || shared > 0 != reads {
			t.Errorf("read-only %t: %d of %d objects have the labels of another one", reads, shared, len(to.objects))
		}
	}
}

// What Get returns may be changed for an update.
func TestGetSharesNothing(t *testing.T) {
	conn := bodies(`{"apiVersion":"example.com/v1","kind":"Widget",` + replicas(1)[0][1:])
	r := newResource[*widget](t, conn, client.Options{})
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
	r := forCache(newResource[*widget](t, bodies(events.String()), client.Options{ShareJSON: true}))
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
