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

var hostileJSON = []hostile{
	{`"`, "x", `"`}, {`"`, `\u00e9`, `"`}, {`"`, `\n`, `"`}, {`{"units":[{}`, ",{}", "]}"}, {`{"units":[null`, ",null", "]}"},
	{`{"units":[{}`, `,{"name":"a"}`, "]}"}, {`[0`, ",0", "]"}, {`[{}`, ",{}", "]"}, {`[[]`, ",[]", "]"}, {`[""`, `,""`, "]"},
	{`[{}`, `,{"a":{"a":{"a":{}}}}`, "]"}, {`[0`, " ", "]"}, {`[1`, "0", "]"}, {`{"selector":{"":""`, `,"a":"b"`, "}}"},
}

var hostileCBOR = []hostile{
	{"\x5f", "\x50xxxxxxxxxxxxxxxx", "\xff"}, {"\x5f", "\x44\x00\x01\"\\", "\xff"}, {"\xd6\x5f", "\x50xxxxxxxxxxxxxxxx", "\xff"}, {"\xbf\x45units\x9f", "\xa0", "\xff\xff"},
	{"\xbf\x45units\x9f", "\xf6", "\xff\xff"}, {"\x9f", "\x00", "\xff"}, {"\x9f", "\x1b\x7f\xff\xff\xff\xff\xff\xff\xff", "\xff"}, {"\x9f", "\x80", "\xff"}, {"\x9f", "\x40", "\xff"},
	{"\x9f", "\xa1\x41a\xa1\x41a\xa0", "\xff"}, {"\x9f", "\xc1\x00", "\xff"}, {"\x9f", "\xf9\x00\x01", "\xff"},
	{"\xbf\x48selector\xbf", "\x41a\x41b", "\xff\xff"}, {"\xbf", "\x41a\x00", "\xff"},
	{"\x9f", "\xa0", "\xff"}, {"\x9f", "\x60", "\xff"}, {"\x9f", "\xf6", "\xff"}, {"\x5f", "\x44\xff\xff<>", "\xff"},
}

// The memory for reading any object is bounded by MaxObjectBytes, for any value of it.
func TestHostileObjects(t *testing.T) {
	if memtest.Race {
		t.Skip("the race detector allocates too")
	}
	const beginJSON = `{"kind":"MachineList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"1"},"items":[` +
		`{"kind":"Machine","apiVersion":"example.com/v1","metadata":{"name":"x","namespace":"ns"},"spec":`
	const beginCBOR = "\xbf\x44kind\x4bMachineList\x4aapiVersion\x4eexample.com/v1\x45items\x9f" +
		"\xbf\x44kind\x47Machine\x4aapiVersion\x4eexample.com/v1\x48metadata\xa1\x44name\x41x\x44spec"
	// The same in what an object keeps as raw JSON.
	const beginManaged = "\xbf\x44kind\x4bMachineList\x4aapiVersion\x4eexample.com/v1\x45items\x9f" +
		"\xbf\x44kind\x47Machine\x4aapiVersion\x4eexample.com/v1\x48metadata\xa2\x44name\x41x\x4dmanagedFields\x9f\xa1\x48fieldsV1\xa1\x41x"
	check := func(limit int64, size int, contentType, begin, end string, shape hostile) {
		opts := client.Options{MaxObjectBytes: limit}
		typed := costs[*machine](t, contentType, begin+shape.begin, shape.piece, shape.end+end, size, opts)
		untyped := costs[*unstructured.Unstructured](t, contentType, begin+shape.begin, shape.piece, shape.end+end, size, opts)
		if limit == 0 {
			limit = client.DefaultMaxObjectBytes
		}
		t.Logf("%s, %d bytes of %.20q: %.1f, %.1f times the limit", contentType, size, shape.piece, float64(typed)/float64(limit), float64(untyped)/float64(limit))
		if max(typed, untyped) > uint64(10*limit+1<<20) {
			t.Errorf("%s, %d bytes of %.20q: %d and %d bytes allocated", contentType, size, shape.piece, typed, untyped)
		}
	}
	limit := longtest.N(64<<10, 512<<10)
	for _, size := range []int{limit - 1000, limit / 7, 4 * limit} {
		for _, shape := range hostileJSON {
			check(int64(limit), size, "application/json", beginJSON, "}]}", shape)
		}
		for _, shape := range hostileCBOR {
			check(int64(limit), size, "application/cbor", beginCBOR, "\xff\xff\xff", shape)
			check(int64(limit), size, "application/cbor", beginManaged, "\xff\xff\xff\xff", shape)
		}
	}
	check(0, 17<<20, "application/json", beginJSON, "}]}", hostileJSON[3])
	check(0, 17<<20, "application/cbor", beginCBOR, "\xff\xff\xff", hostileCBOR[3])
}
