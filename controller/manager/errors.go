package manager

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

var (
	// ErrStarted is returned by a second call of Run, and by methods that add something after Run
	// has begun.
	ErrStarted = errors.New("manager: Run was called before")

	// ErrNoName is returned for something without a name.
	ErrNoName = errors.New("manager: no name")

	// ErrNoFunc is returned if the function is nil.
	ErrNoFunc = errors.New("manager: the function is nil")

	// ErrNoCache is returned by AddCaches for nil.
	ErrNoCache = errors.New("manager: the cache is nil")

	// ErrDuplicate is returned if the name was used before.
	ErrDuplicate = errors.New("manager: the name is used twice")

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
