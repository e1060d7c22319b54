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
		body, err = readExpected(in, int(size))
	}
	if err == nil && limit != decode.Unlimited && int64(len(body)) > limit {
		err = decode.ErrOverLimit
	}
	return body, err
}

// readExpected is io.ReadAll for a body that most likely has size bytes.
func readExpected(in io.Reader, size int) ([]byte, error) {
	body := make([]byte, 0, max(size+1, 512)) // one more, to see the end
	for {
		n, err := in.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if err == io.EOF {
			return body, nil
		}
		if err != nil {
			return body, err
		}
		if len(body) == cap(body) {
			body = append(body, 0)[:len(body)]
		}
	}
}

// meter returns the reader of an answer, which counts its bytes.
func meter(r *resource, a *answer) io.Reader { return countedBody{a, codecOf(r).stats} }

// protobufLimit returns the limit as an int, for the readers of frames and lists.
func protobufLimit(r *resource) int { return int(min(r.limit, math.MaxInt)) }
