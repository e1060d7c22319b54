// Package mapkeytest holds the table of key types that every constructor refuses. Each package
// with a constructor runs it in a test.
package mapkeytest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Struct cannot be a key, because it contains a float.
type Struct struct {
	Name  string
	Parts [2]struct{ Weight float32 }
}

// Constructors are calls of one constructor with each kind of type that cannot be a key.
// A function type cannot be generic, so the caller writes them out.
type Constructors struct {
	Float     func() error // with float64
	Complex   func() error // with complex64
	Interface func() error // with any
	Array     func() error // with [2]float32
	Struct    func() error // with Struct
}

// Refused checks that every constructor returns an error that wraps want and names the type.
func Refused(t *testing.T, c Constructors, want error) {
	t.Helper()
	for name, call := range map[string]func() error{
		"float64":           c.Float,
		"complex64":         c.Complex,
		"interface {}":      c.Interface,
		"[2]float32":        c.Array,
		"mapkeytest.Struct": c.Struct,
	} {
		err := call()
		if !errors.Is(err, want) || !strings.Contains(err.Error(), ": "+name+": ") {
			t.Errorf("keys of type %s: got error %v, want %v with the name of the type", name, err, want)
		}
	}
}

// Panic turns a call that panics with an error into one that returns it.
func Panic(call func()) func() error {
	return func() (err error) {
		defer func() {
			switch value := recover().(type) {
			case nil:
				err = errors.New("no panic")
			case error:
				err = value
			default:
				err = fmt.Errorf("panic with a %T: %v", value, value)
			}
		}()
		call()
		return nil
	}
}
