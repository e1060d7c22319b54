package decode

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"

	"github.com/kinform/kinform/internal/kubeproto"
)

// State identifies one state of an object. The slices may refer to the object's JSON.
type State struct {
	APIVersion, Kind []byte // nil if the JSON has none
	kubeproto.State
}

// scanState reads the state from an object's JSON, which may be malformed. The other members are only
// checked. ok is false if only the decoder can tell the state:
//
//   - the JSON is not certainly well-formed
//   - the name, UID or version is missing or empty
//   - a member that scanState reads comes twice, is no string, has an escape or is not ASCII
//   - the name of a member of the object or of its metadata has an escape
func scanState(raw []byte) (s State, ok bool) {
	b := walk(raw)
	if b.at(0) != '{' {
		return s, false
	}
	end := b.members(0, 0, func(name []byte, from int) int {
		switch string(name) {
		case "kind":
			return b.textTo(&s.Kind, from)
		case "apiVersion":
			return b.textTo(&s.APIVersion, from)
		case "metadata":
			if s.UID != nil || b.at(from) != '{' {
				return unsure
			}
			end := b.meta(&s, from)
			if len(s.Name) == 0 || len(s.UID) == 0 || len(s.ResourceVersion) == 0 {
				return unsure
			}
			return end
		}
		return b.value(from, 1)
	})
	return s, end == len(raw) && s.UID != nil
}

// meta reads the metadata.
func (b walk) meta(s *State, from int) int {
	return b.members(from, 1, func(name []byte, from int) int {
		switch string(name) {
		case "namespace":
			return b.textTo(&s.Namespace, from)
		case "name":
			return b.textTo(&s.Name, from)
		case "uid":
			return b.textTo(&s.UID, from)
		case "resourceVersion":
			return b.textTo(&s.ResourceVersion, from)
		}
		return b.value(from, 2)
	})
}

// walk is JSON that may be malformed. The methods that pass over a part of it get the position where the
// part begins and return the one where it ends, or unsure.
type walk []byte

const (
	// unsure stands for a part that is malformed, or that only a full parser can judge.
	unsure = -1
	// deepest is the depth from which on a walk is unsure.
	deepest = 500
)

// at returns the byte at i, or zero.
func (b walk) at(i int) byte {
	if uint(i) < uint(len(b)) {
		return b[i]
	}
	return 0
}

// space returns the position of the first byte from i on that is no white space.
func (b walk) space(i int) int {
	for c := b.at(i); c == ' ' || c == '\n' || c == '\t' || c == '\r'; c = b.at(i) {
		i++
	}
	return i
}

func (b walk) value(i, depth int) int {
	switch c := b.at(i); {
	case c == '"':
		return b.text(i)
	case depth > deepest:
		return unsure
	case c == '{':
		return b.members(i, depth, nil)
	case c == '[':
		return b.elements(i, depth)
	case c == 't':
		return b.word(i, "true")
	case c == 'f':
		return b.word(i, "false")
	case c == 'n':
		return b.word(i, "null")
	}
	return b.number(i)
}

// members passes over an object. member gets the name of each member, which has no escape, and passes over its value.
// If it is nil, names may have escapes.
func (b walk) members(i, depth int, member func(name []byte, from int) int) int {
	if i = b.space(i + 1); b.at(i) == '}' {
		return i + 1
	}
	for {
		name := i
		if b.at(i) != '"' {
			return unsure
		}
		end := b.text(i)
		if i = b.space(end); end < 0 || b.at(i) != ':' {
			return unsure
		}
		i = b.space(i + 1)
		switch {
		case member == nil:
			i = b.value(i, depth+1)
		case bytes.IndexByte(b[name:end], '\\') >= 0:
			return unsure
		default:
			i = member(b[name+1:end-1], i)
		}
		if i < 0 {
			return unsure
		}
		switch i = b.space(i); b.at(i) {
		case '}':
			return i + 1
		case ',':
			i = b.space(i + 1)
		default:
			return unsure
		}
	}
}

func (b walk) elements(i, depth int) int {
	if i = b.space(i + 1); b.at(i) == ']' {
		return i + 1
	}
	for {
		if i = b.value(i, depth+1); i < 0 {
			return unsure
		}
		switch i = b.space(i); b.at(i) {
		case ']':
			return i + 1
		case ',':
			i = b.space(i + 1)
		default:
			return unsure
		}
	}
}

func (b walk) text(i int) int {
	from := i + 1
	for i = special(b, from); b.at(i) == '\\'; i = special(b, i) {
		switch b.at(i + 1) {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			i += 2
		case 'u':
			for n := i + 2; n < i+6; n++ {
				if c := b.at(n) | 0x20; c < '0' || c > '9' && c < 'a' || c > 'f' || n == i+2 && c == 'd' { // a surrogate may need another
					return unsure
				}
			}
			i += 6
		default:
			return unsure
		}
	}
	if i >= len(b) || hasControl(b[from:i]) {
		return unsure
	}
	return i + 1
}

// hasControl reports whether text has a byte that must be escaped in JSON.
func hasControl(text []byte) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(text); i += 8 {
		if w := binary.LittleEndian.Uint64(text[i:]); (w-' '*ones)&^w&highs != 0 {
			return true
		}
	}
	for ; i < len(text); i++ {
		if text[i] < ' ' {
			return true
		}
	}
	return false
}

func (b walk) word(i int, word string) int {
	if !bytes.HasPrefix(b[i:], []byte(word)) {
		return unsure
	}
	return i + len(word)
}

func (b walk) number(i int) int {
	if b.at(i) == '-' {
		i++
	}
	from := i
	if i = b.digits(i); i == from || b.at(from) == '0' && i > from+1 {
		return unsure
	}
	if b.at(i) == '.' {
		from = i + 1
		if i = b.digits(from); i == from {
			return unsure
		}
	}
	if b.at(i)|0x20 == 'e' {
		if i++; b.at(i) == '+' || b.at(i) == '-' {
			i++
		}
		from = i
		if i = b.digits(from); i == from {
			return unsure
		}
	}
	return i
}

func (b walk) digits(i int) int {
	for c := b.at(i); c >= '0' && c <= '9'; c = b.at(i) {
		i++
	}
	return i
}

// textTo sets *s to the content of a string. It is unsure if *s is set already, or if the string needs
// decoding.
func (b walk) textTo(s *[]byte, i int) int {
	end := unsure
	if *s == nil && b.at(i) == '"' {
		end = b.text(i)
	}
	if end < 0 {
		return unsure
	}
	text := b[i+1 : end-1 : end-1]
	for _, c := range text {
		if c == '\\' || c >= utf8.RuneSelf {
			return unsure
		}
	}
	*s = text
	return end
}
