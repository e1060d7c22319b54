// Package mistake has the errors of mistakes in a program, such as a nil function. Somebody has to change the program,
// so all match one error, and only the text says what to change.
package mistake

import "errors"

// Err is matched by every [Text]. Packages export it as ErrInvalid.
var Err = errors.New("not valid")

// Text is the error of one mistake: what is wrong and, if that is not clear, what to do.
type Text string

func (t Text) Error() string { return string(t) }

// Is implements the interface that errors.Is looks for.
func (t Text) Is(target error) bool { return target == Err }

// The mistakes of several packages.
const (
	// NoInformer is that of a nil informer or handle. It comes with the type of the objects.
	NoInformer Text = "the informer or handle is nil: make it before you use it"
	// NoHandler is that of a handler that has nothing to call. It comes with the name of the resource.
	NoHandler Text = "the handler is nil: pass a function or a value"
)
