package decode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"github.com/go-json-experiment/json/jsontext"
)

// jsonReader is a Reader of JSON. It finds the end of a value by brackets and quotation marks,
// and holds the value to check its grammar. It does not hold a value over the limit, so it
// checks the grammar of such a value only in the members that are read.
type jsonReader struct {
	input
	opened []bool // of each open object and array: a member has been read
	text   []byte // the last name
}

// NewJSON returns the reader of a JSON body. limit is the largest number of bytes of one
// value.
func NewJSON(in io.Reader, limit int64) Reader {
	return &jsonReader{input: newInput(in, limit)}
}

// Ready implements Reader. Values at the top level end with a newline, and API servers write no
// other one. It does not look at more than inputRoom: the rest of a longer value is on its way, and without newlines a long
// look for each value would cost more than to decode it.
func (r *jsonReader) Ready() bool {
	rest := bytes.TrimLeft(r.buf[r.at:], " \t\r\n")
	return len(rest) > inputRoom || bytes.IndexByte(rest, '\n') >= 0
}

// token skips white space and returns the next byte. It returns io.EOF only between two values
// at the top level.
func (r *jsonReader) token() (byte, error) {
	for {
		c, err := r.next()
		if err != nil {
			return 0, r.end(err, len(r.opened) > 0)
		}
		if c > ' ' || bytes.IndexByte(space, c) < 0 {
			return c, nil
		}
		r.at++
	}
}

var space = []byte(" \t\r\n")

// end returns the error for a stream that ends, within a value or between values.
func (r *jsonReader) end(err error, within bool) error {
	if err == io.EOF && within {
		return &malformedError{encoding: "JSON", at: r.Offset(), err: io.ErrUnexpectedEOF}
	}
	return err
}

// Peek implements Reader.
func (r *jsonReader) Peek() (byte, error) {
	c, err := r.token()
	if err != nil {
		return 0, err
	}
	switch c {
	case '{', '}', '[', ']', '"', 'n', 't', 'f':
		return c, nil
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return '0', nil
	}
	return 0, r.unexpected(c)
}

func (r *jsonReader) unexpected(c byte) error {
	return &malformedError{encoding: "JSON", at: r.Offset(), err: fmt.Errorf("unexpected character %q", c)}
}

// Open implements Reader.
func (r *jsonReader) Open(delim byte) error {
	k, err := r.Peek()
	if err != nil {
		return err
	}
	if k != delim {
		return &ShapeError{Want: delim, Got: k}
	}
	r.at++
	r.opened = append(r.opened, false)
	return nil
}

// More implements Reader.
func (r *jsonReader) More(delim byte) (bool, error) {
	c, err := r.token()
	if err != nil {
		return false, err
	}
	some := &r.opened[len(r.opened)-1]
	switch {
	case c == delim:
		r.at++
		r.opened = r.opened[:len(r.opened)-1]
		return false, nil
	case !*some:
		*some = true
		return true, nil
	case c != ',':
		return false, r.unexpected(c)
	}
	r.at++
	return true, nil
}

// Name implements Reader.
func (r *jsonReader) Name() ([]byte, error) {
	if c, err := r.token(); err != nil {
		return nil, err
	} else if c != '"' {
		return nil, r.unexpected(c)
	}
	raw, err := r.Value()
	if err = ignoreLimit(err); err != nil {
		return nil, err
	}
	text, _ := Text(raw)
	r.text = append(r.text[:0], text...)
	c, err := r.token()
	if err != nil {
		return nil, err
	}
	if c != ':' {
		return nil, r.unexpected(c)
	}
	r.at++
	return r.text, nil
}

// Value implements Reader.
func (r *jsonReader) Value() ([]byte, error) {
	raw, err := r.Raw()
	if err != nil {
		return raw, err
	}
	return raw, r.Check(raw)
}

// Raw implements Reader.
func (r *jsonReader) Raw() ([]byte, error) {
	raw, err := r.whole()
	if err == ErrOverLimit {
		return oversized(r)
	}
	return raw, err
}

// Check implements Reader.
func (r *jsonReader) Check(raw []byte) error { return checkSyntax(raw, r.Offset()-int64(len(raw))) }

// whole reads a value without a check. After ErrOverLimit the value is still there.
func (r *jsonReader) whole() ([]byte, error) {
	k, err := r.Peek()
	if err == nil && (k == '}' || k == ']') {
		err = r.unexpected(k)
	}
	if err != nil {
		return nil, err
	}
	r.hold()
	defer r.release()
	err = r.pass(true)
	switch {
	case r.tooLarge():
		r.rewind()
		return nil, ErrOverLimit
	case err != nil:
		return nil, err
	}
	return r.held(), nil
}

// Skip implements Reader.
func (r *jsonReader) Skip() error {
	raw, err := r.whole()
	switch err {
	case nil:
		return r.Check(raw)
	case ErrOverLimit:
		return r.pass(false)
	}
	return err
}

// pass consumes a value. If the value is held, pass stops a little after the limit.
func (r *jsonReader) pass(held bool) error {
	var end valueEnd
	for {
		n, done := end.find(r.buf[r.at:])
		if r.at += n; done || held && r.tooLarge() {
			return nil
		}
		if err := r.fill(); err == io.EOF && end.literal {
			return nil
		} else if err != nil {
			return r.end(err, true)
		}
	}
}

// valueEnd finds the end of a JSON value that arrives in pieces, by its brackets and quotation
// marks.
type valueEnd struct {
	depth   int
	text    bool // within a string
	escape  bool // after a backslash that begins an escape sequence
	literal bool // within a number, true, false or null
}

// These bytes determine the end of a value; all others belong to literals.
const (
	quote = 1 + iota
	opening
	closing
	between
)

var marks = [256]uint8{
	'"': quote, '{': opening, '[': opening, '}': closing, ']': closing,
	',': between, ':': between, ' ': between, '\t': between, '\r': between, '\n': between,
}

// find returns the number of bytes of b that belong to the value, and whether the value ends
// there.
func (v *valueEnd) find(b []byte) (n int, done bool) {
	i := 0
	if v.text {
		if i = v.findQuote(b, 0); v.text || v.depth == 0 {
			return i, !v.text
		}
	}
	for i < len(b) {
		mark := marks[b[i]]
		if mark != 0 && v.literal {
			return i, true
		}
		i++
		switch mark {
		case 0:
			v.literal = v.depth == 0
		case quote:
			if end := special(b, i); end < len(b) && b[end] == '"' {
				i = end + 1
			} else if i = v.findQuote(b, end); v.text {
				return i, false
			}
			if v.depth == 0 {
				return i, true
			}
		case opening:
			v.depth++
		case closing:
			if v.depth--; v.depth <= 0 {
				return i, true
			}
		}
	}
	return len(b), false
}

// findQuote returns the position after the quotation mark that ends the string of which b[i] is a part.
func (v *valueEnd) findQuote(b []byte, i int) int {
	if v.escape && i < len(b) {
		v.escape = false
		i++
	}
	for i < len(b) {
		i = special(b, i)
		if i < len(b) && b[i] == '"' {
			v.text = false
			return i + 1
		}
		i += 2 // a backslash and what it escapes
	}
	v.text, v.escape = true, i == len(b)+1
	return len(b)
}

// special returns the position of the next quotation mark or backslash from i on, or len(b). It looks at
// eight bytes at a time: most strings are too short for a call of bytes.IndexByte to pay.
func special(b []byte, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		quotes, slashes := w^'"'*ones, w^'\\'*ones
		// The lowest high bit that is set belongs to the first byte that is zero.
		if found := ((quotes-ones)&^quotes | (slashes-ones)&^slashes) & highs; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(b) && b[i] != '"' && b[i] != '\\'; i++ {
	}
	return i
}

// checkSyntax returns a *malformedError unless raw is exactly one JSON value. raw began at
// offset in the stream.
func checkSyntax(raw []byte, offset int64) error {
	if jsontext.Value(raw).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
		return nil
	}
	dec := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	_, err := dec.ReadValue()
	if err == nil {
		_, err = dec.ReadValue()
	}
	var syntax *jsontext.SyntacticError
	switch {
	case errors.As(err, &syntax):
		return &malformedError{encoding: "JSON", at: offset + syntax.ByteOffset, err: syntax.Err}
	case err != nil:
		return &malformedError{encoding: "JSON", at: offset, err: io.ErrUnexpectedEOF}
	}
	return &malformedError{encoding: "JSON", at: offset, err: errors.New("more than one JSON value")}
}

// Delimit returns the one JSON value in body, without anything around it.
func Delimit(body []byte) ([]byte, error) {
	raw := bytes.TrimSpace(body)
	if len(raw) == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	return raw, checkSyntax(raw, int64(len(body)-len(bytes.TrimLeft(body, " \t\r\n"))))
}
