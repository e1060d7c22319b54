package informer_test

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/informer"
)

// TestMessages: each error says in a log what happened, in the first attribute.
func TestMessages(t *testing.T) {
	failed := deltafifo.ProcessError[string]{Failed: []deltafifo.Failure[string]{{Key: "a", Err: errors.New("no")}}}
	for want, err := range map[string]slog.LogValuer{
		"handler holds up the cache":   &informer.SlowHandlerError{},
		"cache is not filled":          &informer.UnsyncedError{},
		"shared object was written to": &informer.MutationError{},
		"recorded write is lost":       &informer.LostWriteError{},
		"handler panicked":             &informer.PanicError{Where: "handler"},
		"processing failed":            &failed,
		"changes are slow to process":  &deltafifo.SlowError{},
		"credentials cannot be used":   &client.CredentialError{},
	} {
		if first := err.LogValue().Group()[0]; first.Key != "message" || first.Value.String() != want {
			t.Errorf("%T: %v, want message=%s", err, first, want)
		}
	}
}
