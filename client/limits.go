package client

import (
	"errors"
	"fmt"
	"io"
)

// DefaultMaxObjectBytes is the limit when Options.MaxObjectBytes is zero: 16 MiB. etcd stores
// 1.5 MiB by default (--max-request-bytes) and an API server takes bodies of up to 3 MiB, but
// an answer can be larger than what is stored: JSON may write six bytes for one, which makes 9
// MiB of 1.5, a conversion adds fields, and an aggregated API need not use etcd.
const DefaultMaxObjectBytes = 16 << 20

// An object may take memoryFactor times Options.MaxObjectBytes in Go, and leastMemory where
// that is more, which leaves room for one small struct with a tiny limit. Usual objects take
// twice their JSON; the estimate of 1.5 MiB of the tiniest legal parts is 126 MiB.
const (
	memoryFactor = 8
	leastMemory  = 1 << 20
)

// errOverLimit is what a reader returns for a value that is larger than allowed and that it
// has passed over; reading can go on behind it.
var errOverLimit = errors.New("value over the limit")

// objectLimit is the limit in bytes that an option stands for.
func objectLimit(option int64) int64 {
	switch {
	case option == 0:
		return DefaultMaxObjectBytes
	case option < 0:
		return 1<<63 - 1
	}
	return option
}

const unlimited = 1<<63 - 1

// countedBody is a reader that counts what passes.
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
	if limit == unlimited {
		return io.ReadAll(in)
	}
	body, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err == nil && int64(len(body)) > limit {
		err = errOverLimit
	}
	return body, err
}

// meter makes the reader that everything of an answer goes through.
func (r *Resource[T]) meter(a *answer) io.Reader { return countedBody{a, r.objects.stats} }

// sized names resource and limit in the error for an object over the limit.
func (r *Resource[T]) sized(err error) error {
	if !errors.Is(err, errOverLimit) {
		return err
	}
	large := &TooLargeError{Resource: r.name, Limit: r.limit}
	if err == errOverLimit {
		return large
	}
	return fmt.Errorf("%w: %w", err, large)
}
