package queue

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/internal/note"
)

// TestRunNotes checks what the calls of Run know about their hand-out: what was added before it, what was added while
// the key ran, and the queue's own adds after each result. What a call has not served comes back.
func TestRunNotes(t *testing.T) {
	const first, second = note.Event + 1, note.Event + 2
	for _, c := range []struct {
		name   string
		result func() error
		adds   bool // an add while it runs
		want   [][]note.Note
	}{
		{"nil", func() error { return nil }, false, [][]note.Note{{second, first}}},
		{"added meanwhile", func() error { return nil }, true, [][]note.Note{{second, first}, {first}}},
		{"again", func() error { return Again(time.Minute) }, false, [][]note.Note{{second, first}, {note.Again}}},
		{"again at once", func() error { return Again(0) }, false, [][]note.Note{{second, first}, {note.Again}}},
		{"again at once, added meanwhile", func() error { return Again(0) }, true, [][]note.Note{{second, first}, {note.Again, first}}},
		{"again, added meanwhile", func() error { return Again(time.Minute) }, true, [][]note.Note{{second, first}, {first}, {note.Again}}},
		{"error", func() error { return errors.New("no") }, false, [][]note.Note{{second, first}, {note.Retry, second, first}}},
		{"error, added meanwhile", func() error { return errors.New("no") }, true, [][]note.Note{{second, first}, {first, second, first}, {note.Retry}}},
		{"put off", func() error { return &AgainError{After: time.Minute, PutOff: true} }, false, [][]note.Note{{second, first}, {note.PutOff, second, first}}},
		{"put off at once", func() error { return fmt.Errorf("%w", &AgainError{PutOff: true}) }, true, [][]note.Note{{second, first}, {note.PutOff, first, second}}},
		{"terminal", func() error { return Terminal(errors.New("no")) }, false, [][]note.Note{{second, first}}},
		{"panic", func() error { panic(1) }, false, [][]note.Note{{second, first}, {note.Retry, second, first}}},
		{"goexit", func() error { runtime.Goexit(); return nil }, false, [][]note.Note{{second, first}, {note.Retry, second, first}}},
	} {
		for debounce, opts := range map[time.Duration]RunOptions{0: {}, time.Millisecond: {Timeout: time.Second}} {
			t.Run(c.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					q := New(Options[string]{OnError: func(string, error) {}, Debounce: debounce})
					q.AddWith("k", AddOptions{Note: first})
					q.AddWith("k", AddOptions{Note: second})
					var got [][]note.Note
					wait := startRun(t.Context(), q, opts, func(ctx context.Context, k string) error {
						notes := note.Of(ctx)
						got = append(got, notes.Newest())
						if len(got) > 1 {
							return nil
						}
						if c.adds {
							q.AddWith("k", AddOptions{Note: first})
						}
						return c.result()
					})
					time.Sleep(time.Hour)
					q.ShutDown()
					if err := wait(); err != nil {
						t.Error(err)
					}
					if !slices.EqualFunc(got, c.want, slices.Equal[[]note.Note]) {
						t.Errorf("got %v, want %v", got, c.want)
					}
				})
			})
		}
	}
}

// A call that the end of Run cut short says so to the next Run.
func TestNotesOfCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[string]{})
		q.Add("k")
		ctx, cancel := context.WithCancel(t.Context())
		wait := startRun(ctx, q, RunOptions{}, func(ctx context.Context, _ string) error {
			<-ctx.Done()
			return ctx.Err()
		})
		synctest.Wait()
		cancel()
		if err := wait(); err != nil {
			t.Error(err)
		}
		notes := q.Notes("k")
		if got := notes.Newest(); !slices.Equal(got, []note.Note{note.CutShort, note.ByHand}) {
			t.Errorf("got %v", got)
		}
	})
}

// While a key waits for its retry, it is known why it was queued at first. Once its delay is cancelled it does not wait, and
// what it was queued for is still to be done; nothing of that comes to another key.
func TestNotesOfUnserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const first = note.Event + 1
		q := New(Options[string]{OnError: func(string, error) {}})
		q.AddWith("k", AddOptions{Note: first})
		var got [][]note.Note
		wait := startRun(t.Context(), q, RunOptions{}, func(ctx context.Context, k string) error {
			notes := note.Of(ctx)
			got = append(got, notes.Newest())
			if len(got) == 1 {
				return errors.New("no")
			}
			return nil
		})
		synctest.Wait()
		expect := func(when, key string, want ...note.Note) {
			t.Helper()
			notes := q.Notes(key)
			if got := notes.Newest(); !slices.Equal(got, want) || notes.Adds() != len(want) {
				t.Errorf("%s: got %v of %d, want %v", when, got, notes.Adds(), want)
			}
		}
		expect("a retry", "k", note.Retry, first)
		q.Cancel("k")
		expect("cancelled", "k")
		q.Add("k")
		synctest.Wait()
		q.Cancel("k")
		q.Forget("k")
		q.Add("other")
		time.Sleep(time.Hour)
		q.ShutDown()
		if err := wait(); err != nil {
			t.Error(err)
		}
		want := [][]note.Note{{first}, {note.ByHand, first}, {note.ByHand}}
		if !slices.EqualFunc(got, want, slices.Equal[[]note.Note]) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// An entry that is used again does not bring the notes of another key.
func TestNotesOfRecycledEntry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[string]{OnError: func(string, error) {}})
		ctx, cancel := context.WithCancel(t.Context())
		wait := startRun(ctx, q, RunOptions{}, func(context.Context, string) error { return errors.New("no") })
		q.AddWith("k", AddOptions{Note: note.Event})
		synctest.Wait()
		cancel()
		if err := wait(); err != nil {
			t.Error(err)
		}
		q.Forget("k")
		q.Cancel("k") // nothing is left of it
		q.Add("other")
		notes := q.Notes("other")
		if got := notes.Newest(); !slices.Equal(got, []note.Note{note.ByHand}) {
			t.Errorf("got %v", got)
		}
		q.Cancel("other")
	})
}
