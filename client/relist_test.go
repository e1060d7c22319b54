package client_test

import (
	"bytes"
	"fmt"
	"iter"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/internal/memtest"
	"github.com/kinform/kinform/internal/objid"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
)

// outcome is one pair that a list or watch yields, as far as a test compares it.
type outcome[T any] struct {
	event reflector.Event[T]
	err   string
}

// ending is how a list ends. A watch has the zero value.
type ending struct {
	meta metav1.ListMeta
	err  error
}

// outcomes lists, or watches with initial events.
func outcomes[T any](t testing.TB, source reflector.Source[T], watch bool) (all []outcome[T], end ending) {
	take := func(ev reflector.Event[T], err error) bool {
		if err != nil {
			all = append(all, outcome[T]{err: err.Error()})
			return true
		}
		ev.Idle = false
		all = append(all, outcome[T]{event: ev})
		return true
	}
	if watch {
		initial := true
		for ev, err := range source.Watch(t.Context(), metav1.ListOptions{SendInitialEvents: &initial, AllowWatchBookmarks: true}) {
			take(ev, err)
		}
		return all, ending{}
	}
	end.meta, end.err = source.List(t.Context(), metav1.ListOptions{}, take)
	return all, end
}

// checkRelist compares a relist, of which every second object is known, with a list. It returns the
// number of objects that were not decoded.
func checkRelist[T metav1.Object](t *testing.T, name string, gvr schema.GroupVersionResource, contentType string, body []byte, watch bool) (recalled int) {
	t.Helper()
	conn := transport(func(*http.Request) (*http.Response, error) {
		resp := response(bytes.NewReader(body))
		resp.Header.Set("Content-Type", contentType)
		return resp, nil
	}).connection()
	r, err := client.New(conn, kind.OfResource[T](gvr), client.Options{MaxObjectBytes: 50_000})
	if err != nil {
		t.Fatal(err)
	}
	want, wantEnd := outcomes[T](t, r, watch)
	asked := 0
	var found []reflector.Event[T] // the known objects of events to come
	held := map[objid.Identity]reflector.Event[T]{}
	for _, o := range want {
		if o.err == "" && o.event.Type == reflector.Added {
			id := objid.Identity{UID: o.event.Object.GetUID(), ResourceVersion: o.event.ResourceVersion, Sum: o.event.Sum}
			id.Namespace, id.Name = o.event.Object.GetNamespace(), o.event.Object.GetName()
			held[id] = o.event
		}
	}
	relist := r.Relist(r, func(id objid.Identity) bool {
		obj, ok := held[id]
		if asked++; !ok || asked%2 == 0 {
			return false
		}
		found = append(found, obj)
		return true
	})
	got, gotEnd := outcomes(t, relist, watch)
	for n := range got {
		if ev := &got[n].event; ev.Recalled {
			if len(found) == 0 {
				t.Fatalf("%s: event %d is of a known object, and none was asked about", name, n)
			}
			ev.Recalled, ev.Object, ev.Sum, found = false, found[0].Object, found[0].Sum, found[1:]
			recalled++
		}
	}
	if len(found) > 0 {
		t.Errorf("%s: no events of %d known objects", name, len(found))
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(outcome[T]{})); diff != "" {
		t.Errorf("%s: -list +relist:\n%s", name, diff)
	}
	if diff := cmp.Diff(wantEnd.meta, gotEnd.meta); diff != "" || fmt.Sprint(wantEnd.err) != fmt.Sprint(gotEnd.err) {
		t.Errorf("%s: the list ends with %v, the relist with %v; -list +relist:\n%s", name, wantEnd.err, gotEnd.err, diff)
	}
	return recalled
}

// Real lists and streaming lists, in every encoding, give the same relisted.
func TestRelistOfRecordings(t *testing.T) {
	recalled := map[string]int{}
	for _, rec := range recordings(t, func(rec recording) bool {
		return strings.HasPrefix(rec.File, "list-") || strings.HasPrefix(rec.File, "watchlist-")
	}, ".json", ".pb") {
		contentType, extension := rec.Header.Get("Content-Type"), filepath.Ext(rec.File)
		for _, gvr := range []schema.GroupVersionResource{pods, widgets, {Version: "v1", Resource: "configmaps"}} {
			if !strings.Contains(rec.File, "-"+gvr.Resource) {
				continue
			}
			recalled[extension] += checkRelist[*metav1.PartialObjectMetadata](t, rec.File, gvr, contentType, rec.body, rec.isWatch())
			if extension != ".pb" {
				recalled[extension] += checkRelist[*unstructured.Unstructured](t, rec.File, gvr, contentType, rec.body, rec.isWatch())
			}
		}
	}
	for _, extension := range []string{".json", ".pb"} {
		if recalled[extension] == 0 {
			t.Errorf("no object of %s was known", extension)
		}
	}
}

// Objects that cannot be used, or that only the decoder understands, come as from a list.
func TestRelistOfBadObjects(t *testing.T) {
	const good = `{"metadata":{"name":"%s","namespace":"n","uid":"u-%[1]s","resourceVersion":"7"},"spec":{"size":1}}`
	bad := []string{
		`null`, `[]`, `{}`, `{"metadata":null}`,
		`{"metadata":{"uid":"u","resourceVersion":"7"}}`, // no name
		`{"metadata":{"name":"b","uid":"u"}}`,            // no version
		`{"metadata":{"name":"b","resourceVersion":"7"}}`,
		`{"metadata":{"name":"b","uid":"u","resourceVersion":"7"},"metadata":{"name":"c"}}`,
		`{"metadata":{"name":"b","uid":"u","resourceVersion":"7","uid":"v"}}`,
		`{"metadata":{"name":"b","uid":7,"resourceVersion":"7"}}`,
		`{"metadata":{"name":"b","uid":"u","resourceVersion":"7"},"spec":{"size":"large"}}`,
		`{"spec":{"size":2},"metadata":{"name":"b","uid":"u","resourceVersion":"7"}}`, // last
		`{"kind":"Gadget","metadata":{"name":"b","uid":"u","resourceVersion":"7"}}`,
		`{"apiVersion":"other/v1","metadata":{"name":"b","uid":"u","resourceVersion":"7"}}`,
		`{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"b","uid":"u","resourceVersion":"7"}}`,
		`{"metadata":{"name":"b","uid":"u","resourceVersion":"7"},"spec":{"tag":"` + strings.Repeat("x", 60_000) + `"}}`,
	}
	for _, item := range bad {
		for _, kinds := range []string{`"kind":"WidgetList","apiVersion":"example.com/v1",%s`, `%s,"kind":"WidgetList","apiVersion":"example.com/v1"`} {
			items := fmt.Sprintf(good, "a") + "," + item + "," + fmt.Sprintf(good, "z")
			body := "{" + fmt.Sprintf(kinds, `"metadata":{"resourceVersion":"9"},"items":[`+items+"]") + "}"
			checkRelist[*widget](t, item, widgets, "application/json", []byte(body), false)
			checkRelist[*unstructured.Unstructured](t, item, widgets, "application/json", []byte(body), false)
		}
		var events string
		for _, object := range []string{fmt.Sprintf(good, "a"), item, fmt.Sprintf(good, "z")} {
			events += eventJSON("ADDED", object) + eventJSON("MODIFIED", object)
		}
		checkRelist[*widget](t, item, widgets, "application/json", []byte(events), true)
	}
}

// After the initial events, nothing is asked about.
func TestRelistEndsWithTheInitialEvents(t *testing.T) {
	object := `{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"a","uid":"u","resourceVersion":"7"}}`
	end := `{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"resourceVersion":"7","annotations":{"k8s.io/initial-events-end":"true"}}}`
	body := eventJSON("ADDED", object) + eventJSON("BOOKMARK", end) + eventJSON("ADDED", object)
	conn := transport(func(*http.Request) (*http.Response, error) { return response(strings.NewReader(body)), nil }).connection()
	r, err := client.New(conn, kind.OfResource[*widget](widgets), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	all, _ := outcomes(t, r.Relist(r, func(objid.Identity) bool { return true }), true)
	if len(all) != 3 || !all[0].event.Recalled || all[2].event.Recalled || all[2].event.Object == nil {
		t.Errorf("got %+v", all)
	}
	if got := r.Stats(); got.Recalled != 1 || got.Objects != 1 {
		t.Errorf("counted %+v", got)
	}
}

// A Resource relists for nobody else: a source that contains it may have its own List.
func TestRelistForItselfAlone(t *testing.T) {
	r := podResource[*pod](t, strings.NewReader(""))
	other := reflector.Filter[*pod](r, func(*pod) bool { return true })
	if r.Relist(other, func(objid.Identity) bool { return true }) != nil {
		t.Error("the Resource would be asked instead of the other source")
	}
}

func TestKnownObjectsCostNoAllocation(t *testing.T) {
	if memtest.Race {
		t.Skip("the race detector allocates too")
	}
	const n = 1000
	for _, watch := range []bool{false, true} {
		unknown := 0
		r := podResource[*pod](t, podBody(1<<30, watch))
		relist := r.Relist(r, func(objid.Identity) bool { return true })
		next, stop := iter.Pull(func(yield func(reflector.Event[*pod]) bool) {
			if watch {
				initial := true
				for ev, err := range relist.Watch(t.Context(), metav1.ListOptions{SendInitialEvents: &initial}) {
					if err != nil || !yield(ev) {
						return
					}
				}
				return
			}
			_, _ = relist.List(t.Context(), metav1.ListOptions{}, func(ev reflector.Event[*pod], err error) bool { return err == nil && yield(ev) })
		})
		allocs := memtest.Allocs(1, func() { // the first call, which is not counted, begins the request
			for range n {
				if ev, _ := next(); !ev.Recalled {
					unknown++
				}
			}
		})
		stop()
		if unknown > 0 || allocs > n/10 {
			t.Errorf("watch %t: %v allocations for %d objects, %d unknown", watch, allocs, n, unknown)
		}
	}
}
