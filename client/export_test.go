package client

import (
	"reflect"

	"github.com/kinform/kinform/kind"
)

// NewOfType returns the error of New for objects of type t. New itself, called for many types, would
// be compiled with all the code of a client for each of them.
func NewOfType(conn Connection, k *kind.Kind[any], t reflect.Type, opts Options) error {
	_, err := newResource(conn, k, t, opts)
	return err
}

// The media types of answers.
const (
	JSON     = string(inJSON)
	Protobuf = string(inProtobuf)
)

// The values of zero options.
const (
	DefaultMaxObjectBytes = defaultMaxObjectBytes
	DefaultRetries        = defaultRetries
	DefaultUserAgent      = defaultUserAgent
)

// Decoders has n goroutines decode long lists of r, which it returns.
func Decoders[T any](r *Resource[T], n int) *Resource[T] {
	r.core.decoders = n
	return r
}

// Interned has the lists and watches of r remember n strings, or none. It returns r.
func Interned[T any](r *Resource[T], n int) *Resource[T] {
	codecOf(r.core).interned = n
	return r
}
