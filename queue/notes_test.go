package queue

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/internal/note"
)

// TestRunNotes checks what the calls of Run know about their hand-out: what was added before it, what was added while
// the key ran, and the queue's own adds after each result.
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
		{"error", func() error { return errors.New("no") }, false, [][]note.Note{{second, first}, {note.Retry}}},
		{"terminal", func() error { return Terminal(errors.New("no")) }, false, [][]note.Note{{second, first}}},
		{"panic", func() error { panic(1) }, false, [][]note.Note{{second, first}, {note.Retry}}},
		{"goexit", func() error { runtime.Goexit(); return nil }, false, [][]note.Note{{second, first}, {note.Retry}}},
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
		if got := notes.Newest(); !slices.Equal(got, []note.Note{note.CutShort}) {
			t.Errorf("got %v", got)
		}
	})
}
