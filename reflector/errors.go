package reflector

import (
	"errors"
	"fmt"
	"strings"
)

// ErrStopped is returned by [Source.List] when its yield function returned false.
var ErrStopped = errors.New("list stopped by its caller")

// ObjectError reports one object that could not be used: not decodable, of the wrong
// kind, without a name. The list or watch that carried it goes on.
type ObjectError struct {
	// Resource is the collection's name, as [Source.Resource] returns it.
	Resource string
	// Key is "namespace/name", or "name"; empty where it is not known.
	Key string
	// ResourceVersion is the object's own; empty where it is not known.
	ResourceVersion string
	// Err is the cause, never nil.
	Err error
}

func (e *ObjectError) Error() string {
	var b strings.Builder
	b.WriteString(e.Resource)
	b.WriteString(": object ")
	if e.Key == "" {
		b.WriteString("of unknown key")
	} else {
		fmt.Fprintf(&b, "%q", e.Key)
	}
	if e.ResourceVersion != "" {
		fmt.Fprintf(&b, " at resourceVersion %s", e.ResourceVersion)
	}
	fmt.Fprintf(&b, " skipped: %v", e.Err)
	return b.String()
}

// Unwrap returns the cause.
func (e *ObjectError) Unwrap() error { return e.Err }
