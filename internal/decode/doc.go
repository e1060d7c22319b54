// Package decode reads JSON bodies of the Kubernetes API value by value, and turns
// the values into Go objects. Package client decides which values belong in a body and uses
// the objects. Package kubeproto reads Kubernetes protobuf.
//
// A [Reader] walks through a body. It holds one value at a time, up to the limit of an object's
// size. It skips a larger value without holding it, and returns [ErrOverLimit] with the [Header]
// that identifies the object. A [Codec] decodes the objects.
//
// [Codec.Weigh] limits the memory that an object of legal size may take after decoding.
//
// # Limits of one object
//
// With a limit of n bytes, a Reader holds at most n bytes of the value as received. An object
// that passes Weigh takes at most 8n bytes, or 1 MiB if that is more.
//
// # Concurrency
//
// A Codec is immutable, but one that shares strings belongs to one goroutine. So does a
// Reader.
//
// # The libraries
//
// The library for JSON is the module that will become encoding/json/v2. Only this package imports
// it, so only this package has to change when the toolchain ships it.
package decode
