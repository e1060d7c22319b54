package client

import (
	"errors"
	"fmt"
	"io"

	"github.com/kinform/kinform/internal/decode"
)

// defaultMaxObjectBytes is the limit if Options.MaxObjectBytes is zero: 16 MiB. etcd stores
// objects of up to 1.5 MiB by default (--max-request-bytes), and an API server accepts bodies
// of up to 3 MiB. An answer can be larger than the stored object: JSON may need six bytes for
// one, which turns 1.5 MiB into 9, conversion between versions adds fields, and an aggregated
// API may not use etcd.
const defaultMaxObjectBytes = 16 << 20

// objectLimit returns the limit in bytes for a value of Options.MaxObjectBytes.
func objectLimit(option int64) int64 {
	switch {
	case option == 0:
		return defaultMaxObjectBytes
	case option < 0:
		return decode.Unlimited
	}
	return option
}

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
