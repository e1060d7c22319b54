package decode

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// walk passes over one JSON value, which may be malformed, and reads the rest of it from the stream
// on its way. So one pass finds the end of the value and checks its grammar. The methods that pass
// over a part of it get the position where the part begins and return the one where it ends, or
// unsure.
type walk struct {
	in *input // holds the value
	b  []byte // what was read of in from the value on
}

const (
	// unsure stands for a part that is malformed, incomplete or too large, or that only a full
	// parser can judge.
	unsure = -1
	// deepest is the depth from which on a walk is unsure.
	deepest = 500
)

// walkOf returns the walk over the value that in holds.
func walkOf(in *input) walk { return walk{in: in, b: in.buf[in.from:]} }

// at returns the byte at i, or zero at the end of the stream.
func (w *walk) at(i int) byte {
	if uint(i) < uint(len(w.b)) {
		return w.b[i]
	}
	return w.beyond(i)
}

// beyond is at for a byte that was not read yet.
func (w *walk) beyond(i int) byte {
	for i >= len(w.b) {
		if int64(len(w.b)) > w.in.most || w.in.fill() != nil {
			return 0
		}
		w.b = w.in.buf[w.in.from:]
	}
	return w.b[i]
}

// skip returns the position of the first byte from i on that is no white space.
func (w *walk) skip(i int) int {
	if uint(i) < uint(len(w.b)) && w.b[i] > ' ' {
		return i // inlined: servers write no white space
	}
	return w.space(i)
}

func (w *walk) space(i int) int {
	for c := w.at(i); c == ' ' || c == '\n' || c == '\t' || c == '\r'; c = w.at(i) {
		i++
	}
	return i
}

func (w *walk) value(i, depth int) int {
	switch c := w.at(i); {
	case c == '"':
		return w.text(i)
	case depth > deepest:
		return unsure
	case c == '{':
		return w.members(i, depth, nil)
	case c == '[':
		return w.elements(i, depth)
	case c == 't':
		return w.word(i, "true")
	case c == 'f':
		return w.word(i, "false")
	case c == 'n':
		return w.word(i, "null")
	}
	return w.number(i)
}

// members passes over an object. member gets the name of each member, which has no escape and is
// valid until the next read, and passes over its value. If it is nil, names may have escapes.
func (w *walk) members(i, depth int, member func(name []byte, from int) int) int {
	if i = w.skip(i + 1); w.at(i) == '}' {
		return i + 1
	}
	for {
		if w.at(i) != '"' {
			return unsure
		}
		name, end := i, w.text(i)
		if end < 0 {
			return unsure
		}
		if i = w.skip(end); w.at(i) != ':' {
			return unsure
		}
		i = w.skip(i + 1)
		switch {
		case member == nil:
			i = w.value(i, depth+1)
		case bytes.IndexByte(w.b[name:end], '\\') >= 0:
			return unsure
		default:
			i = member(w.b[name+1:end-1], i)
		}
		if i < 0 {
			return unsure
		}
		switch i = w.skip(i); w.at(i) {
		case '}':
			return i + 1
		case ',':
			i = w.skip(i + 1)
		default:
			return unsure
		}
	}
}

func (w *walk) elements(i, depth int) int {
	if i = w.skip(i + 1); w.at(i) == ']' {
		return i + 1
	}
	for {
		if i = w.value(i, depth+1); i < 0 {
			return unsure
		}
		switch i = w.skip(i); w.at(i) {
		case ']':
			return i + 1
		case ',':
			i = w.skip(i + 1)
		default:
			return unsure
		}
	}
}

func (w *walk) text(i int) int {
	for i++; ; {
		i = stop(w.b, i)
		switch c := w.at(i); {
		case c == '"':
			return i + 1
		case c < ' ':
			return unsure
		case c == '\\':
			if i = w.escape(i + 1); i < 0 {
				return unsure
			}
		}
	}
}

// escape passes over the rest of an escape sequence, after its backslash.
func (w *walk) escape(i int) int {
	switch w.at(i) {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1
	case 'u':
		for n := i + 1; n < i+5; n++ {
			c := w.at(n)
			letter := c | 0x20
			if (c < '0' || c > '9') && (letter < 'a' || letter > 'f') || n == i+1 && letter == 'd' { // a surrogate may need another
				return unsure
			}
		}
		return i + 5
	}
	return unsure
}

// stop returns the position of the next quotation mark, backslash or control character from i on,
// or len(b). It looks at 16 bytes at a time: most strings are shorter, so that the processor
// predicts the loop, and too short for a call of bytes.IndexByte to pay.
func stop(b []byte, i int) int {
	for ; i+16 <= len(b); i += 16 {
		n := stopWithin(binary.LittleEndian.Uint64(b[i:]))
		n += stopWithin(binary.LittleEndian.Uint64(b[i+8:])) * (n / 8)
		if n < 16 {
			return i + n
		}
	}
	for ; i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= ' '; i++ {
	}
	return i
}

// stopWithin is stop for the 8 bytes of v. It returns 8 if there is none.
func stopWithin(v uint64) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	// The lowest high bit that is set belongs to the first byte that is zero, or too low.
	slashes := v ^ '\\'*ones
	low := v ^ ('"'^' ')*ones // the bytes up to a space are now the quotation mark and the control characters
	return bits.TrailingZeros64(((slashes-ones)&^slashes|(low-(' '+1)*ones)&^low)&highs) / 8
}

func (w *walk) word(i int, word string) int {
	for n := range len(word) {
		if w.at(i+n) != word[n] {
			return unsure
		}
	}
	return i + len(word)
}

func (w *walk) number(i int) int {
	if w.at(i) == '-' {
		i++
	}
	from := i
	if i = w.digits(i); i == from || w.at(from) == '0' && i > from+1 {
		return unsure
	}
	if w.at(i) == '.' {
		from = i + 1
		if i = w.digits(from); i == from {
			return unsure
		}
	}
	if w.at(i)|0x20 == 'e' {
		if i++; w.at(i) == '+' || w.at(i) == '-' {
			i++
		}
		from = i
		if i = w.digits(from); i == from {
			return unsure
		}
	}
	return i
}

func (w *walk) digits(i int) int {
	for c := w.at(i); c >= '0' && c <= '9'; c = w.at(i) {
		i++
	}
	return i
}
