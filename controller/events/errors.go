package events

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/kinform/kinform/internal/logs"
	"github.com/kinform/kinform/internal/mistake"
)

var (
	// ErrInvalid is the cause if an event cannot be written: its object has no name, for example.
	// It is also the cause of an error of [Recorder.Err]. It matches the ErrInvalid of package controller.
	ErrInvalid error = mistake.Text("not valid")

	// ErrStarted is returned, with Options.Controller, by a call of [Recorder.Run] while another one runs.
	ErrStarted = errors.New("it runs already: call Run once, or give it to AddToAll of one manager")

	// ErrLimit is the cause if events were dropped because of Options.MaxSeries or
	// Options.MaxPerObject. It is reported once per minute at most.
	ErrLimit = errors.New("too many events")

	// ErrNotRun is the cause if an event is recorded ten seconds or more after the first one that nobody writes, because Run
	// was not called, or has ended. It is reported once.
	ErrNotRun = errors.New("nobody runs the recorder: call Run, or give it to AddToAll of the manager")

	// ErrStopped is the cause if events were dropped because Run ended.
	ErrStopped = errors.New("the recorder has stopped")
)

// Error says that a request failed or that events are lost. Options.OnError gets it.
type Error struct {
	// Regarding is the object that the events are about. It is zero if there are several.
	Regarding Reference
	// Reason is the events' reason; empty if there are several.
	Reason string
	// Lost is the number of events that are dropped. Zero means that the events still wait.
	Lost uint64
	// Err is the cause: the error of the request, or one of this package.
	Err error
}

func (e *Error) Error() string { return fmt.Sprintf("events: %s: %v", e.what(), e.Err) }

func (e *Error) what() string {
	about := ""
	if e.Regarding.Name != "" || e.Regarding.Kind != "" {
		about = fmt.Sprintf(" %q about %s", e.Reason, e.Regarding)
	}
	if e.Lost == 0 {
		return "event" + about + " is not written yet"
	}
	return fmt.Sprintf("%d lost%s", e.Lost, about)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// LogValue implements slog.LogValuer: a group of message, object, reason, lost and error.
func (e *Error) LogValue() slog.Value {
	message := "events are lost"
	if e.Lost == 0 {
		message = "event is not written yet"
	}
	return slog.GroupValue(slog.String(logs.Message, message), slog.String("object", e.Regarding.String()),
		slog.String("reason", e.Reason), slog.Uint64("lost", e.Lost), slog.Any("error", e.Err))
}
