package decode

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// tag is a tag that matters. The other tags, for example the one that marks a value as CBOR,
// add nothing that JSON has.
type tag byte

const (
	untagged tag = iota
	timeText
	timeNumber
	bignum
	base64URL
	base64Padded
	base16
	misplaced // a tag on a value that it cannot mark
)

// around returns the effective tag of a value with tag t inside a tag with the given number.
func (t tag) around(number uint64) tag {
	if t.special() {
		return misplaced
	}
	switch number {
	case 0:
		return timeText
	case 1:
		return timeNumber
	case 2, 3:
		return bignum
	case 21:
		return base64URL
	case 22:
		return base64Padded
	case 23:
		return base16
	}
	return t
}

// special reports whether the tag turns its value into another value, and not just into
// another text.
func (t tag) special() bool {
	return t == timeText || t == timeNumber || t == bignum || t == misplaced
}

// transcode appends the next value to out as JSON, unless the reader is idle. A value that
// JSON cannot express becomes null, and the fault is remembered. After ErrOverLimit the value
// is partly read.
func (r *cborReader) transcode(depth int) error {
	h, err := r.take()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return err
	}
	if depth >= maxDepth {
		return r.malformed("values nested too deeply")
	}
	if h.tag.special() {
		err = r.tagged(h, depth)
	} else {
		err = r.content(h, depth)
	}
	if err == nil && r.over(0) {
		return ErrOverLimit
	}
	return err
}

// over reports whether the value is over the limit, either as CBOR or as JSON with n more
// bytes.
func (r *cborReader) over(n int) bool {
	return !r.idle && (int64(len(r.out)+n) > r.most || r.tooLarge())
}

// tagged transcodes a value with a special tag.
func (r *cborReader) tagged(h item, depth int) error {
	t, out, before := h.tag, len(r.out), r.fault
	h.tag = untagged
	if err := r.content(h, depth); err != nil {
		return err
	}
	if r.idle || r.fault != before {
		return nil
	}
	var at time.Time
	var err error
	switch {
	case t == timeText && h.major == cborText:
		at, err = time.Parse(time.RFC3339, string(r.text))
	case t == timeNumber && h.kind() == '0':
		at, err = epoch(string(r.out[out:]))
	case t == bignum:
		err = errors.New("an integer of more than 64 bits")
	default:
		err = fmt.Errorf("%s in a tag that is not for it", KindName(h.kind()))
	}
	text := []byte(nil)
	if err == nil {
		text, err = at.MarshalText() // fails beyond the year 9999
	}
	r.out = r.out[:out]
	if err != nil {
		r.unfit("%w", err)
		return nil
	}
	r.put(`"` + string(text) + `"`)
	return nil
}

// epoch returns the time for a JSON number of seconds since 1970.
func epoch(number string) (time.Time, error) {
	if seconds, err := strconv.ParseInt(number, 10, 64); err == nil {
		return time.Unix(seconds, 0).UTC(), nil
	}
	seconds, err := strconv.ParseFloat(number, 64)
	if err != nil || math.Abs(seconds) > math.MaxInt64 || !strings.ContainsAny(number, ".e") {
		return time.Time{}, fmt.Errorf("no time is %s seconds after 1970", number)
	}
	whole, part := math.Modf(seconds)
	return time.Unix(int64(whole), int64(part*1e9)).UTC(), nil
}

// content transcodes a value without a special tag.
func (r *cborReader) content(h item, depth int) error {
	switch h.major {
	case cborUint:
		r.text = strconv.AppendUint(r.text[:0], h.arg, 10)
		r.putBytes(r.text)
	case cborNegative:
		if h.arg == math.MaxUint64 {
			r.put("-18446744073709551616")
			return nil
		}
		r.text = strconv.AppendUint(append(r.text[:0], '-'), h.arg+1, 10)
		r.putBytes(r.text)
	case cborBytes, cborText:
		return r.string(h)
	case cborArray:
		return r.array(h, depth)
	case cborMap:
		return r.object(h, depth)
	default:
		return r.simple(h)
	}
	return nil
}

// put appends JSON.
func (r *cborReader) put(json string) {
	if !r.idle {
		r.out = append(r.out, json...)
	}
}

func (r *cborReader) putBytes(json []byte) {
	if !r.idle {
		r.out = append(r.out, json...)
	}
}

// unfit writes null for a value that cannot be expressed.
func (r *cborReader) unfit(format string, args ...any) {
	if r.fault == nil {
		r.fault = fmt.Errorf(format+" at byte %d", append(args, r.Offset())...)
	}
	r.put("null")
}

func (r *cborReader) array(h item, depth int) error {
	s, err := r.span(h)
	if err != nil {
		return err
	}
	r.put("[")
	for first := true; ; first = false {
		more, err := r.another(&s)
		if err != nil {
			return err
		}
		if !more {
			r.put("]")
			return nil
		}
		if !first {
			r.put(",")
		}
		if err := r.transcode(depth + 1); err != nil {
			return err
		}
	}
}

func (r *cborReader) object(h item, depth int) error {
	s, err := r.span(h)
	if err != nil {
		return err
	}
	r.put("{")
	for first := true; ; first = false {
		more, err := r.another(&s)
		if err != nil {
			return err
		}
		if !more {
			r.put("}")
			return nil
		}
		if !first {
			r.put(",")
		}
		if err := r.memberName(depth + 1); err != nil {
			return err
		}
		r.put(":")
		if err := r.transcode(depth + 1); err != nil {
			return err
		}
	}
}

// memberName transcodes the name of a member, which in JSON is a string.
func (r *cborReader) memberName(depth int) error {
	h, err := r.first()
	if err != nil {
		return err
	}
	if h.kind() == '"' {
		return r.transcode(depth)
	}
	// Any name will do for a value that cannot be used.
	out := len(r.out)
	err = r.transcode(depth)
	r.out = r.out[:out]
	r.put(`""`)
	if r.fault == nil {
		r.fault = fmt.Errorf("the name of a member is not a string at byte %d", r.Offset())
	}
	return err
}

// string transcodes a string of bytes or text, which may come in pieces.
func (r *cborReader) string(h item) error {
	r.text = r.text[:0]
	if h.major == cborText {
		h.tag = untagged // texts stay as they are
	}
	if h.info != indefinite {
		if err := r.bytes(h.major, h.arg); err != nil {
			return err
		}
		return r.putString(h.tag)
	}
	for {
		piece, err := r.take()
		switch {
		case err != nil:
			return err
		case piece.isBreak():
			return r.putString(h.tag)
		case piece.major != h.major || piece.info == indefinite || piece.tagged:
			return r.malformed("a string with something else in it")
		}
		if err := r.bytes(piece.major, piece.arg); err != nil {
			return err
		}
	}
}

// bytes appends n bytes to text. Memory grows with the bytes that arrive, not with the claimed
// n. Text must be UTF-8; bytes are converted to it.
func (r *cborReader) bytes(major byte, n uint64) error {
	start := len(r.text)
	for n > 0 {
		if _, err := r.next(); err == io.EOF {
			return r.early()
		} else if err != nil {
			return err
		}
		piece := r.buf[r.at:]
		piece = piece[:min(n, uint64(len(piece)))]
		r.at += len(piece)
		n -= uint64(len(piece))
		if r.idle {
			continue
		}
		if r.text = append(r.text, piece...); r.over(len(r.text)) {
			return ErrOverLimit
		}
	}
	if major == cborText && !r.idle && r.fault == nil && !utf8.Valid(r.text[start:]) {
		r.fault = fmt.Errorf("text that is not UTF-8 at byte %d", r.Offset())
	}
	return nil
}

// putString appends text as JSON.
func (r *cborReader) putString(t tag) error {
	if r.idle {
		return nil
	}
	switch t {
	case base64Padded:
		r.text = base64.StdEncoding.AppendEncode(nil, r.text)
	case base64URL:
		r.text = base64.RawURLEncoding.AppendEncode(nil, r.text)
	case base16:
		r.text = hex.AppendEncode(nil, r.text)
	}
	// A byte can become six, so check the limit before making them.
	if r.over(6*len(r.text)) && r.over(quotedSize(r.text)) {
		return ErrOverLimit
	}
	r.out, _ = jsontext.AppendQuote(r.out, r.text) // the only possible error is about invalid UTF-8
	return nil
}

// quotedSize returns the least size of a text as a JSON string.
func quotedSize(text []byte) int {
	n := len(text) + 2
	for _, c := range text {
		switch {
		case c >= ' ' && c != '"' && c != '\\':
		case c < ' ' && bytes.IndexByte([]byte("\b\t\n\f\r"), c) < 0:
			n += 5
		default:
			n++
		}
	}
	return n
}

// simple transcodes a value without content: a float, a boolean or null.
func (r *cborReader) simple(h item) error {
	switch h.info {
	case 20:
		r.put("false")
	case 21:
		r.put("true")
	case 22:
		r.put("null")
	case 25:
		r.float(halfFloat(uint16(h.arg)))
	case 26:
		r.float(float64(math.Float32frombits(uint32(h.arg))))
	case 27:
		r.float(math.Float64frombits(h.arg))
	case indefinite:
		return r.malformed("a break outside of what it could end")
	default:
		r.unfit("the simple value %d", h.arg)
	}
	return nil
}

// float writes a float in a form that is never read as an integer.
func (r *cborReader) float(f float64) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		r.unfit("the number %v", f)
		return
	}
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	r.text = strconv.AppendFloat(r.text[:0], f, format, -1, 64)
	if !bytes.ContainsAny(r.text, ".e") {
		r.text = append(r.text, ".0"...)
	}
	r.putBytes(r.text)
}

// halfFloat is an IEEE 754 binary16.
func halfFloat(bits uint16) float64 {
	exponent, fraction := int(bits>>10&31), float64(bits&1023)
	var f float64
	switch exponent {
	case 0:
		f = math.Ldexp(fraction, -24)
	case 31:
		f = math.Inf(1)
		if fraction != 0 {
			f = math.NaN()
		}
	default:
		f = math.Ldexp(fraction+1024, exponent-25)
	}
	if bits&0x8000 != 0 {
		f = -f
	}
	return f
}
