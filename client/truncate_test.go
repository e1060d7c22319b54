package client_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinform/kinform/client"
)

// truncations lists or watches body cut off at every step-th byte, and checks that what is
// yielded is always the beginning of what the whole body yields, and that a cut is an
// error unless it is behind a whole event, or behind the list.
func truncations[T any](t *testing.T, body string, step int, read func(body string) collected[T]) {
	t.Helper()
	whole := read(body)
	if whole.err != nil || len(whole.events) == 0 {
		t.Fatal("whole body:", whole.err, whole.events)
	}
	watching := strings.HasPrefix(body, `{"type"`)
	for n := 0; n < len(body); n += step {
		got := read(body[:n])
		if len(got.events) > len(whole.events) || len(got.errs) > len(whole.errs) {
			t.Fatalf("cut at %d: more events than in the whole", n)
		}
		if d := len(got.events); d > 0 && !cmp.Equal(got.events[d-1], whole.events[d-1]) {
			t.Fatalf("cut at %d: %s", n, cmp.Diff(whole.events[d-1], got.events[d-1]))
		}
		between := watching && (n == 0 || strings.HasSuffix(body[:n], "}\n") || body[n] == '\n')
		if behind := strings.TrimSpace(body[n:]) == ""; (got.err == nil) != (between || behind) {
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
			truncateAs[plain](t, body)
			truncateAs[*unstructured.Unstructured](t, body)
			truncateAs[*metav1.PartialObjectMetadata](t, body)
		})
	}
}

func truncateAs[T any](t *testing.T, body string) {
	t.Helper()
	truncations(t, body, 1, func(body string) collected[T] {
		r := newResource[T](t, bodies(body), client.Options{Kind: "Widget"})
		if strings.HasPrefix(body, `{"type"`) || body == "" && name(t) == "watch" {
			return watch(t.Context(), r, metav1.ListOptions{})
		}
		return list(t.Context(), r, metav1.ListOptions{})
	})
}

// name is the last part of a test's name.
func name(t *testing.T) string { return t.Name()[strings.LastIndexByte(t.Name(), '/')+1:] }

func TestTruncatedRecordings(t *testing.T) {
	step := 1
	if testing.Short() || raceEnabled {
		step = 17
	}
	for _, rec := range recordings(t, func(rec recording) bool {
		return rec.isList() || rec.isWatch() && !strings.Contains(rec.File, "expired")
	}) {
		t.Run(rec.File, func(t *testing.T) {
			r := recordedResource[*metav1.PartialObjectMetadata](t, rec, nil)
			if len(bytes.TrimSpace(rec.body)) == 0 || strings.Contains(rec.File, "list-configmaps-empty") {
				t.Skip("nothing to yield")
			}
			truncations(t, string(rec.body), step, func(body string) collected[*metav1.PartialObjectMetadata] {
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
