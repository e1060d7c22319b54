package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/internal/longtest"
	"github.com/kinform/kinform/internal/memtest"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
)

// collection is one of pods as a server sends it in one encoding. Its bodies are made
// beforehand, so that what grows while they are read is the client's.
type collection struct {
	objects     int
	contentType string
	pages       [][]byte // of peakPage each
	whole       []byte
	stream      []byte // a streaming list
}

const (
	peakPage = 500
	expired  = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}}`
	listEnd  = `{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"9000000","annotations":{"k8s.io/initial-events-end":"true"}}}`
)

// collections are the same pods in every encoding, the last two with metadata only.
func collections(t *testing.T, n int) map[string]*collection {
	t.Helper()
	var texts []string
	var metas []metav1.PartialObjectMetadata
	for i := range n {
		texts = append(texts, string(podJSON(i)))
		var m metav1.PartialObjectMetadata
		if err := json.Unmarshal([]byte(texts[i]), &m); err != nil {
			t.Fatal(err)
		}
		m.Annotations["note"] = strings.Repeat(strconv.Itoa(i), 500)
		metas = append(metas, m)
	}
	text := func(from, to int, next string) []byte {
		return fmt.Appendf(nil, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9000000","continue":%q},"items":[%s]}`,
			next, strings.Join(texts[from:to], ","))
	}
	binary := func(from, to int, next string) []byte {
		return protobufObject(t, "v1", "PodList", &metav1.PartialObjectMetadataList{
			ListMeta: metav1.ListMeta{ResourceVersion: "9000000", Continue: next}, Items: metas[from:to],
		})
	}
	inJSON := &collection{objects: n, contentType: "application/json", whole: text(0, n, "")}
	inProtobuf := &collection{objects: n, contentType: "application/vnd.kubernetes.protobuf", whole: binary(0, n, "")}
	for from := 0; from < n; from += peakPage {
		to, next := min(from+peakPage, n), ""
		if to < n {
			next = strconv.Itoa(to)
		}
		page := text(from, to, next)
		inJSON.pages = append(inJSON.pages, page)
		inProtobuf.pages = append(inProtobuf.pages, binary(from, to, next))
	}
	event := func(typ, object string) {
		inJSON.stream = append(inJSON.stream, eventJSON(typ, object)...)
	}
	for i := range n {
		event("ADDED", texts[i])
		inProtobuf.stream = append(inProtobuf.stream, protobufEvent(t, "ADDED", protobufObject(t, "v1", "Pod", &metas[i]))...)
	}
	event("BOOKMARK", listEnd)
	end := partialWidget("", "9000000")
	end.Namespace, end.Annotations = "", map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	inProtobuf.stream = append(inProtobuf.stream, protobufEvent(t, "BOOKMARK", protobufObject(t, "v1", "Pod", end))...)
	return map[string]*collection{"JSON": inJSON, "protobuf": inProtobuf}
}

// RoundTrip serves the collection. Each watch ends at once because its version expired, after
// what it may begin with.
func (c *collection) RoundTrip(req *http.Request) (*http.Response, error) {
	q := req.URL.Query()
	var resp *http.Response
	switch {
	case q.Get("watch") != "" && q.Get("sendInitialEvents") == "true":
		resp = response(bytes.NewReader(c.stream))
		resp.Header.Set("Content-Type", c.contentType)
	case q.Get("watch") != "":
		resp = response(strings.NewReader(expired))
	case q.Get("limit") != "": // as a server without a cache
		from, _ := strconv.Atoi(q.Get("continue"))
		resp = response(bytes.NewReader(c.pages[from/peakPage]))
		resp.Header.Set("Content-Type", c.contentType)
	default:
		resp = response(bytes.NewReader(c.whole))
		resp.Header.Set("Content-Type", c.contentType)
	}
	return resp, nil
}

// weigher is a sink that holds the objects of the last list, and that looks at the heap as
// it takes the next one.
type weigher[T any] struct {
	current, pending []T
	begun            int64 // bytes, before the first list
	first            int64 // after the first list
	most             int64 // while the second was taken
	lists, every     int
	done             context.CancelFunc
}

func (w *weigher[T]) Listed(_ context.Context, ev reflector.Event[T]) error {
	if w.pending = append(w.pending, ev.Object); w.lists == 1 && len(w.pending)%w.every == 0 {
		w.most = max(w.most, memtest.Heap())
	}
	return nil
}

func (w *weigher[T]) Replace(context.Context, string) error {
	if w.lists++; w.lists == 2 {
		w.most = max(w.most, memtest.Heap())
		w.done()
	}
	w.current, w.pending = w.pending, nil
	if w.lists == 1 {
		w.first = memtest.Heap()
	}
	return nil
}

func (w *weigher[T]) Skipped(*reflector.ObjectError)                  {}
func (w *weigher[T]) Discard()                                        { w.pending = nil }
func (w *weigher[T]) Apply(context.Context, reflector.Event[T]) error { return nil }
func (w *weigher[T]) used() (collection, relist int64)                { return w.first - w.begun, w.most - w.first }

// relisted runs a reflector until it has listed twice.
func relisted[T any](t *testing.T, c *collection, opts reflector.Tuning) *weigher[T] {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := &weigher[T]{every: c.objects/longtest.N(5, 16) + 1, done: cancel}
	conn := client.Connection{URL: "http://test.invalid", HTTP: &http.Client{Transport: c}}
	r, err := client.New(conn, kind.OfResource[T](pods).Named("Pod"), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	opts.Backoff = reflector.Backoff{Initial: time.Millisecond, Max: time.Millisecond}
	ref, err := reflector.New[T](r, w, reflector.Options{Tuning: opts, OnError: func(error) {}})
	if err != nil {
		t.Fatal(err)
	}
	w.begun = memtest.Heap()
	if err := ref.Run(ctx); err != nil || w.lists != 2 || len(w.current) != c.objects {
		t.Fatalf("%d lists, the last of %d: %v", w.lists, len(w.current), err)
	}
	// The reflector holds the newest object of the list. A timer that was stopped holds the
	// reflector until the clock moves.
	time.Sleep(time.Hour)
	return w
}

// peak checks what a relist takes, and what is left of one when all but one of its objects
// are let go.
func peak[E any](t *testing.T, c *collection, opts reflector.Tuning) {
	t.Helper()
	over := memtest.Least(0, func() (over int64) {
		synctest.Test(t, func(t *testing.T) { over = excess[E](t, c, opts) })
		return over
	})
	if !memtest.Race && over > 0 {
		t.Errorf("a relist of %d objects takes %d bytes too many", c.objects, over)
	}
}

// excess returns how many bytes a relist takes beyond its limit, or one object of it that is kept.
// The larger one counts.
func excess[E any](t *testing.T, c *collection, opts reflector.Tuning) int64 {
	w := relisted[*E](t, c, opts)
	one, more := w.used()
	t.Logf("the objects take %d bytes, a relist %.3f times that", one, float64(more)/float64(one))
	kept := w.current[c.objects/2]
	others := make([]weak.Pointer[E], 0, c.objects)
	for _, o := range w.current {
		if o != kept {
			others = append(others, weak.Make(o))
		}
	}
	w.current = nil
	left := memtest.Heap()
	for _, o := range others {
		if o.Value() != nil {
			t.Fatal("an object that is kept keeps another one")
		}
	}
	t.Logf("one object keeps %d bytes", left-w.begun)
	runtime.KeepAlive(kept)
	return max(more-one-one/10, left-w.begun-128<<10)
}

// A relist takes as much memory as the new objects have, and a tenth more at most: neither
// a body nor a page is held, and nothing of one is left in an object. The short form has each way,
// each encoding and each type once.
func TestPeakOfRelist(t *testing.T) {
	n := 800 // two pages
	if memtest.Race {
		n = 100
	}
	all := collections(t, n)
	for _, way := range []struct {
		name, short string // the short form's encoding and type
		opts        reflector.Tuning
	}{
		{"stream", "protobuf metadata", reflector.Tuning{}},
		{"whole", "JSON unstructured", reflector.Tuning{DisableWatchList: true, PageSize: -1}},
		{"pages", "JSON typed", reflector.Tuning{DisableWatchList: true, PageSize: peakPage}},
	} {
		for encoding, c := range all {
			for typ, test := range map[string]func(*testing.T, *collection, reflector.Tuning){
				"metadata": peak[metav1.PartialObjectMetadata], "unstructured": peak[unstructured.Unstructured], "typed": peak[pod],
			} {
				if encoding == "protobuf" && typ != "metadata" {
					continue // these types do not have this encoding
				}
				if name := encoding + " " + typ; longtest.On() || name == way.short {
					t.Run(way.name+" "+name, func(t *testing.T) { test(t, c, way.opts) })
				}
			}
		}
	}
}
