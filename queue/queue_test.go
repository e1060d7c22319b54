package queue

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// mustGet gets a key that must be there.
func mustGet[K comparable](t testing.TB, q *Queue[K]) Item[K] {
	t.Helper()
	if q.Len() == 0 {
		t.Fatal("nothing is queued")
	}
	it, err := q.Get(context.Background())
	if err != nil {
		t.Fatalf("Get: %v", err)
	}
	return it
}

func TestAddGetDone(t *testing.T) {
	q := New(Options[string]{})
	q.Add("a")
	q.Add("b")
	q.Add("a")
	if n := q.Len(); n != 2 {
		t.Fatalf("Len = %d, want 2", n)
	}
	a := mustGet(t, q)
	q.Add("a")
	q.Add("a")
	b := mustGet(t, q)
	if a.Key != "a" || b.Key != "b" {
		t.Fatalf("got %q and %q, want a and b", a.Key, b.Key)
	}
	if n := q.Len(); n != 0 {
		t.Fatalf("Len = %d while a runs, want 0", n)
	}
	if !a.Done() || a.Done() {
		t.Fatal("the first Done must report true, the second false")
	}
	if it := mustGet(t, q); it.Key != "a" || !q.Done("a") || q.Done("a") {
		t.Fatal("a must come back once after it was added while it ran")
	}
	b.Done()
	q.check(t)
}

func TestDelayIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[string]{})
		start := time.Now()
		q.AddAfter("late", time.Hour)
		q.AddAfter("soon", time.Millisecond)
		q.AddAfter("late", time.Minute)
		for _, want := range []struct {
			key string
			at  time.Duration
		}{{"soon", time.Millisecond}, {"late", time.Minute}} {
			it, err := q.Get(t.Context())
			if err != nil || it.Key != want.key || time.Since(start) != want.at {
				t.Fatalf("got %q, %v after %v, want %q after %v", it.Key, err, time.Since(start), want.key, want.at)
			}
			it.Done()
		}
		q.check(t)
	})
}

func TestGetAfterShutDown(t *testing.T) {
	q := New(Options[string]{})
	q.Add("a")
	q.ShutDown()
	q.Add("b")
	mustGet(t, q).Done()
	if _, err := q.Get(t.Context()); !errors.Is(err, ErrShutDown) {
		t.Fatalf("Get = %v, want ErrShutDown", err)
	}
	q.check(t)
}
