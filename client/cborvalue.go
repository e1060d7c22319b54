package client

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Tags that matter. The others, such as that a value is CBOR, say nothing that JSON has.
const (
	tagBignum         = 2
	tagNegativeBignum = 3
	tagBase64URL      = 21
	tagBase64         = 22
	tagBase16         = 23
)

// transcode appends the next value to out as JSON. What is left out, because out is full,
// is read all the same. What JSON cannot say becomes null, and the fault is remembered.
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
	switch h.major {
	case cborUint:
		r.put(string(strconv.AppendUint(r.text[:0], h.arg, 10)))
	case cborNegative:
		if h.arg == math.MaxUint64 {
			r.put("-18446744073709551616")
			return nil
		}
		r.put(string(strconv.AppendUint(append(r.text[:0], '-'), h.arg+1, 10)))
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

// put appends JSON, unless there is enough of it.
func (r *cborReader) put(json string) {
	if r.fits(len(json)) {
		r.out = append(r.out, json...)
	}
}

// fits reports whether there is room for n bytes of JSON more.
func (r *cborReader) fits(n int) bool {
	r.full = r.full || int64(len(r.out)+n) > r.limit
	return !r.full
}

// unfit puts null in place of a value that cannot be.
func (r *cborReader) unfit(format string, args ...any) {
	if r.fault == nil {
		r.fault = fmt.Errorf(format+" at byte %d", append(args, r.at)...)
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
		if depth == r.base || r.within && depth == r.base+1 {
			err = r.headerMember(depth)
		} else if err = r.name(depth + 1); err == nil {
			r.put(":")
			err = r.transcode(depth + 1)
		}
		if err != nil {
			return err
		}
	}
}

// name transcodes the name of a member, which in JSON is a string.
func (r *cborReader) name(depth int) error {
	h, err := r.head()
	if err != nil {
		return err
	}
	if h.kind() == '"' {
		return r.transcode(depth)
	}
	// Any name will do for what cannot be used.
	out, full := len(r.out), r.full
	err = r.transcode(depth)
	r.out, r.full = r.out[:min(out, len(r.out))], full
	r.put(`""`)
	if r.fault == nil {
		r.fault = fmt.Errorf("the name of a member is not a string at byte %d", r.at)
	}
	return err
}

// string transcodes a string of bytes or text, which may come in pieces.
func (r *cborReader) string(h item) error {
	r.text = r.text[:0]
	if h.info != indefinite {
		if err := r.bytes(h.arg); err != nil {
			return err
		}
		r.putString(h.tag)
		return nil
	}
	for {
		piece, err := r.take()
		switch {
		case err != nil:
			return err
		case piece.isBreak():
			r.putString(h.tag)
			return nil
		case piece.major != h.major || piece.info == indefinite || piece.tag != 0:
			return r.malformed("a string with something else in it")
		}
		if err := r.bytes(piece.arg); err != nil {
			return err
		}
	}
}

// bytes appends n bytes to text, up to the limit. Memory grows with what has come, not
// with what n claims.
func (r *cborReader) bytes(n uint64) error {
	for n > 0 {
		piece, err := r.in.Peek(int(min(n, uint64(r.in.Size()))))
		if len(piece) == 0 {
			if err == io.EOF {
				err = &malformedError{at: r.at, err: io.ErrUnexpectedEOF}
			}
			return err
		}
		if r.full = r.full || int64(len(r.out)+len(r.text)+len(piece)) > r.limit; !r.full {
			r.text = append(r.text, piece...)
		}
		_, _ = r.in.Discard(len(piece)) // they are buffered
		r.at += int64(len(piece))
		n -= uint64(len(piece))
	}
	return nil
}

func (r *cborReader) putString(tag uint64) {
	if r.full {
		return
	}
	switch tag {
	case tagBase64:
		r.text = base64.StdEncoding.AppendEncode(nil, r.text)
	case tagBase64URL:
		r.text = base64.RawURLEncoding.AppendEncode(nil, r.text)
	case tagBase16:
		r.text = hex.AppendEncode(nil, r.text)
	case tagBignum, tagNegativeBignum:
		r.unfit("an integer of more than 64 bits")
		return
	}
	// A byte can become six: what is over the limit has to be known before it is made.
	if int64(len(r.out)+6*len(r.text)) < r.limit || r.fits(quotedSize(r.text)) {
		r.out, _ = jsontext.AppendQuote(r.out, r.text) // an error only tells of invalid UTF-8
		r.full = int64(len(r.out)) > r.limit
	}
}

// quotedSize is the least that a text takes as a JSON string.
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

// simple transcodes what has no content: floats, booleans and null.
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

// float writes a float so that it is not taken for an integer.
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
	r.put(string(r.text))
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
