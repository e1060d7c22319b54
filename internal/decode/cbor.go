package decode

import (
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// maxDepth is the limit for the nesting of values and tags, as in JSON.
	maxDepth = 10_000
	// maxEndless is the same limit for arrays that end with a break. The library counts the members
	// of each before it decodes them, so that those of the innermost are passed over once per
	// array.
	maxEndless = 64
)

// cborReader is a Reader of CBOR (RFC 8949). It finds the ends of values by their heads, and leaves
// their content to the library.
type cborReader struct {
	input
	any    Weights // of values that become JSON
	opened []int64 // members left of each open map and array; negative if a break ends it
	nest   []nested
	breaks int    // arrays in nest that a break ends
	out    []byte // the last value as JSON
}

// NewCBOR returns the reader of a CBOR body. limit is the largest number of bytes of one value.
func NewCBOR(in io.Reader, limit int64) Reader {
	return &cborReader{input: newInput(in, limit), any: NewWeights(reflect.TypeFor[any](), limit)}
}

// cborOf returns the reader of CBOR in memory. It does not limit values.
func cborOf(raw []byte) *cborReader {
	return &cborReader{input: input{buf: raw, err: io.EOF, from: -1, most: Unlimited}, any: Weights{Most: Unlimited}}
}

// head is the beginning of a data item.
type head struct {
	major, info byte
	arg         uint64
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

// indefinite is the additional information of an item that a break ends, and of the break.
const indefinite = 31

func (h head) isBreak() bool { return h.major == cborSimple && h.info == indefinite }

// kind returns the first byte of the item's JSON.
func (h head) kind() byte {
	switch h.major {
	case cborBytes, cborText:
		return '"'
	case cborArray:
		return '['
	case cborMap:
		return '{'
	case cborSimple:
		switch h.info {
		case 20:
			return 'f'
		case 21:
			return 't'
		case 25, 26, 27:
			return '0'
		}
		return 'n'
	}
	return '0'
}

// readHead reads the head that begins b. n is its size; 0 if b ends within it, or negative if no
// value begins so.
func readHead(b []byte) (h head, n int) {
	if len(b) == 0 {
		return h, 0
	}
	h = head{major: b[0] >> 5, info: b[0] & 31, arg: uint64(b[0] & 31)}
	switch {
	case h.info < 24:
		return h, 1
	case h.info < 28:
		size := 1 << (h.info - 24)
		if len(b) <= size {
			return h, 0
		}
		h.arg = 0
		for _, c := range b[1 : 1+size] {
			h.arg = h.arg<<8 | uint64(c)
		}
		if h.major == cborSimple && h.info == 24 && h.arg < 32 {
			return h, -1
		}
		return h, 1 + size
	case h.info < indefinite, h.major < cborBytes, h.major == cborTag:
		return h, -1
	}
	return h, 1
}

// head consumes the next head.
func (r *cborReader) head() (head, error) {
	for {
		h, n := readHead(r.buf[r.at:])
		if n > 0 {
			r.at += n
			return h, nil
		}
		if n < 0 {
			return h, r.malformed(fmt.Sprintf("no value begins with %#02x", r.buf[r.at]))
		}
		if err := r.more(); err != nil {
			return h, err
		}
	}
}

// more is fill within a value.
func (r *cborReader) more() error {
	err := r.fill()
	if err == io.EOF {
		return &malformedError{encoding: "CBOR", at: r.Offset(), err: io.ErrUnexpectedEOF}
	}
	return err
}

func (r *cborReader) malformed(text string) error {
	return &malformedError{encoding: "CBOR", at: r.Offset(), err: errors.New(text)}
}

// untagged consumes the next head that is no tag, and the tags before it.
func (r *cborReader) untagged() (head, error) {
	for range maxDepth {
		h, err := r.head()
		if err != nil || h.major != cborTag {
			return h, err
		}
	}
	return head{}, r.malformed("values nested too deeply")
}

// Peek implements Reader.
func (r *cborReader) Peek() (byte, error) {
	if len(r.opened) == 0 {
		if _, err := r.next(); err != nil {
			return 0, err // io.EOF between two values
		}
	}
	r.hold()
	defer r.release()
	h, err := r.untagged()
	r.rewind()
	if err == nil && h.isBreak() {
		err = r.malformed("a break outside of what it could end")
	}
	return h.kind(), err
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
	h, err := r.untagged()
	if err != nil {
		return err
	}
	left, err := r.members(h)
	r.opened = append(r.opened, left)
	return err
}

// members returns the number of members that a head announces; -1 if a break ends them.
func (r *cborReader) members(h head) (int64, error) {
	switch {
	case h.info == indefinite:
		return -1, nil
	case h.arg > math.MaxInt64/2:
		return 0, r.malformed("a length beyond all bounds")
	}
	return int64(h.arg), nil
}

// More implements Reader.
func (r *cborReader) More(byte) (bool, error) {
	left := &r.opened[len(r.opened)-1]
	if *left < 0 {
		if r.at == len(r.buf) {
			if err := r.more(); err != nil {
				return false, err
			}
		}
		if h, _ := readHead(r.buf[r.at:]); !h.isBreak() {
			return true, nil
		}
		r.at++
		*left = 0
	}
	if *left == 0 {
		r.opened = r.opened[:len(r.opened)-1]
		return false, nil
	}
	*left--
	return true, nil
}

// Name implements Reader. It does not look into a name that is not a string: such names can nest.
func (r *cborReader) Name() ([]byte, error) {
	if k, err := r.Peek(); err != nil || k != '"' {
		if err == nil {
			err = r.Skip()
		}
		return nil, err
	}
	raw, err := r.Value()
	text, _ := Text(raw)
	return text, ignoreLimit(err)
}

// Value implements Reader.
func (r *cborReader) Value() ([]byte, error) {
	raw, err := r.Object(nil)
	if err != nil {
		return raw, err
	}
	if err := r.any.checkCBOR(raw); err != nil {
		return nil, err
	}
	if text, ok := cborString(raw); ok {
		r.out, _ = jsontext.AppendQuote(r.out[:0], text) // the only possible error is about invalid UTF-8
		return r.out, nil
	}
	return cborToJSON(raw)
}

// cborString returns the content of a string in one piece without a tag. ok is false for all other
// values, and for text that is not UTF-8.
func cborString(raw []byte) (text []byte, ok bool) {
	h, n := readHead(raw)
	if h.kind() != '"' || h.info == indefinite || h.major == cborText && !utf8.Valid(raw[n:]) {
		return nil, false
	}
	return raw[n:], true
}

// Object implements Reader.
func (r *cborReader) Object(s *State) ([]byte, error) {
	raw, err := r.whole()
	if err == ErrOverLimit {
		return oversized(r)
	}
	if err == nil && s != nil {
		h := cborHeader(raw)
		*s = h.state()
	}
	return raw, err
}

// whole reads a value. After ErrOverLimit the value is still there.
func (r *cborReader) whole() ([]byte, error) {
	if _, err := r.Peek(); err != nil {
		return nil, err
	}
	r.hold()
	defer r.release()
	if err := r.pass(); err != nil {
		if err == ErrOverLimit {
			r.rewind()
		}
		return nil, err
	}
	return r.held(), nil
}

// Skip implements Reader.
func (r *cborReader) Skip() error {
	if _, err := r.Peek(); err != nil {
		return err
	}
	return r.pass()
}

// Ready implements Reader. CBOR has no mark that shows the end of a value without reading it.
func (r *cborReader) Ready() bool { return r.at < len(r.buf) }

// nested is an item that consists of others.
type nested struct {
	left   int64 // items before its end; negative if a break ends it
	pieces byte  // their major type, if they are the pieces of a string
	name   bool  // the items are names and values of members
}

// endless reports whether n is an array that a break ends.
func (n *nested) endless() bool { return n.left < 0 && n.pieces == 0 && !n.name }

// pass consumes a value. If the value is held, it returns ErrOverLimit once the value is over the
// limit.
func (r *cborReader) pass() error {
	r.nest, r.breaks = r.nest[:0], 0
	for {
		h, err := r.head()
		if err != nil {
			return err
		}
		done, err := r.enter(h)
		if err != nil {
			return err
		}
		if r.from >= 0 && r.tooLarge() {
			return ErrOverLimit
		}
		if done && r.leave() {
			return nil
		}
		if len(r.nest)+len(r.opened) > maxDepth || r.breaks > maxEndless {
			return r.malformed("values nested too deeply")
		}
	}
}

// enter begins the item of a head, and reports whether the item is complete.
func (r *cborReader) enter(h head) (done bool, err error) {
	var in *nested
	if n := len(r.nest); n > 0 {
		in = &r.nest[n-1]
	}
	switch {
	case h.isBreak():
		if in == nil || in.left >= 0 || in.left == -2 {
			return false, r.malformed("a break outside of what it could end")
		}
		if in.endless() {
			r.breaks--
		}
		r.nest = r.nest[:len(r.nest)-1]
		return true, nil
	case in != nil && in.pieces != 0 && (h.major != in.pieces || h.info == indefinite):
		return false, r.malformed("a string with something else in it")
	}
	item := nested{left: 1}
	switch h.major {
	case cborBytes, cborText:
		if h.info != indefinite {
			return true, r.skipBytes(h.arg)
		}
		item = nested{left: -1, pieces: h.major}
	case cborArray, cborMap:
		if item.left, err = r.members(h); err != nil || item.left == 0 {
			return true, err
		}
		if item.name = h.major == cborMap; item.name && item.left > 0 {
			item.left *= 2
		}
	case cborTag:
	default:
		return true, nil
	}
	if item.endless() {
		r.breaks++
	}
	r.nest = append(r.nest, item)
	return false, nil
}

// leave ends an item, and all that end with it. It reports whether the value ends.
func (r *cborReader) leave() bool {
	for n := len(r.nest); n > 0; n = len(r.nest) {
		in := &r.nest[n-1]
		if in.left < 0 {
			if in.name {
				in.left = -3 - in.left // -1 before a name, -2 before its value
			}
			return false
		}
		if in.left--; in.left > 0 {
			return false
		}
		r.nest = r.nest[:n-1]
	}
	return true
}

// skipBytes consumes n bytes. Memory grows with the bytes that arrive, not with the claimed n.
func (r *cborReader) skipBytes(n uint64) error {
	for {
		piece := min(n, uint64(len(r.buf)-r.at))
		r.at += int(piece)
		if n -= piece; n == 0 {
			return nil
		}
		if r.from >= 0 && r.tooLarge() {
			return ErrOverLimit
		}
		if err := r.more(); err != nil {
			return err
		}
	}
}
