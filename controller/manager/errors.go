package manager

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kinform/kinform/informer"
)

var (
	// ErrStarted is returned by a second call of Run. Methods that add something after Run has begun
	// return it with the name of the part, or with the resource of each cache.
	ErrStarted = errors.New("Run was called before")

	// ErrUnnamed is returned for something without a name.
	ErrUnnamed = errors.New("no name")

	// ErrNoFunc is returned, with the name, if the function is nil.
	ErrNoFunc = errors.New("the function is nil")

	// ErrNoPart is returned by AddCaches for a nil cache, with the place of the argument, and by
	// AddController for a nil controller.
	ErrNoPart = errors.New("it is nil: look at the error of the call that made it")

	// ErrDuplicate is returned, with the name, if the name was used before. It is the same value as
	// informer.ErrDuplicate.
	ErrDuplicate = informer.ErrDuplicate

	// ErrNothing is returned by Run if nothing was added.
	ErrNothing = errors.New("manager: nothing to run: call Add or AddCaches first")

	// ErrLeadership is returned by Run if the leadership ended, or if the Elector returned without
	// an error, although the context of Run is not done. An error of the Elector comes beside it.
	ErrLeadership = errors.New("manager: this process does not lead any more")
)

// GraceError says that a stop took longer than Options.Grace.
type GraceError struct {
	// After is the time that Run waited.
	After time.Duration
	// Running has the names of the parts that have not ended, in the order of their starts.
	Running []string
}

func (e *GraceError) Error() string {
	return fmt.Sprintf("manager: still running %v after the stop: %s", e.After, strings.Join(e.Running, ", "))
}
