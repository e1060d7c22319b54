package client_test

import (
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/internal/longtest"
	"github.com/kinform/kinform/internal/memtest"
	"github.com/kinform/kinform/kind"
)

// costs lists one object, of which piece is repeated up to size bytes, and returns the bytes
// that were allocated for it: no less than were in use at any time.
func costs[T any](t *testing.T, contentType, begin, piece, end string, size int, opts client.Options) uint64 {
	t.Helper()
	conn := transport(func(*http.Request) (*http.Response, error) {
		resp := response(io.MultiReader(strings.NewReader(begin), &pieces{piece: piece, left: size / len(piece)}, strings.NewReader(end)))
		resp.Header.Set("Content-Type", contentType)
		return resp, nil
	}).connection()
	r, err := client.New(conn, kind.OfResource[T](machines), opts)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	got := list(t.Context(), r, metav1.ListOptions{})
	runtime.ReadMemStats(&after)
	if large := new(client.TooLargeError); got.err != nil && !errors.As(got.err, &large) || got.err == nil && len(got.events)+len(got.errs) != 1 {
		t.Fatalf("%d objects, %.200v, %.200v", len(got.events), got.errs, got.err)
	}
	runtime.KeepAlive(got)
	return after.TotalAlloc - before.TotalAlloc
}

// pieces reads as many repetitions of a piece, without memory for them.
type pieces struct {
	piece string
	at    int
	left  int
}

func (r *pieces) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if r.left == 0 {
			return n, io.EOF
		}
		c := copy(p[n:], r.piece[r.at:])
		n += c
		if r.at += c; r.at == len(r.piece) {
			r.at, r.left = 0, r.left-1
		}
	}
	return n, nil
}

// hostile is a shape of the spec of an object: a piece in it comes as often as there is room.
type hostile struct{ begin, piece, end string }

var hostiles = []hostile{
	{`"`, "x", `"`}, {`"`, `\u00e9`, `"`}, {`"`, `\n`, `"`}, {`{"units":[{}`, ",{}", "]}"}, {`{"units":[null`, ",null", "]}"},
	{`{"units":[{}`, `,{"name":"a"}`, "]}"}, {`[0`, ",0", "]"}, {`[{}`, ",{}", "]"}, {`[[]`, ",[]", "]"}, {`[""`, `,""`, "]"},
	{`[{}`, `,{"a":{"a":{"a":{}}}}`, "]"}, {`[0`, " ", "]"}, {`[1`, "0", "]"}, {`{"selector":{"":""`, `,"a":"b"`, "}}"},
}

// The memory for reading any object is bounded by MaxObjectBytes, for any value of it.
func TestHostileObjects(t *testing.T) {
	if memtest.Race {
		t.Skip("the race detector allocates too")
	}
	const begin = `{"kind":"MachineList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"1"},"items":[` +
		`{"kind":"Machine","apiVersion":"example.com/v1","metadata":{"name":"x","namespace":"ns"},"spec":`
	check := func(limit int64, size int, shape hostile) {
		opts := client.Options{MaxObjectBytes: limit}
		typed := costs[*machine](t, "application/json", begin+shape.begin, shape.piece, shape.end+"}]}", size, opts)
		untyped := costs[*unstructured.Unstructured](t, "application/json", begin+shape.begin, shape.piece, shape.end+"}]}", size, opts)
		if limit == 0 {
			limit = client.DefaultMaxObjectBytes
		}
		t.Logf("%d bytes of %.20q: %.1f, %.1f times the limit", size, shape.piece, float64(typed)/float64(limit), float64(untyped)/float64(limit))
		if max(typed, untyped) > uint64(10*limit+1<<20) {
			t.Errorf("%d bytes of %.20q: %d and %d bytes allocated", size, shape.piece, typed, untyped)
		}
	}
	limit := longtest.N(64<<10, 512<<10)
	for _, size := range []int{limit - 1000, limit / 7, 4 * limit} {
		for _, shape := range hostiles {
			check(int64(limit), size, shape)
		}
	}
	check(0, 17<<20, hostiles[3])
}
