// Package mistake has the errors of mistakes: mistakes in a program, such as a nil function, and mistakes of a
// server that breaks the rules of lists and watches. A program does the same after each error of a sort, so all
// of them match one, and only the text says more.
package mistake

import (
	"errors"
	"reflect"
)

// Err is matched by every [Text]. Packages export it as ErrInvalid.
var Err = errors.New("not valid")

// Text is the error of one mistake: what is wrong and, if that is not clear, what to do.
type Text string

func (t Text) Error() string { return string(t) }

// Is implements the interface that errors.Is looks for.
func (t Text) Is(target error) bool { return target == Err }

// IsNil reports whether v is nil: no value at all, or a nil pointer, map or function.
//
//go:noinline
func IsNil(v any) bool {
	switch of := reflect.ValueOf(v); of.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Map, reflect.Func:
		return of.IsNil()
	}
	return false
}

// The mistakes of several packages. They are variables of an interface, so that a generic function that returns one
// does not name the type: a user's package would compile its methods.
var (
	// NoInformer is the mistake of a nil informer or handle. It comes with the type of the objects.
	NoInformer error = Text("the informer or handle is nil: make it before you use it")
	// NoHandler is the mistake of a handler that has nothing to call. It comes with the name of the resource.
	NoHandler error = Text("the handler is nil: pass a function or a value")
	// NoObject is the mistake of a nil object.
	NoObject error = Text("the object is nil")
	// Scope is the mistake of a kind with namespaces that is used like one without, or the other way round.
	Scope error = Text("wrong scope")
	// Index is the mistake of a definition of an index that cannot be used.
	Index error = Text("invalid index definition")
	// NoFunc is the mistake of a loop without a function to call. It comes with the name of the loop.
	NoFunc error = Text("the function is nil: pass one")
	// NoSource is the mistake of a nil source. It comes with the type of the objects, if there is one.
	NoSource error = Text("reflector: source is nil: look at the call that made it")
	// NoPruner is the mistake of a source whose selection changes, with a sink that does not follow.
	NoPruner error = Text("the selection of the source changes, and the sink cannot follow it")
)

// ErrProtocol is matched by every [Broken]. Package reflector exports it.
var ErrProtocol = errors.New("the answer breaks the rules of lists and watches")

// Broken says which rule an answer breaks.
type Broken string

func (b Broken) Error() string { return string(b) }

// Is implements the interface that errors.Is looks for.
func (b Broken) Is(target error) bool { return target == ErrProtocol }

// BadPage discards a list with a page that does not continue it.
var BadPage error = Broken("page does not continue the list")
