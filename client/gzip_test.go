package client_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/internal/memtest"
	"github.com/kinform/kinform/kind"
)

// zipped serves what write writes, compressed once.
func zipped(t testing.TB, status int, contentType string, write func(io.Writer)) client.Connection {
	t.Helper()
	var body bytes.Buffer
	z := gzip.NewWriter(&body)
	write(z)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return serve(t, func(w http.ResponseWriter, req *http.Request) {
		asked, object := req.Header.Get("Accept-Encoding"), strings.HasSuffix(req.URL.Path, "/x")
		if req.URL.Query().Get("watch") == "" && strings.Contains(asked, "gzip") == object {
			t.Errorf("%s asks for %q", req.URL.Path, asked)
		}
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = w.Write(body.Bytes())
	})
}

// Compressed answers are read in every encoding.
func TestGzipInEveryEncoding(t *testing.T) {
	for _, rec := range recordings(t, func(rec recording) bool {
		return strings.HasPrefix(rec.File, "list-configmaps.") || strings.HasPrefix(rec.File, "watchlist-configmaps.")
	}, ".json", ".pb") {
		plain := read[*metav1.PartialObjectMetadata](t, rec)
		r, err := client.New(zipped(t, http.StatusOK, rec.Header.Get("Content-Type"), func(w io.Writer) { _, _ = w.Write(rec.body) }), kind.OfResource[*metav1.PartialObjectMetadata](pods), client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		reads := list[*metav1.PartialObjectMetadata]
		if rec.isWatch() {
			reads = watch[*metav1.PartialObjectMetadata]
		}
		got := reads(t.Context(), r, metav1.ListOptions{})
		if got.err != nil || len(got.events) == 0 || len(got.events) != len(plain.events) || r.Stats().Bytes != int64(len(rec.body)) {
			t.Error(rec.File, got.err, len(got.events), len(plain.events), r.Stats().Bytes)
		}
	}
}

// A small answer that becomes a large one is held to the limit of its decoded bytes.
func TestGzipBomb(t *testing.T) {
	const limit = 1 << 20
	size := 16 << 20
	if memtest.Race {
		size = 6 << 20 // all takes ten times as long
	}
	repeat := func(w io.Writer, text string) {
		piece := []byte(strings.Repeat(text, 1<<16/len(text)))
		for n := 0; n < size; n += len(piece) {
			_, _ = w.Write(piece)
		}
	}
	const start, end = `{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"x","namespace":"ns"},"spec":`, `}`
	inString := func(w io.Writer) {
		_, _ = io.WriteString(w, start+`"`)
		repeat(w, "a")
		_, _ = io.WriteString(w, `"`+end)
	}
	inArray := func(w io.Writer) {
		_, _ = io.WriteString(w, start+`[0`)
		repeat(w, ",1")
		_, _ = io.WriteString(w, `]`+end)
	}
	inSpace := func(w io.Writer) { _, _ = io.WriteString(w, start); repeat(w, " "); _, _ = io.WriteString(w, `1`+end) }
	around := func(before string, object func(io.Writer), after string) func(io.Writer) {
		return func(w io.Writer) { _, _ = io.WriteString(w, before); object(w); _, _ = io.WriteString(w, after) }
	}
	asList := func(object func(io.Writer)) func(io.Writer) {
		before, after, _ := strings.Cut(listJSON("@"), "@")
		return around(before, object, after)
	}
	asEvent := func(object func(io.Writer)) func(io.Writer) {
		return around(`{"type":"DELETED","object":`, object, "}\n")
	}
	frames := func(w io.Writer) { // a frame and its object that claim as much as comes
		_, _ = w.Write([]byte{byte(size >> 24), byte(size >> 16 & 255), 0, 0, 0x0a, 7})
		_, _ = io.WriteString(w, "DELETED")
		repeat(w, "\x00")
	}
	lists := func(r *client.Resource[*widget]) (keys []string, err error) {
		got := list(t.Context(), r, metav1.ListOptions{})
		for _, e := range got.errs {
			keys, err = append(keys, e.Key), e
		}
		return keys, errors.Join(err, got.err)
	}
	watches := func(r *client.Resource[*widget]) (keys []string, err error) {
		got := watch(t.Context(), r, metav1.ListOptions{})
		for _, e := range got.errs {
			keys, err = append(keys, e.Type.String()+" "+e.Key), e
		}
		return keys, errors.Join(err, got.err)
	}
	gets := func(r *client.Resource[*widget]) ([]string, error) {
		_, err := r.Get(t.Context(), types.NamespacedName{Name: "x"}, metav1.GetOptions{})
		return nil, err
	}
	const json, protobuf = "application/json", "application/vnd.kubernetes.protobuf;stream=watch"
	for name, test := range map[string]struct {
		contentType string
		write       func(io.Writer)
		call        func(*client.Resource[*widget]) ([]string, error)
		keys        string
	}{
		"a list's string":  {json, asList(inString), lists, "[ns/x]"},
		"a list's array":   {json, asList(inArray), lists, "[ns/x]"},
		"a list's space":   {json, asList(inSpace), lists, "[ns/x]"},
		"an event":         {json, asEvent(inString), watches, "[DELETED ns/x]"},
		"an event's array": {json, asEvent(inArray), watches, "[DELETED ns/x]"},
		"a frame":          {protobuf, frames, watches, "[DELETED ]"},
		"an object":        {json, inString, gets, "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			conn := zipped(t, http.StatusOK, test.contentType, test.write)
			var keys []string
			var err error
			defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection may empty encoding/json's pool of buffers
			used := memtest.Bytes(12*limit, func() { keys, err = test.call(newResource[*widget](t, conn, client.Options{MaxObjectBytes: limit})) })
			var large *client.TooLargeError
			if !errors.As(err, &large) || large.Limit != limit || fmt.Sprint(keys) != test.keys {
				t.Error(keys, err)
			}
			if used > 12*limit && !memtest.Race { // its pools forget buffers
				t.Errorf("%d bytes allocated for a limit of %d", used, limit)
			}
		})
	}
	conn := zipped(t, http.StatusForbidden, json, inString)
	if _, err := gets(newResource[*widget](t, conn, client.Options{})); err == nil || len(err.Error()) > 10_000 {
		t.Error("a refusal of any size")
	}
}
