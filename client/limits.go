package client

import (
	"bytes"
	"io"
	"math"

	"github.com/kinform/kinform/internal/decode"
)

// countedBody adds the bytes of an answer to the statistics.
type countedBody struct {
	in    io.Reader
	stats *counters
}

func (c countedBody) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.stats.bytes.Add(int64(n))
	return n, err
}

// mostExpected limits the memory that is set aside for a body before it is there.
const mostExpected = 64 << 10

// readLimited reads a body that is one object. size is the body's length, if the server has said it and is right, and
// otherwise negative.
func readLimited(in io.Reader, size, limit int64) (body []byte, err error) {
	if limit != decode.Unlimited {
		in = io.LimitReader(in, limit+1)
	}
	if size < 0 || size > mostExpected {
		body, err = io.ReadAll(in)
	} else {
		var all bytes.Buffer
		all.Grow(int(size) + bytes.MinRead) // which ReadFrom wants to see the end
		_, err = all.ReadFrom(in)
		body = all.Bytes()
	}
	if err == nil && limit != decode.Unlimited && int64(len(body)) > limit {
		err = decode.ErrOverLimit
	}
	return body, err
}

// meter returns the reader of an answer, which counts its bytes.
func meter(r *resource, a *answer) io.Reader { return countedBody{a, codecOf(r).stats} }

// protobufLimit returns the limit as an int, for the readers of frames and lists.
func protobufLimit(r *resource) int { return int(min(r.limit, math.MaxInt)) }
