package stage

import (
	"context"
	"log/slog"
	"sync"
	"testing"
)

// NoWarnings fails the test if it logs anything at level Warn or above: on a good day no reconcile fails. Call it
// before New, and not in tests that run in parallel.
func NoWarnings(t *testing.T) {
	w := &warnings{}
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
	mu    sync.Mutex
	texts []string
}

func (w *warnings) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

func (w *warnings) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool { text += " " + a.String(); return true })
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
	return nil
}

func (w *warnings) WithAttrs([]slog.Attr) slog.Handler { return w }
func (w *warnings) WithGroup(string) slog.Handler      { return w }
