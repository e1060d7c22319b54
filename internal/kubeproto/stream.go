package kubeproto

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DefaultLimit is the default limit of a reader for the bytes of one object. etcd's limit for
// a request is 1.5 MB; the API server's for an object in a request is 3 MB.
const DefaultLimit = 16 << 20

const (
	// readBuffer holds most objects of a list, so they need no copy.
	readBuffer = 64 << 10
	// idleBuffer is enough for a watch with few events, which mostly waits.
	idleBuffer = 4 << 10
	// idleAfter is the number of times in a row that the stream must bring less than idleBuffer
	// until a large buffer is given up. The server's bookmarks count, one a minute.
	idleAfter = 16
)

// FrameReader reads the frames of a watch. Each frame follows its length in four bytes,
// highest byte first.
type FrameReader struct {
	in    input
	empty int64 // offset at which everything was read last
	small int   // number of times in a row that less than idleBuffer came
}

// NewFrameReader returns a reader of the given stream. It reads ahead. limit is the largest
// number of bytes of a frame; 0 or less means [DefaultLimit].
func NewFrameReader(r io.Reader, limit int) *FrameReader {
	return &FrameReader{in: newInput(r, limit, idleBuffer)}
}

// fit chooses the next buffer by the number of bytes that came since the buffer was last empty.
func (f *FrameReader) fit() {
	came := f.in.offset - f.empty
	if came >= idleBuffer {
		f.small = 0
		f.in.resize(readBuffer)
	}
	if f.in.Buffered() > 0 {
		return
	}
	f.empty = f.in.offset
	if came < idleBuffer {
		f.small++
	}
	if f.small >= idleAfter {
		f.in.resize(idleBuffer)
	}
}

// Next returns the next frame, which is valid until the next call. The error is io.EOF at the
// stream's end, io.ErrUnexpectedEOF within a frame, [ErrTooLarge] for a frame beyond the
// limit, or the stream's own. With ErrTooLarge Next also returns the frame's beginning, up to
// 64 KiB, for [ParseWatchEvent], and the next call continues with the frame after it.
func (f *FrameReader) Next() ([]byte, error) {
	if err := f.in.discardPending(); err != nil {
		return nil, err
	}
	f.fit()
	head, err := f.in.Peek(4)
	if err != nil {
		if err == io.EOF && len(head) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	n := int64(binary.BigEndian.Uint32(head))
	f.in.drop(4)
	return f.in.take(n)
}

// Ready reports whether the next frame was read ahead, as a whole.
func (f *FrameReader) Ready() bool {
	rest := f.in.Buffered() - 4
	if rest < 0 || f.in.pending > 0 {
		return false
	}
	head, _ := f.in.Peek(4)
	return int64(rest) >= int64(binary.BigEndian.Uint32(head))
}

// Offset returns where the next frame starts in the stream, in bytes.
func (f *FrameReader) Offset() int64 { return f.in.offset + f.in.pending }

// ListReader reads a list from a stream item by item, with at most one item in memory. Lists
// of all Kubernetes types have metadata as field 1 and items as field 2.
type ListReader struct {
	in               input
	apiVersion, kind string
	meta             metav1.ListMeta
	left             int64 // remaining bytes of the list itself
	state            listState
}

type listState uint8

const (
	listNew   listState = iota
	listOpen            // inside the list's own bytes
	listAfter           // after them, in the envelope
	listEnd
)

// NewListReader returns a reader of a list in its envelope. It reads ahead. limit is the
// largest number of bytes of an item; 0 or less means [DefaultLimit].
func NewListReader(r io.Reader, limit int) *ListReader {
	return &ListReader{in: newInput(r, limit, readBuffer)}
}

// Open reads up to the list and returns its apiVersion and kind. They are empty if they do not
// precede the list; the API server sends them first. Call it only to check them before the first
// item, because the object may not be a list, but for example a Status. Errors: [ErrNoEnvelope],
// *[DecodeError], the errors of the stream; io.ErrUnexpectedEOF if it ends.
func (l *ListReader) Open() (apiVersion, kind string, err error) {
	if l.state == listNew {
		head, err := l.in.Peek(len(prefix))
		if !bytes.Equal(head, prefix) {
			if err == nil || err == io.EOF && len(head) > 0 {
				err = ErrNoEnvelope
			}
			return "", "", noEOF(err)
		}
		l.in.drop(len(prefix))
		l.state = listAfter
		for l.state == listAfter {
			if err := l.envelope(); err != nil {
				return "", "", noEOF(err)
			}
		}
	}
	return l.apiVersion, l.kind, nil
}

// Raw returns all of the object's own bytes that were not read yet, if they are within the
// limit. Use it if Open shows that the object is not a list. Errors: as Open, and
// [ErrTooLarge].
func (l *ListReader) Raw() ([]byte, error) {
	if _, _, err := l.Open(); err != nil {
		return nil, err
	}
	n := l.left
	l.left = 0
	return l.in.take(n)
}

// Meta returns the list's metadata as far as it was read: all of it at the end, and usually
// all of it before the first item.
func (l *ListReader) Meta() metav1.ListMeta { return l.meta }

// Offset returns the number of bytes used from the stream, without those read ahead.
func (l *ListReader) Offset() int64 { return l.in.offset }

// Next returns the next item's own bytes, which are valid until the next call. The error is
// io.EOF at the list's end, [ErrTooLarge] for an item beyond the limit, or as for Open. With
// ErrTooLarge Next also returns the item's beginning, up to 64 KiB, for [ParseMeta], and the
// next call continues with the item after it.
func (l *ListReader) Next() ([]byte, error) {
	if _, _, err := l.Open(); err != nil {
		return nil, err
	}
	if err := l.in.discardPending(); err != nil {
		return nil, err
	}
	for l.left > 0 {
		item, ok, err := l.member()
		if ok || err != nil {
			return item, noEOF(err)
		}
	}
	for l.state != listEnd {
		l.state = listAfter
		switch err := l.envelope(); {
		case err == io.EOF:
			l.state = listEnd
		case err != nil:
			return nil, err
		case l.state == listOpen:
			return nil, l.fail(errors.New("two objects in one envelope"))
		}
	}
	return nil, io.EOF
}

// envelope reads one field of the envelope. Of the object it only reads the length.
func (l *ListReader) envelope() error {
	left := int64(-1)
	num, wire, err := l.tag(&left)
	if err != nil {
		return err
	}
	if wire != wireBytes {
		if num <= 4 {
			return l.fail(ErrWireType)
		}
		return noEOF(l.skip(wire, &left))
	}
	n, err := l.length(&left)
	if err != nil {
		return noEOF(err)
	}
	switch num {
	case 1:
		data, err := l.in.take(n)
		if err != nil {
			return err
		}
		var e Envelope
		if err := e.typeMeta(data, rawField{wire: wireBytes, end: len(data)}); err != nil {
			return l.fail(err)
		}
		l.apiVersion, l.kind = string(e.APIVersion), string(e.Kind)
		return nil
	case 2:
		l.left, l.state = n, listOpen
		return nil
	}
	return l.in.discard(n)
}

// member reads one field of the list. It returns true for an item.
func (l *ListReader) member() (item []byte, ok bool, err error) {
	num, wire, err := l.tag(&l.left)
	if err != nil {
		return nil, false, err
	}
	if wire != wireBytes {
		if num == 1 || num == 2 {
			return nil, false, l.fail(ErrWireType)
		}
		return nil, false, l.skip(wire, &l.left)
	}
	n, err := l.length(&l.left)
	if err != nil {
		return nil, false, err
	}
	l.left -= n
	switch num {
	case 1:
		data, err := l.in.take(n)
		if err == nil {
			if err = l.meta.Unmarshal(data); err != nil {
				err = l.fail(err)
			}
		}
		return nil, false, err
	case 2:
		item, err = l.in.take(n)
		return item, err == nil, err
	}
	return nil, false, l.in.discard(n)
}

func (l *ListReader) tag(left *int64) (num int32, wire int, err error) {
	tag, err := l.varint(left)
	if err != nil {
		return 0, 0, err
	}
	if num, wire = int32(tag>>3), int(tag&7); num <= 0 {
		return 0, 0, l.fail(ErrTag)
	}
	return num, wire, nil
}

// length reads a length. If *left is not negative, the length must not exceed it.
func (l *ListReader) length(left *int64) (int64, error) {
	n, err := l.varint(left)
	switch {
	case err != nil:
		return 0, err
	case int64(n) < 0:
		return 0, l.fail(ErrLength)
	case *left >= 0 && int64(n) > *left:
		return 0, l.fail(io.ErrUnexpectedEOF)
	}
	return int64(n), nil
}

// varint reads a varint, within *left bytes if that is not negative.
func (l *ListReader) varint(left *int64) (uint64, error) {
	var v uint64
	for shift := uint(0); shift < 64; shift += 7 {
		if *left == 0 {
			return 0, l.fail(io.ErrUnexpectedEOF)
		}
		b, err := l.in.ReadByte()
		if err != nil {
			if shift > 0 {
				err = noEOF(err)
			}
			return 0, err
		}
		l.in.offset++
		if *left > 0 {
			*left--
		}
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v, nil
		}
	}
	return 0, l.fail(ErrOverflow)
}

// skip skips the value of an unknown field that is not length-delimited. Groups are refused.
func (l *ListReader) skip(wire int, left *int64) error {
	n := int64(8)
	switch wire {
	case wireVarint:
		_, err := l.varint(left)
		return err
	case wireFixed32:
		n = 4
	case wireFixed64:
	default:
		return l.fail(ErrTag)
	}
	if *left >= 0 {
		if n > *left {
			return l.fail(io.ErrUnexpectedEOF)
		}
		*left -= n
	}
	return l.in.discard(n)
}

func (l *ListReader) fail(err error) error {
	return &DecodeError{Offset: int(l.in.offset), Path: "list", Err: err}
}

// input is a stream from which pieces of known length are taken.
type input struct {
	*bufio.Reader
	stream  *resumed
	limit   int64
	offset  int64  // read so far
	pending int64  // remaining bytes of a piece that was too large
	large   []byte // for pieces that do not fit the buffer
}

// resumed is a stream of which some bytes were read ahead.
type resumed struct {
	ahead []byte
	io.Reader
}

// Read implements io.Reader.
func (r *resumed) Read(p []byte) (int, error) {
	if len(r.ahead) == 0 {
		return r.Reader.Read(p)
	}
	n := copy(p, r.ahead)
	if r.ahead = r.ahead[n:]; len(r.ahead) == 0 {
		r.ahead = nil
	}
	return n, nil
}

func newInput(r io.Reader, limit, buffer int) input {
	if limit <= 0 {
		limit = DefaultLimit
	}
	stream := &resumed{Reader: r}
	return input{Reader: bufio.NewReaderSize(stream, buffer), stream: stream, limit: int64(limit)}
}

// resize changes the buffer's size. It must not be smaller than the buffer's content.
func (in *input) resize(size int) {
	if in.Size() == size {
		return
	}
	rest, _ := in.Peek(in.Buffered())
	in.stream.ahead = append(bytes.Clone(rest), in.stream.ahead...)
	in.Reader = bufio.NewReaderSize(in.stream, size)
	_, _ = in.Peek(len(rest)) // so that they are in the buffer again
}

// drop consumes n bytes that were peeked at.
func (in *input) drop(n int) {
	_, _ = in.Discard(n) // they are buffered
	in.offset += int64(n)
}

// discardPending consumes the rest of a piece that was too large.
func (in *input) discardPending() error {
	n := in.pending
	in.pending = 0
	return in.discard(n)
}

func (in *input) discard(n int64) error {
	for n > 0 {
		done, err := in.Discard(int(min(n, 1<<30)))
		in.offset += int64(done)
		n -= int64(done)
		if err != nil {
			return noEOF(err)
		}
	}
	return nil
}

// take returns the next n bytes, which are valid until the next read, or the first of them
// with [ErrTooLarge]. Memory grows with the bytes that arrive, not with a claimed length.
func (in *input) take(n int64) ([]byte, error) {
	if n > int64(in.Size()) {
		in.resize(readBuffer)
	}
	if n > in.limit {
		start, err := in.Peek(int(min(n, readBuffer)))
		if err != nil {
			return nil, noEOF(err)
		}
		in.pending = n
		return start, fmt.Errorf("%w: %d bytes, the limit is %d", ErrTooLarge, n, in.limit)
	}
	if n <= readBuffer {
		data, err := in.Peek(int(n))
		if err == nil {
			in.drop(int(n))
		}
		return data, noEOF(err)
	}
	in.large = in.large[:0]
	for int64(len(in.large)) < n {
		have := len(in.large)
		if have == cap(in.large) {
			in.large = append(in.large, make([]byte, max(have, readBuffer))...)[:have]
		}
		piece := in.large[have:min(int64(cap(in.large)), n)]
		got, err := io.ReadFull(in.Reader, piece)
		in.offset += int64(got)
		in.large = in.large[:have+got]
		if err != nil {
			return nil, noEOF(err)
		}
	}
	return in.large, nil
}

// noEOF turns io.EOF into io.ErrUnexpectedEOF.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
