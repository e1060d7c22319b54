// Package usercode runs functions of the user. It turns their panics and calls of
// runtime.Goexit into one type of error, checks the keys that they return, and ends the work
// of several goroutines at the first failure.
//
// Package informer exports [PanicError] under the same name.
package usercode

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"

	"github.com/kinform/kinform/internal/logs"
	"github.com/kinform/kinform/internal/mistake"
)

var (
	// ErrGoexit is the Value of a PanicError if the function called runtime.Goexit, as
	// testing.T.FailNow does.
	ErrGoexit = errors.New("the call ended its goroutine")

	// ErrZeroKey reports an object whose key is the zero K: most likely the key was never set.
	ErrZeroKey error = mistake.Text("key is the zero value")

	// ErrNoName reports an object without metadata.name, which has no key.
	ErrNoName = errors.New("object has no metadata.name")
)

// PanicError reports that a function of the user panicked, or called runtime.Goexit: then
// Value is ErrGoexit. Fields that do not apply are empty.
type PanicError struct {
	// Where says which function panicked, such as "handler", "key function" or "OnError".
	Where string
	// Name is the name of the handler or index that the function belongs to.
	Name string
	// Resource is the collection's name, Key the object's key as package fmt prints it.
	Resource, Key string
	// Value is the value that was passed to panic.
	Value any
	// Stack is the stack of the goroutine at the panic, as debug.Stack returns it.
	Stack []byte
}

// Panicked returns the error for value, which recover returned. Call it in the deferred function
// that has recovered: it takes the stack.
func Panicked(where string, value any) *PanicError {
	return &PanicError{Where: where, Value: value, Stack: debug.Stack()}
}

// Error implements error. The text ends with the stack.
func (e *PanicError) Error() string {
	if e == nil {
		return "panic"
	}
	var b strings.Builder
	if e.Resource != "" {
		b.WriteString(e.Resource + ": ")
	}
	b.WriteString(e.Where)
	if e.Name != "" {
		fmt.Fprintf(&b, " of %q", e.Name)
	}
	b.WriteString(" panicked")
	if e.Key != "" {
		fmt.Fprintf(&b, " on object %q", e.Key)
	}
	fmt.Fprintf(&b, ": %v\n%s", e.Value, e.Stack)
	return b.String()
}

// Unwrap returns Value if it is an error.
func (e *PanicError) Unwrap() error {
	if e == nil {
		return nil
	}
	err, _ := e.Value.(error)
	return err
}

// LogValue implements slog.LogValuer. It returns a group of message, resource, key, where, name,
// error and stack without the empty ones. The stack is one line: the function that panicked, and
// behind " < " each one's caller.
func (e *PanicError) LogValue() slog.Value {
	if e == nil {
		return slog.StringValue(e.Error())
	}
	var attrs []slog.Attr
	for _, a := range []slog.Attr{
		slog.String(logs.Message, e.Where+" panicked"),
		slog.String("resource", e.Resource),
		slog.String("key", e.Key),
		slog.String("where", e.Where),
		slog.String("name", e.Name),
		slog.String("error", fmt.Sprint("panic: ", e.Value)),
		slog.String("stack", oneLine(e.Stack)),
	} {
		if a.Value.String() != "" {
			attrs = append(attrs, a)
		}
	}
	return slog.GroupValue(attrs...)
}

// maxFrames bounds the functions in a record of the log. Error has them all.
const maxFrames = 12

// oneLine returns the functions of a stack from debug.Stack with their places, the innermost first.
// The frames above the call of panic are left out. Text that is no such stack is returned
// unchanged.
func oneLine(stack []byte) string {
	lines := strings.Split(strings.TrimSpace(string(stack)), "\n")
	for n, line := range lines {
		if strings.HasPrefix(line, "panic(") {
			lines = lines[n+1:]
			break
		}
	}
	var frames []string
	for n := 1; n < len(lines) && len(frames) < maxFrames; n++ {
		place, isPlace := strings.CutPrefix(lines[n], "\t")
		if !isPlace {
			continue
		}
		place, _, _ = strings.Cut(place[strings.LastIndexByte(place, '/')+1:], " ")
		name := lines[n-1]
		if end := strings.LastIndexByte(name, '('); end > 0 && !strings.HasPrefix(name, "created by ") {
			name = name[:end]
		}
		frames = append(frames, name+" "+place)
	}
	if len(frames) == 0 {
		return string(stack)
	}
	return strings.Join(frames, " < ")
}
