package decode

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// Reader reads a body of JSON member by member. It holds at most one value. Its errors do not name a
// library. They wrap io.ErrUnexpectedEOF if a body ends too early.
//
// A walk finds the end of a value and checks its grammar. If the walk is unsure, the reader finds
// the end by brackets and quotation marks, and leaves the grammar to the library. It does not hold a
// value over the limit, so it checks the grammar of such a value only in the members that are read.
type Reader struct {
	input
	opened []bool // of each open object and array: a member has been read
	text   []byte // the last name
}

// NewJSON returns the reader of a JSON body. limit is the largest number of bytes of one
// value.
func NewJSON(in io.Reader, limit int64) *Reader {
	return &Reader{input: newInput(in, limit)}
}

// Ready reports whether another value at the top level was most likely read ahead, between two of
// them. Values at the top level end with a newline, and API servers write no other one. It does not
// look at more than inputRoom: the rest of a longer value is on its way, and without newlines a
// long look for each value would cost more than to decode it.
func (r *Reader) Ready() bool {
	rest := bytes.TrimLeft(r.buf[r.at:], " \t\r\n")
	return len(rest) > inputRoom || bytes.IndexByte(rest, '\n') >= 0
}

// token skips white space and returns the next byte. It returns io.EOF only between two values
// at the top level.
func (r *Reader) token() (byte, error) {
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
func (r *Reader) end(err error, within bool) error {
	if err == io.EOF && within {
		return &malformedError{at: r.Offset(), err: io.ErrUnexpectedEOF}
	}
	return err
}

// Peek returns the first byte of the next item: one of {}[]"0ntf. If nothing can be read it returns
// the error, which is io.EOF between two values at the top level.
func (r *Reader) Peek() (byte, error) {
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

func (r *Reader) unexpected(c byte) error {
	return &malformedError{at: r.Offset(), err: fmt.Errorf("unexpected character %q", c)}
}

// Open reads delim, which is { or [. Anything else there is a *ShapeError.
func (r *Reader) Open(delim byte) error {
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

// More reports whether another member or element comes before delim. If none does, it reads delim.
func (r *Reader) More(delim byte) (bool, error) {
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

// Name reads the name of a member, which comes before its value. It is valid until the next call of
// any method, and empty if it is over the limit or not a string.
func (r *Reader) Name() ([]byte, error) {
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

// Value reads a whole value. The slice is valid until the next call of any method. With ErrOverLimit
// the slice is an object with the members of the value's header, wherever they are in the value, and
// the reader is after the value. After any other error it is of no use.
func (r *Reader) Value() ([]byte, error) {
	raw, err := r.whole(nil)
	if err == ErrOverLimit {
		return oversized(r)
	}
	return raw, err
}

// Object is Value. If s is not nil, it sets *s to the state of an object. That is valid as long as
// the slice.
func (r *Reader) Object(s *State) ([]byte, error) {
	if s == nil {
		return r.Value()
	}
	var spans stateSpans
	raw, err := r.whole(&spans)
	if err == ErrOverLimit {
		return oversized(r)
	}
	*s = spans.state(raw)
	return raw, err
}

// whole reads a value, and notes the state of an object if s is not nil. After ErrOverLimit the
// value is still there.
func (r *Reader) whole(s *stateSpans) ([]byte, error) {
	k, err := r.Peek()
	if err == nil && (k == '}' || k == ']') {
		err = r.unexpected(k)
	}
	if err != nil {
		return nil, err
	}
	r.hold()
	defer r.release()
	if r.walk(k, s) {
		return r.held(), nil
	}
	err = r.pass(true)
	switch {
	case r.tooLarge():
		r.rewind()
		return nil, ErrOverLimit
	case err != nil:
		return nil, err
	}
	raw := r.held()
	return raw, checkSyntax(raw, r.Offset()-int64(len(raw)))
}

// walk consumes the held value, which begins with k, if a walk is sure about it. Otherwise s is
// none.
func (r *Reader) walk(k byte, s *stateSpans) bool {
	w := walkOf(&r.input)
	end := unsure
	switch {
	case s != nil && k == '{':
		end = w.object(s)
	case k == '{' || k == '[' || k == '"': // all others end with what follows, or with the stream
		end = w.value(0, 0)
	}
	if end < 0 || int64(end) > r.most {
		if s != nil {
			*s = stateSpans{}
		}
		return false
	}
	r.at = r.from + end
	return true
}

// Skip skips a value without holding it.
func (r *Reader) Skip() error {
	_, err := r.whole(nil)
	if err == ErrOverLimit {
		return r.pass(false)
	}
	return err
}

// pass consumes a value. If the value is held, pass stops a little after the limit.
func (r *Reader) pass(held bool) error {
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
			if i = v.findQuote(b, i); v.text {
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

// findQuote returns the position after the quotation mark that ends the string of which b[i] is a
// part.
func (v *valueEnd) findQuote(b []byte, i int) int {
	if v.escape && i < len(b) {
		v.escape = false
		i++
	}
	for i < len(b) {
		i = stop(b, i)
		switch {
		case i == len(b):
		case b[i] == '"':
			v.text = false
			return i + 1
		case b[i] == '\\':
			i += 2 // what it escapes, too
		default:
			i++ // a control character
		}
	}
	v.text, v.escape = true, i == len(b)+1
	return len(b)
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
		return &malformedError{at: offset + syntax.ByteOffset, err: syntax.Err}
	case err != nil:
		return &malformedError{at: offset, err: io.ErrUnexpectedEOF}
	}
	return &malformedError{at: offset, err: errors.New("more than one JSON value")}
}

// Delimit returns the one JSON value in body, without anything around it.
func Delimit(body []byte) ([]byte, error) {
	raw := bytes.TrimSpace(body)
	if len(raw) == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	return raw, checkSyntax(raw, int64(len(body)-len(bytes.TrimLeft(body, " \t\r\n"))))
}
