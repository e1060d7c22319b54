// Package decode reads JSON and CBOR bodies of the Kubernetes API value by value, and turns
// the values into Go objects. Package client decides which values a body has and what becomes
// of them; Kubernetes protobuf is read by package kubeproto.
//
// A [Reader] walks through a body. It speaks of all bodies in the terms of JSON: [NewCBOR]
// transcodes each value, so that one [Codec] decodes both encodings. A Reader holds one value
// at a time, up to the limit of an object's size. It passes over a larger value without holding
// it, and returns [ErrOverLimit] with the [Header] that identifies the object.
//
// [Weights] bounds what an object of legal size may take in memory once it is decoded.
//
// # Limits of one object
//
// With a limit of n bytes, a Reader holds at most n bytes of the value as it came and n of its
// JSON. An object that passes Weights takes at most 8n bytes, or 1 MiB if that is more.
//
// # Concurrency
//
// A Codec is immutable, but one that shares strings belongs to one goroutine, as a Reader does.
//
// # The JSON library
//
// The library is the module that becomes encoding/json/v2. Only this package imports it, so only
// this package changes when the toolchain ships it.
package decode
