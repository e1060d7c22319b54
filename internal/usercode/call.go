package usercode

import (
	"errors"

	"github.com/kinform/kinform/internal/logs"
)

// Call calls f and returns an error if f panics. A call of runtime.Goexit ends the goroutine.
func Call(where string, f func()) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = Panicked(where, value)
		}
	}()
	f()
	return nil
}

// Report gives err to onError, or writes it to log if onError is nil. If onError panics, log gets
// both errors.
func Report(log logs.Log, onError func(error), err error) {
	if onError == nil {
		log.Error(err)
		return
	}
	if panicked := Call("OnError", func() { onError(err) }); panicked != nil {
		log.Error(errors.Join(panicked, err))
	}
}

// Contain calls f. If f panics or ends its goroutine, Contain calls failed in the same goroutine.
func Contain(where string, f func(), failed func(*PanicError)) {
	returned := false
	defer func() {
		if err := Left(where, returned, recover()); err != nil {
			failed(err)
		}
	}()
	f()
	returned = true
}

// Left returns the error for a call that has not returned, and nil for one that has. value is what
// recover returned. A deferred function calls it: that of Contain, or one of a caller who does not
// want the frames of Contain on the stack while a long call lasts.
func Left(where string, returned bool, value any) *PanicError {
	if returned {
		return nil
	}
	if value == nil {
		value = ErrGoexit
	}
	return Panicked(where, value)
}

// Outcome calls f and then done with its error, or with ErrGoexit if f ends the goroutine. If f
// panics, done gets ErrGoexit, too, and the panic goes on.
func Outcome(f func() error, done func(error)) {
	err := ErrGoexit
	defer func() { done(err) }()
	err = f()
}

// Key calls a key function. It returns a *PanicError if the function panics, and ErrZeroKey for the
// zero K.
func Key[K comparable, T any](key func(T) (K, error), obj T) (k K, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = Panicked("key function", value)
		}
	}()
	if k, err = key(obj); err == nil {
		err = CheckKey(k)
	}
	return k, err
}

// CheckKey returns ErrZeroKey for the zero K.
func CheckKey[K comparable](key K) error {
	if key == *new(K) {
		return ErrZeroKey
	}
	return nil
}
