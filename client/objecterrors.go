package client

import (
	"errors"
	"fmt"

	"github.com/kinform/kinform/internal/decode"
	"github.com/kinform/kinform/reflector"
)

// TooLargeError is the cause when an object is larger than Options.MaxObjectBytes, or would
// take more memory than that limit allows.
type TooLargeError struct {
	// Resource is the collection's name, as Resource.Resource returns it.
	Resource string
	// Limit is the maximal number of bytes of an object.
	Limit int64
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("an object of %s has more than %d bytes, the limit of Options.MaxObjectBytes, or needs several times as much memory", e.Resource, e.Limit)
}

func isObjectError(err error) bool {
	var object *reflector.ObjectError
	return errors.As(err, &object)
}

// sized turns the error for an object over the limit into one that names resource and limit.
func sized(r *resource, err error) error {
	if !errors.Is(err, decode.ErrOverLimit) {
		return err
	}
	large := &TooLargeError{Resource: r.name, Limit: r.limit}
	if err == decode.ErrOverLimit {
		return large
	}
	return fmt.Errorf("%w: %w", err, large)
}

// reporter returns the function that makes the error for an object left out of a watch, or of a list if
// typ is zero.
func reporter(r *resource) func(typ reflector.EventType, id identity, cause error) error {
	return func(typ reflector.EventType, id identity, cause error) error {
		return &reflector.ObjectError{Resource: r.name, Key: id.key(), ResourceVersion: id.resourceVersion, Type: typ, Err: sized(r, cause)}
	}
}
