// Package mapkeytest checks that a constructor refuses a type that cannot be a key. For constructors
// with much code behind them, such as an informer's, a test of package kinform runs it. For the
// others, a test in their own package does. Which types are refused is tested in package mapkey.
package mapkeytest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Refused checks that construct, a constructor called with float64 for its keys, returns an error
// that wraps want and names the type. One type is enough, and each further one would be compiled
// with all the code behind the constructor.
func Refused(t *testing.T, construct func() error, want error) {
	t.Helper()
	if err := construct(); !errors.Is(err, want) || !strings.Contains(err.Error(), ": float64: ") {
		t.Errorf("keys of type float64: got error %v, want %v with the name of the type", err, want)
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
