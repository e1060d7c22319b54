package stage

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
)

// NoWarnings fails the test if it logs anything at level Warn or above: on a good day no reconcile fails. Call it
// before New, and not in tests that run in parallel.
func NoWarnings(t *testing.T) { refuse(t, "") }

// NoLoops fails the test if a controller of a program logs that a key runs in a loop. It is like NoWarnings otherwise.
func NoLoops(t *testing.T) { refuse(t, "runs in a loop") }

// refuse fails the test for each record at level Warn or above whose text has a part.
func refuse(t *testing.T, part string) {
	w := &warnings{part: part}
	before := slog.Default()
	slog.SetDefault(slog.New(w))
	t.Cleanup(func() {
		slog.SetDefault(before)
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, text := range w.texts {
			t.Error(text)
		}
	})
}

// warnings keeps the texts of records.
type warnings struct {
	part string // of the texts

	mu    sync.Mutex
	texts []string
}

func (w *warnings) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

func (w *warnings) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool { text += " " + a.String(); return true })
	w.mu.Lock()
	defer w.mu.Unlock()
	if strings.Contains(text, w.part) {
		w.texts = append(w.texts, text)
	}
	return nil
}

func (w *warnings) WithAttrs([]slog.Attr) slog.Handler { return w }
func (w *warnings) WithGroup(string) slog.Handler      { return w }
