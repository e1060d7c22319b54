package manager

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kinform/kinform/index"
)

var (
	// ErrStarted is returned by a second call of Run. It is also the error of methods that add something after
	// Run has begun, with the name of the part, or with the resource of each cache.
	ErrStarted = errors.New("Run was called before")

	// ErrUnnamed says that something has no name.
	ErrUnnamed = errors.New("it has no name: give it one")

	// ErrNoPart says, with its name or the place of the argument, that a part is nil.
	ErrNoPart = errors.New("it is nil: make it before you add it")

	// ErrDuplicate says, with the name, that the name was used before. It is the same value as
	// index.ErrDuplicate.
	ErrDuplicate = index.ErrDuplicate

	// ErrNothing is returned by Run if nothing was added.
	ErrNothing = errors.New("manager: nothing to run: call AddControllers, Add or AddCaches first")

	// ErrLeadership is returned by Run if the leadership was lost and Options.EndWithLeadership is set, or if what
	// the loss stops has not ended after Options.Grace. It is also returned if the Elector returned nil before this
	// process led, although the context of Run is not done. An error of the Elector may come beside it.
	ErrLeadership = errors.New("manager: this process does not lead any more")
)

// twice is ErrDuplicate for a part that was added before.
type twice struct{}

func (twice) Error() string { return "it was added before: add it once" }
func (twice) Unwrap() error { return ErrDuplicate }

// errOnce is the error of a part that cannot run in a second term.
var errOnce = errors.New("it can run once, but Run is called in each term of the Elector: give it to AddToAll, or a cache to AddCaches")

// errNil is the error of a nil Manager.
var errNil = fmt.Errorf("manager: the Manager: %w", ErrNoPart)

// GraceError says that a stop took longer than Options.Grace.
type GraceError struct {
	// After is Options.Grace.
	After time.Duration
	// Running has the names of the parts that have not ended in time, in the order of their starts, and after them the
	// resources of such caches. Most wait for a handler that does not return.
	Running []string
}

func (e *GraceError) Error() string {
	return fmt.Sprintf("manager: still running %v after the stop: %s", e.After, strings.Join(e.Running, ", "))
}
