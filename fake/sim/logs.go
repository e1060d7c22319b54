package sim

import (
	"context"
	"log"
	"log/slog"
	"strings"
	"sync"
)

// logs is the handler of slog's default logger while schedules are played. It drops everything but what controllers report
// about loops.
type logs struct {
	mu    sync.Mutex
	loops []string
}

// quiet makes slog drop what programs log, until restore.
func (l *logs) quiet() (restore func()) {
	before, to, flags := slog.Default(), log.Writer(), log.Flags()
	slog.SetDefault(slog.New(l))
	return func() {
		slog.SetDefault(before)
		log.SetOutput(to) // SetDefault leads package log to l, but not back
		log.SetFlags(flags)
	}
}

// take returns the reports about loops since the last call.
func (l *logs) take() (loops []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	loops, l.loops = l.loops, nil
	return loops
}

// Enabled implements slog.Handler.
func (l *logs) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

// Handle implements slog.Handler.
func (l *logs) Handle(_ context.Context, r slog.Record) error {
	if !strings.Contains(r.Message, "runs in a loop") {
		return nil
	}
	text := r.Message
	r.Attrs(func(a slog.Attr) bool { text += " " + a.String(); return true })
	l.mu.Lock()
	defer l.mu.Unlock()
	l.loops = append(l.loops, text)
	return nil
}

// WithAttrs implements slog.Handler.
func (l *logs) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup implements slog.Handler.
func (l *logs) WithGroup(string) slog.Handler { return l }
