package client_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/internal/longtest"
	"github.com/kinform/kinform/internal/memtest"
)

// truncations lists or watches body cut off at every step-th byte, and checks that what is
// yielded is always the beginning of what the whole body yields, and that a cut is an
// error unless it is at an offset in whole: behind an event, or behind the list.
func truncations[T any](t *testing.T, body string, step int, whole map[int]bool, read func(body string) collected[T]) {
	t.Helper()
	all := read(body)
	if all.err != nil || len(all.events) == 0 {
		t.Fatal("whole body:", all.err, all.events)
	}
	for n := 0; n < len(body); n += step {
		got := read(body[:n])
		if len(got.events) > len(all.events) || len(got.errs) > len(all.errs) {
			t.Fatalf("cut at %d: more events than in the whole", n)
		}
		if d := len(got.events); d > 0 && !cmp.Equal(got.events[d-1], all.events[d-1]) {
			t.Fatalf("cut at %d: %s", n, cmp.Diff(all.events[d-1], got.events[d-1]))
		}
		if (got.err == nil) != whole[n] {
			t.Fatalf("cut at %d, behind %q: %v", n, body[max(0, n-20):n], got.err)
		}
	}
}

func TestTruncatedAnywhere(t *testing.T) {
	object := `{"metadata":{"name":"a\u00e9\"}","namespace":"ns","resourceVersion":"1"},"spec":{"size":-12,"options":{"a":[1.5e3,true,false,null,{}],"b":"\\"}}}`
	bad := `{"metadata":{"name":"bad"},"spec":{"size":"x"}}`
	lists := map[string]string{
		"list": listJSON(object, bad, object, "null"),
		"kind last": `{ "items" : [` + object + ` , ` + bad + `,` + object + `] , "metadata" : {"resourceVersion":"1"},"apiVersion":"example.com/v1","kind":"WidgetList"}` +
			" \n",
		"watch": eventJSON("ADDED", full(object)) + eventJSON("MODIFIED", full(bad)) + eventJSON("BOOKMARK", initialJSON) + eventJSON("DELETED", full(object)),
	}
	for name, body := range lists {
		t.Run(name, func(t *testing.T) {
			truncateAs[*widget](t, body)
			truncateAs[*plain](t, body)
			truncateAs[*unstructured.Unstructured](t, body)
			truncateAs[*metav1.PartialObjectMetadata](t, body)
		})
	}
}

func truncateAs[T any](t *testing.T, body string) {
	t.Helper()
	truncations(t, body, 1, recording{File: ".json", body: []byte(body)}.whole(), func(body string) collected[T] {
		r := newNamed[T](t, bodies(body), "Widget", client.Options{})
		if strings.HasPrefix(body, `{"type"`) || body == "" && name(t) == "watch" {
			return watch(t.Context(), r, metav1.ListOptions{})
		}
		return list(t.Context(), r, metav1.ListOptions{})
	})
}

// name is the last part of a test's name.
func name(t *testing.T) string { return t.Name()[strings.LastIndexByte(t.Name(), '/')+1:] }

// TestTruncatedRecordings cuts each recording at every byte in the long form, and else at some
// hundred.
func TestTruncatedRecordings(t *testing.T) {
	for _, rec := range recordings(t, func(rec recording) bool {
		return rec.isList() || rec.isWatch() && !strings.Contains(rec.File, "expired")
	}, ".json", ".pb") {
		t.Run(rec.File, func(t *testing.T) {
			r := recordedResource[*metav1.PartialObjectMetadata](t, rec, nil)
			if len(bytes.TrimSpace(rec.body)) == 0 || strings.Contains(rec.File, "list-configmaps-empty") {
				t.Skip("nothing to yield")
			}
			cuts := 100
			if testing.Short() || memtest.Race {
				cuts = 50
			}
			step := longtest.N(len(rec.body)/cuts|1, 1) // odd: what repeats is not cut at the same place each time
			truncations(t, string(rec.body), step, rec.whole(), func(body string) collected[*metav1.PartialObjectMetadata] {
				r = recordedResource[*metav1.PartialObjectMetadata](t, rec, []byte(body))
				if rec.isWatch() {
					return watch(t.Context(), r, metav1.ListOptions{})
				}
				return list(t.Context(), r, metav1.ListOptions{})
			})
		})
	}
}

// However the bytes are cut into reads, the result is the same.
func TestReadsOfAnySize(t *testing.T) {
	body := listJSON(widgetJSON("a", 1, 1), widgetJSON(strings.Repeat("b", 10_000), 2, 2), widgetJSON("c", 3, 3))
	want := list(t.Context(), newResource[*widget](t, bodies(body), client.Options{}), metav1.ListOptions{})
	for _, size := range []int{1, 2, 3, 7, 64, 1000, 4096} {
		conn := transport(func(*http.Request) (*http.Response, error) {
			return response(&chunks{text: body, size: size}), nil
		}).connection()
		got := list(t.Context(), newResource[*widget](t, conn, client.Options{}), metav1.ListOptions{})
		if d := cmp.Diff(want.events, got.events); d != "" || got.err != nil || len(got.events) != 3 {
			t.Error(size, got.err, d)
		}
	}
}

// chunks reads a few bytes at a time, and the end together with the last of them.
type chunks struct {
	text string
	size int
}

func (c *chunks) Read(p []byte) (int, error) {
	n := copy(p, c.text[:min(c.size, len(c.text))])
	c.text = c.text[n:]
	if c.text == "" {
		return n, io.EOF
	}
	return n, nil
}

// whole is where the body can end without anything missing that matters.
func (rec recording) whole() map[int]bool {
	offsets := map[int]bool{}
	body := rec.body
	watching := rec.isWatch() || bytes.HasPrefix(body, []byte(`{"type"`))
	switch ext := filepath.Ext(rec.File); {
	case ext == ".json" && watching:
		offsets[0] = true
		for n := range body {
			if body[n] == '\n' {
				offsets[n], offsets[n+1] = true, true
			}
		}
	case ext == ".json":
		for n := len(bytes.TrimSpace(body)); n <= len(body); n++ {
			offsets[n] = true
		}
	case ext == ".pb" && watching:
		for n := 0; n < len(body); n += 4 + int(binary.BigEndian.Uint32(body[n:])) {
			offsets[n] = true
		}
	case ext == ".pb":
		offsets[len(body)-4], offsets[len(body)-2] = true, true // before empty fields of the envelope
	case watching:
		for n := range body {
			if event, ok := bytes.CutPrefix(body[n:], []byte("\xd9\xd9\xf7\xa2")); ok { // the tag, and a map of two
				offsets[n] = bytes.HasPrefix(event, []byte("\x44type")) || bytes.HasPrefix(event, []byte("\x46object"))
			}
		}
	}
	return offsets
}
