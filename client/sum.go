package client

import (
	"hash/maphash"

	"github.com/kinform/kinform/internal/decode"
)

// sum returns the sum of an object's bytes for [reflector.Event], which is never zero. The seed is
// random and secret, so nobody can make two objects that have one sum. It is another one for each
// Resource. A sum takes some 0.1 ns per byte, which the decoder has just read. In protobuf it is that of
// the object without its envelope; in JSON, see decode.Codec.Contents.
func sum(c *objectCodec, contents []byte) uint64 {
	return max(1, maphash.Bytes(c.seed, contents))
}

// sumOf is sum for an object in a codec's encoding.
func sumOf(c *objectCodec, codec decode.Codec, raw []byte) uint64 {
	return sum(c, codec.Contents(raw))
}
