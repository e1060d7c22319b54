package client

import (
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

// readLimited reads a body that is one object.
func readLimited(in io.Reader, limit int64) ([]byte, error) {
	if limit == decode.Unlimited {
		return io.ReadAll(in)
	}
	body, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err == nil && int64(len(body)) > limit {
		err = decode.ErrOverLimit
	}
	return body, err
}

// meter returns the reader of an answer, which counts its bytes.
func meter(r *resource, a *answer) io.Reader { return countedBody{a, codecOf(r).stats} }

// protobufLimit returns the limit as an int, for the readers of frames and lists.
func protobufLimit(r *resource) int { return int(min(r.limit, math.MaxInt)) }
