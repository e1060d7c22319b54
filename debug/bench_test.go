package debug_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/debug"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/store"
)

// What a reconcile costs without and with its record.
func BenchmarkReconcile(b *testing.B) {
	for _, reconciles := range []int{0, 256} {
		b.Run(fmt.Sprintf("record=%d", reconciles), func(b *testing.B) {
			page := debug.New(debug.Options{Reconciles: reconciles})
			c := controller.New(controller.Options[key]{})
			f, err := debug.AddController(page, "c", c, func(context.Context, key) error { return nil })
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				_ = f(b.Context(), key{Namespace: "a", Name: "b"})
			}
		})
	}
}

// crowd returns a page of informers that never started, and of one queue with keys.
func crowd(tb testing.TB, informers, keys int) *debug.Page {
	page := debug.New(debug.Options{})
	server := newProgram(tb, debug.Options{}).server
	for i := range informers {
		source, err := fake.NewSource[*Secret](server, fake.Selection{})
		if err != nil {
			tb.Fatal(err)
		}
		inf, err := informer.New(source, store.ObjectKey[*Secret], informer.Options[*Secret]{})
		if err != nil {
			tb.Fatal(err)
		}
		if err := debug.AddInformer(page, fmt.Sprint("informer ", i), inf, nil); err != nil {
			tb.Fatal(err)
		}
	}
	q := queue.New(queue.Options[string]{})
	for i := range keys {
		q.Add(fmt.Sprint("key ", i))
	}
	if err := debug.AddQueue(page, "q", q); err != nil {
		tb.Fatal(err)
	}
	return page
}

// What the story of a key costs among many others.
func BenchmarkStory(b *testing.B) {
	page := crowd(b, 1000, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		page.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/story.json?key=x", nil))
	}
}

// A thousand informers and ten thousand keys make one State, of which the lists are short.
func TestCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page := crowd(t, 1000, 10_000)
		if n := get(page, "/queues.json").Body.Len(); n > 4000 {
			t.Errorf("a queue of 10,000 keys is %d bytes", n)
		}
		if n := get(page, "/informers.json").Body.Len(); n > 1<<20 {
			t.Errorf("1,000 informers are %d bytes", n)
		}
	})
}
