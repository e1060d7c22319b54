package client_test

import (
	"bytes"
	"io"
	"net/http"
	"runtime"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/internal/memtest"
	"github.com/kinform/kinform/internal/objid"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
)

// repeated is a body of the same pods, repeated until n of them are read, that exists
// nowhere as a whole.
type repeated struct {
	start, end []byte
	objects    [][]byte
	n          int

	part []byte
	sent int
	done bool
}

func (r *repeated) Read(p []byte) (int, error) {
	for len(r.part) == 0 {
		switch {
		case r.sent == 0 && r.start != nil:
			r.part, r.start = r.start, nil
		case r.sent < r.n:
			r.part = r.objects[r.sent%len(r.objects)]
			if r.sent++; r.sent == r.n {
				r.part = bytes.TrimSuffix(r.part, []byte(","))
			}
		case !r.done:
			r.part, r.done = r.end, true
		default:
			return 0, io.EOF
		}
	}
	n := copy(p, r.part)
	r.part = r.part[n:]
	return n, nil
}

// podBody is a list of n pods, or a watch that sends n.
func podBody(n int, watch bool) *repeated {
	r := &repeated{n: n}
	for i := range 64 {
		text := podJSON(i)
		if watch {
			text = []byte(eventJSON("ADDED", string(text)))
		} else {
			text = append([]byte("{"), text[len(`{"kind":"Pod","apiVersion":"v1",`):]...)
			text = append(text, ',')
		}
		r.objects = append(r.objects, text)
	}
	if !watch {
		r.start, r.end = []byte(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[`), []byte("]}\n")
	}
	return r
}

func podResource[T any](t testing.TB, body io.Reader) *client.Resource[T] {
	return podResourceBy[T](t, body, client.Options{})
}

func podResourceBy[T any](t testing.TB, body io.Reader, opts client.Options) *client.Resource[T] {
	conn := transport(func(*http.Request) (*http.Response, error) { return response(body), nil }).connection()
	r, err := client.New(conn, kind.OfResource[T](pods), opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// One op is one pod.
func benchmarkList[T any](b *testing.B) {
	b.SetBytes(int64(len(podJSON(0))))
	b.ReportAllocs()
	r := podResource[T](b, podBody(b.N, false))
	b.ResetTimer()
	n := 0
	_, err := r.List(b.Context(), metav1.ListOptions{}, func(_ reflector.Event[T], err error) bool {
		if err == nil {
			n++
		}
		return err == nil
	})
	if err != nil || n != b.N {
		b.Fatal(n, err)
	}
}

func benchmarkWatch[T any](b *testing.B) {
	b.SetBytes(int64(len(podJSON(0))))
	b.ReportAllocs()
	r := podResource[T](b, podBody(b.N, true))
	b.ResetTimer()
	n := 0
	for _, err := range r.Watch(b.Context(), metav1.ListOptions{}) {
		if err != nil {
			b.Fatal(err)
		}
		n++
	}
	if n != b.N {
		b.Fatal(n)
	}
}

func BenchmarkListTyped(b *testing.B)         { benchmarkList[*pod](b) }
func BenchmarkListPlain(b *testing.B)         { benchmarkList[*plain](b) }
func BenchmarkListPartial(b *testing.B)       { benchmarkList[*metav1.PartialObjectMetadata](b) }
func BenchmarkListUnstructured(b *testing.B)  { benchmarkList[*unstructured.Unstructured](b) }
func BenchmarkWatchTyped(b *testing.B)        { benchmarkWatch[*pod](b) }
func BenchmarkWatchUnstructured(b *testing.B) { benchmarkWatch[*unstructured.Unstructured](b) }

// A list whose objects are not kept needs no more memory if it is longer. Keeping its objects
// keeps nothing else of it.
func TestListHoldsNoBody(t *testing.T) {
	n := 4000 // 20 MB of JSON
	if memtest.Race {
		n = 800 // all takes ten times as long; enough to notice a body that is held
	}
	const limit = 1 << 20
	grown := memtest.Least(limit, func() int64 {
		r := client.Decoders(podResourceBy[*pod](t, podBody(n, false), client.Options{}), 2) // each may be busy with some objects
		before, most, count := memtest.Heap(), int64(0), 0
		_, err := r.List(t.Context(), metav1.ListOptions{}, func(_ reflector.Event[*pod], err error) bool {
			if err != nil {
				t.Fatal(err)
			}
			if count++; count%(n/8) == 0 {
				most = max(most, memtest.Heap())
			}
			return true
		})
		if err != nil || count != n {
			t.Fatal(count, err)
		}
		return most - before
	})
	if grown > limit {
		t.Errorf("the heap grew by %d bytes", grown)
	}

	// One string of each object is kept, and nothing else is.
	used := memtest.Least(int64(n)*64+limit, func() int64 {
		names := make([]string, 0, n)
		before := memtest.Heap()
		r := client.Decoders(podResourceBy[*pod](t, podBody(n, false), client.Options{}), 2) // each may be busy with some objects
		_, err := r.List(t.Context(), metav1.ListOptions{}, func(ev reflector.Event[*pod], _ error) bool {
			names = append(names, ev.Object.Name)
			return true
		})
		if err != nil || len(names) != n {
			t.Fatal(len(names), err)
		}
		after := memtest.Heap()
		runtime.KeepAlive(names)
		return after - before
	})
	if used > int64(n)*64+limit {
		t.Errorf("%d names pin %d bytes", n, used)
	}
}

// benchmarkRelist is benchmarkList for objects that are all known.
func benchmarkRelist[T any](b *testing.B) {
	b.SetBytes(int64(len(podJSON(0))))
	b.ReportAllocs()
	r := podResource[T](b, podBody(b.N, false))
	relist := r.Relist(r, func(objid.Identity) bool { return true })
	b.ResetTimer()
	n := 0
	_, err := relist.List(b.Context(), metav1.ListOptions{}, func(ev reflector.Event[T], err error) bool {
		if ev.Recalled {
			n++
		}
		return err == nil
	})
	if err != nil || n != b.N {
		b.Fatal(n, err)
	}
}

func BenchmarkRelistTyped(b *testing.B)        { benchmarkRelist[*pod](b) }
func BenchmarkRelistUnstructured(b *testing.B) { benchmarkRelist[*unstructured.Unstructured](b) }
