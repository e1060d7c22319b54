package sim

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"strings"
)

// stream is the answer to a watch. Each event of it waits at the gate. How many of them come at once from the server would
// depend on its goroutines.
type stream struct {
	road  road
	of    *op
	body  io.ReadCloser
	from  *bufio.Reader
	next  func(*bufio.Reader) ([]byte, error) // reads an event
	event []byte                              // the rest of one that has had its turn

	closed context.Context
	end    context.CancelFunc
}

func newStream(d road, of *op, answer *http.Response) *stream {
	s := &stream{road: d, of: of, body: answer.Body, from: bufio.NewReader(answer.Body), next: nextLine}
	s.closed, s.end = context.WithCancel(context.Background())
	if strings.Contains(answer.Header.Get("Content-Type"), "protobuf") {
		s.next = nextFrame
	}
	return s
}

// nextLine reads an event in JSON.
func nextLine(from *bufio.Reader) ([]byte, error) { return from.ReadBytes('\n') }

// nextFrame reads an event in protobuf: its length comes first, in four bytes.
func nextFrame(from *bufio.Reader) ([]byte, error) {
	frame := make([]byte, 4)
	if _, err := io.ReadFull(from, frame); err != nil {
		return nil, err
	}
	event := make([]byte, binary.BigEndian.Uint32(frame))
	n, err := io.ReadFull(from, event)
	return append(frame, event[:n]...), err
}

// Read implements io.Reader.
func (s *stream) Read(into []byte) (int, error) {
	if len(s.event) == 0 {
		event, err := s.next(s.from)
		if len(event) == 0 {
			return 0, err
		}
		part := &op{life: s.road.life, at: s.of.at, query: s.of.query, part: s.of.at.n, delivery: true, gone: s.closed.Done()}
		if s.road.run.gate.pass(part) != nil {
			return 0, io.ErrUnexpectedEOF
		}
		s.event = event // if it broke off, the next one has the error
	}
	n := copy(into, s.event)
	s.event = s.event[n:]
	return n, nil
}

// Close implements io.Closer. The run breaks the stream by it, too.
func (s *stream) Close() error {
	s.end()
	return s.body.Close()
}
