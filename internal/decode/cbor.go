package decode

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// CBOR is read as the JSON that it stands for, by apimachinery's rules: strings are byte
// strings, a tag marks bytes that become base64, times are texts, and floats stay floats. (RFC
// 8949; https://kep.k8s.io/4222) Package client documents the differences from the result of
// apimachinery's serializer.

// maxDepth is the limit for the nesting of values, as in JSON.
const maxDepth = 10_000

// cborReader is a Reader of CBOR. It transcodes a value while it reads it. It also holds the
// bytes read, so that it can read a value over the limit again, member by member.
type cborReader struct {
	input
	head   *item  // read but not consumed; nil if none is
	room   item   // the item that head points to
	opened []span // the maps and arrays that are being read
	out    []byte // the last value as JSON
	text   []byte // the last string
	idle   bool   // the value is skipped: out stays empty
	fault  error  // the first fault of the value
}

// Unchecked implements Reader.
func (r *cborReader) Unchecked() ([]byte, error) { return r.Value() }

// Check implements Reader. Transcoded values are well-formed.
func (r *cborReader) Check([]byte) error { return nil }

// Ready implements Reader. CBOR has no mark that shows the end of a value without reading it.
func (r *cborReader) Ready() bool { return r.at < len(r.buf) }

// span is a map or an array with the number of members left; negative if a break ends it.
type span struct {
	delim byte
	left  int64
}

// item is the head of a data item, behind its tags.
type item struct {
	major byte
	info  byte
	arg   uint64
	tag   tag // the innermost tag that matters

	tagged bool // whether there is any tag
}

// The major types.
const (
	cborUint = iota
	cborNegative
	cborBytes
	cborText
	cborArray
	cborMap
	cborTag
	cborSimple
)

// indefinite is the additional information of a span or string that a break ends.
const indefinite = 31

// NewCBOR returns the reader of a CBOR body. limit is the largest number of bytes of one
// value, both as CBOR and as JSON.
func NewCBOR(in io.Reader, limit int64) Reader { return newCBOR(in, limit) }

func newCBOR(in io.Reader, limit int64) *cborReader {
	return &cborReader{input: newInput(in, limit)}
}

// CBORToJSON transcodes a body of one value. With a *FaultError it also returns the JSON. It
// returns ErrOverLimit for more than limit bytes of JSON.
func CBORToJSON(body []byte, limit int64) ([]byte, error) {
	r := newCBOR(bytes.NewReader(body), limit)
	raw, err := r.Value()
	if err == io.EOF {
		return nil, io.ErrUnexpectedEOF
	}
	var fault *FaultError
	if err == nil || errors.As(err, &fault) {
		if _, end := r.Peek(); end != io.EOF {
			return nil, r.malformed("more than one value")
		}
	}
	return raw, err
}

func (r *cborReader) malformed(text string) error {
	return &malformedError{encoding: "CBOR", at: r.Offset(), err: errors.New(text)}
}

// readByte reads a byte that must be there.
func (r *cborReader) readByte() (byte, error) {
	if r.at == len(r.buf) {
		if err := r.fill(); err == io.EOF {
			return 0, r.early()
		} else if err != nil {
			return 0, err
		}
	}
	r.at++
	return r.buf[r.at-1], nil
}

// early returns the error for a stream that ends within a value.
func (r *cborReader) early() error {
	return &malformedError{encoding: "CBOR", at: r.Offset(), err: io.ErrUnexpectedEOF}
}

// first returns the next item's head and leaves it there.
func (r *cborReader) first() (*item, error) {
	if r.head != nil {
		return r.head, nil
	}
	if len(r.opened) == 0 {
		if _, err := r.next(); err != nil {
			return nil, err // io.EOF between two values
		}
	}
	r.room = item{}
	for {
		if err := r.initial(); err != nil {
			return nil, err
		}
		if r.room.major != cborTag {
			r.head = &r.room
			return r.head, nil
		}
		r.room.tag, r.room.tagged = r.room.tag.around(r.room.arg), true
	}
}

// initial reads one initial byte and its argument into room.
func (r *cborReader) initial() error {
	b, err := r.readByte()
	if err != nil {
		return err
	}
	r.room.major, r.room.info, r.room.arg = b>>5, b&31, uint64(b&31)
	switch info := r.room.info; {
	case info < 24:
	case info < 28:
		r.room.arg = 0
		for range 1 << (info - 24) {
			b, err := r.readByte()
			if err != nil {
				return err
			}
			r.room.arg = r.room.arg<<8 | uint64(b)
		}
	case info < indefinite, r.room.major < cborBytes, r.room.major == cborTag:
		return r.malformed(fmt.Sprintf("no value begins with %#02x", b))
	}
	return nil
}

// take returns the next item's head and consumes it.
func (r *cborReader) take() (item, error) {
	h, err := r.first()
	if err != nil {
		return item{}, err
	}
	r.head = nil
	return *h, nil
}

func (i *item) isBreak() bool { return i.major == cborSimple && i.info == indefinite }

// kind returns the first byte of the item's JSON; 0 for a break.
func (i *item) kind() byte {
	switch i.major {
	case cborBytes, cborText:
		return '"'
	case cborArray:
		return '['
	case cborMap:
		return '{'
	case cborSimple:
		switch {
		case i.isBreak():
			return 0
		case i.info == 20:
			return 'f'
		case i.info == 21:
			return 't'
		case i.info < 25 || i.info > 27:
			return 'n'
		}
	}
	return '0'
}

// Peek implements Reader.
func (r *cborReader) Peek() (byte, error) {
	h, err := r.first()
	if err != nil {
		return 0, err
	}
	if h.isBreak() {
		return 0, r.malformed("a break outside of what it could end")
	}
	return h.kind(), nil
}

// Open implements Reader.
func (r *cborReader) Open(delim byte) error {
	k, err := r.Peek()
	if err != nil {
		return err
	}
	if k != delim {
		return &ShapeError{Want: delim, Got: k}
	}
	h, _ := r.take()
	s, err := r.span(h)
	r.opened = append(r.opened, s)
	return err
}

// span returns the map or array that a head begins.
func (r *cborReader) span(h item) (span, error) {
	s := span{delim: h.kind(), left: int64(h.arg)}
	switch {
	case h.info == indefinite:
		s.left = -1
	case s.left < 0:
		return s, r.malformed("a length beyond all bounds")
	}
	return s, nil
}

// More implements Reader.
func (r *cborReader) More(byte) (bool, error) {
	s := &r.opened[len(r.opened)-1]
	more, err := r.another(s)
	if err == nil && !more {
		r.opened = r.opened[:len(r.opened)-1]
	}
	return more, err
}

// another reports whether the span has another member.
func (r *cborReader) another(s *span) (bool, error) {
	if s.left >= 0 {
		s.left--
		return s.left >= 0, nil
	}
	h, err := r.first()
	if err == nil && h.isBreak() {
		r.head = nil
		return false, nil
	}
	return err == nil, err
}

// Name implements Reader.
func (r *cborReader) Name() ([]byte, error) {
	raw, err := r.Value()
	text, _ := Text(raw)
	return text, ignoreLimit(err)
}

// Value implements Reader.
func (r *cborReader) Value() ([]byte, error) {
	err := r.whole()
	switch {
	case err == ErrOverLimit:
		return oversized(r)
	case err != nil:
		return nil, err
	case r.fault != nil:
		return r.out, &FaultError{r.fault}
	}
	return r.out, nil
}

// whole transcodes a value. After ErrOverLimit the value is still there.
func (r *cborReader) whole() error {
	r.out, r.idle, r.fault = r.out[:0], false, nil
	head, room := r.head, r.room
	r.hold()
	defer r.release()
	if _, err := r.Peek(); err != nil {
		return err
	}
	err := r.transcode(len(r.opened))
	if err == ErrOverLimit {
		r.rewind()
		r.head, r.room = head, room
	}
	return err
}

// Skip implements Reader.
func (r *cborReader) Skip() error {
	r.out, r.idle, r.fault = r.out[:0], true, nil
	if _, err := r.Peek(); err != nil {
		return err
	}
	return r.transcode(len(r.opened))
}
