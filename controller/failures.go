package controller

import (
	"context"
	"log/slog"

	"github.com/kinform/kinform/internal/keytext"
	"github.com/kinform/kinform/internal/note"
)

// failedError is the error of a reconcile on its way to the log, which has the reconcile's reason as an attribute.
type failedError struct {
	error
	notes note.Notes // at least one
}

func (e *failedError) Unwrap() error { return e.error }

// explained adds the cause to the errors of reconcile, if the controller logs them.
func explained[Q comparable](c *Controller[Q], reconcile func(context.Context, Q) error) func(context.Context, Q) error {
	if !c.logs {
		return reconcile
	}
	return func(ctx context.Context, key Q) error {
		err := reconcile(ctx, key)
		if err == nil {
			return nil
		}
		if notes := note.Of(ctx); notes.Adds() > 0 {
			err = &failedError{err, notes}
		}
		return err
	}
}

// logFailure is Queue.OnError of a controller that has no other.
func (c *Controller[Q]) logFailure(key Q, err error) {
	var more []slog.Attr
	if failed, ok := err.(*failedError); ok {
		err = failed.error
		more = append(more, slog.String("cause", causesOf(c, key, &failed.notes).Reason().String()))
	}
	c.logger.KeyError(keytext.Of(key), "reconcile failed", err, more...)
}
