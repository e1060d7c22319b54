package controller

import (
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinform/kinform/queue"
)

var (
	// ErrNoKeys is returned by Watch if the function for keys is nil.
	ErrNoKeys = errors.New("controller: the function for keys is nil")

	// ErrNoInformer is returned by For, Owns and Watch for a nil informer.
	ErrNoInformer = errors.New("controller: the informer is nil")

	// ErrNoFilter is returned by For, Owns and Watch if a filter is nil.
	ErrNoFilter = errors.New("controller: the filter is nil")

	// ErrStarted is returned by a second call of Run, and by For, Owns and Watch after Run.
	ErrStarted = errors.New("controller: Run was called before")

	// ErrHandlerBehind is the cause in a [*SyncError] if the cache is filled, and the
	// controller's handler has not seen all of it.
	ErrHandlerBehind = errors.New("the cache is filled, but the handler has not seen all of it")
)

// Again returns an error with which reconcile asks for its key again after d. It is not a
// failure: nothing is reported, and the key's failures are forgotten. If d is zero or less, the
// key is called again at once, after all queued keys. It is the same as queue.Again.
func Again(d time.Duration) error { return queue.Again(d) }

// Terminal returns an error with which reconcile says that a repetition of the call would not
// help, because somebody must change something first. The error is reported like any other, and
// the key is only called again if it is queued again. Terminal(nil) is nil. It is the same as
// queue.Terminal.
func Terminal(err error) error { return queue.Terminal(err) }

// SyncError is returned by Run if the initial lists took longer than Options.SyncTimeout.
type SyncError struct {
	// After is the time that Run waited.
	After time.Duration
	// Errs say for each informer that is not ready which resource it is for and why: an
	// *informer.NotSyncingError, an *informer.UnsyncedError, or [ErrHandlerBehind] with the name
	// of the resource. Never empty.
	Errs []error
}

func (e *SyncError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "controller: not ready after %v: ", e.After)
	for n, err := range e.Errs {
		if n > 0 {
			b.WriteString("; ")
		}
		b.WriteString(err.Error())
		if apierrors.IsNotFound(err) {
			b.WriteString(" (is the CustomResourceDefinition installed?)")
		}
	}
	return b.String()
}

// Unwrap returns Errs.
func (e *SyncError) Unwrap() []error { return e.Errs }
