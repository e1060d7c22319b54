package sim

import (
	"context"
	"log"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
)

// logs is the handler of slog's default logger while schedules are played. It drops everything but what controllers report
// about loops and panics.
type logs struct {
	run   atomic.Pointer[run] // that plays, or that of the schedule before; nil before the first one
	mu    sync.Mutex
	found []finding
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

// take returns the reports since the last call.
func (l *logs) take() (found []finding) {
	l.mu.Lock()
	defer l.mu.Unlock()
	found, l.found = l.found, nil
	return found
}

// Enabled implements slog.Handler.
func (l *logs) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

// Handle implements slog.Handler.
func (l *logs) Handle(_ context.Context, r slog.Record) error {
	rule, text, run := "", r.Message, l.run.Load()
	if strings.Contains(r.Message, "runs in a loop") {
		rule = "loop"
	}
	r.Attrs(func(a slog.Attr) bool {
		value := a.Value.Resolve().String()
		text += " " + a.Key + "=" + value
		if strings.HasPrefix(value, "panic: ") && run != nil && !run.anyDies() { // a process that has crashed would not go so far
			rule = "panics"
		}
		return true
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	if rule != "" {
		l.found = append(l.found, finding{rule: rule, text: text})
	}
	return nil
}

// WithAttrs implements slog.Handler.
func (l *logs) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup implements slog.Handler.
func (l *logs) WithGroup(string) slog.Handler { return l }
