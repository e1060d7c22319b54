package informer_test

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/longtest"
	"github.com/kinform/kinform/internal/memtest"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/store"
)

// badServer answers each list with the same items, and each watch with a refusal.
type badServer struct {
	items string
	lists int
}

func (s *badServer) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body := http.StatusOK, `{"kind":"WidgetList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"5"},"items":[`+s.items+`]}`
	if r.URL.Query().Get("watch") != "" {
		status, body = http.StatusBadRequest, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"BadRequest","code":400}`
	} else {
		s.lists++
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// Bad objects fill no log: neither many without a name, half a million in the long form, nor many
// with different names.
func TestListOfBadObjects(t *testing.T) {
	items := longtest.N(1<<15, 1<<19)
	if memtest.Race {
		items = 1 << 15 // it would take a minute
	}
	names := max(items/64, 2048) // more than the records that are permitted
	var named strings.Builder
	for i := range names {
		if i > 0 {
			named.WriteByte(',')
		}
		named.WriteString(`{"metadata":{"namespace":"a","name":"`)
		named.WriteString(strings.Repeat("x", i%7))
		named.WriteString(strconv.Itoa(i))
		named.WriteString(`"},"spec":{"size":"no number"}}`)
	}
	for _, c := range []struct {
		name  string
		items string
		bad   uint64 // in each list
		most  int    // records in a minute
	}{
		{"empty", strings.Repeat("{},", items-1) + "{}", uint64(items), 10},
		{"with names", named.String(), uint64(names), 1010},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &badServer{items: c.items}
				widgets := kind.Of[*widget](schema.GroupVersion{Group: "example.com", Version: "v1"}, "widgets")
				source, err := client.New(client.Connection{URL: "http://server", HTTP: &http.Client{Transport: server}}, widgets, client.Options{})
				if err != nil {
					t.Fatal(err)
				}
				var book logbook
				inf, err := informer.New(source, store.ObjectKey[*widget], informer.Options[*widget]{Logger: book.logger(0)})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				if err := inf.Run(ctx); err != nil {
					t.Error(err)
				}
				bad, n := inf.Stats().BadObjects, len(book.records(t))
				if bad < c.bad || n == 0 || n > c.most {
					t.Errorf("%d records for %d bad objects in %d lists, want %d at most", n, bad, server.lists, c.most)
				}
				t.Logf("%d records for %d bad objects in %d lists; the first: %v", n, bad, server.lists, book.records(t)[0])
			})
		})
	}
}
