package decode

import "bytes"

// Contents implements Codec. The API server leaves kind and apiVersion out of the items of a list
// of a built-in kind, and puts them first in an event of a watch.
func (c *JSONCodec) Contents(raw []byte) []byte {
	rest := bytes.TrimPrefix(raw, []byte("{"))
	for {
		next, ok := afterText(rest, `"kind":"`)
		if !ok {
			next, ok = afterText(rest, `"apiVersion":"`)
		}
		if !ok {
			return rest
		}
		rest = next
	}
}

// afterText returns what follows a member whose value is a string without escapes, and the comma
// after it. start is the member up to the string.
func afterText(raw []byte, start string) (rest []byte, ok bool) {
	text, ok := bytes.CutPrefix(raw, []byte(start))
	if !ok {
		return nil, false
	}
	end := bytes.IndexAny(text, `"\\`)
	if end < 0 {
		return nil, false
	}
	return bytes.CutPrefix(text[end:], []byte(`",`))
}
