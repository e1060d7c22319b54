package decode

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// jsonWriter turns raw CBOR into JSON with sorted members. Maps of plain strings, which are all
// that managedFields have, take no detour by the library's untyped values: that would more than
// double the allocations for a pod.
type jsonWriter struct {
	out     []byte
	members []jsonSpan // of the maps that are being written
	room    []byte
}

// jsonSpan is a member in out.
type jsonSpan struct {
	name     []byte
	from, to int
}

// transcode returns the JSON for raw. It is nil if raw is empty.
func (w *jsonWriter) transcode(raw []byte) ([]byte, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	w.out, w.members = w.out[:0], w.members[:0]
	if rest, ok := w.value(raw, 0); ok && len(rest) == 0 {
		return bytes.Clone(w.out), nil
	}
	return cborToJSON(raw)
}

// value appends a value and returns what is behind it. ok is false for a value that is left to the
// library.
func (w *jsonWriter) value(raw []byte, depth int) (rest []byte, ok bool) {
	h, n := readHead(raw)
	switch {
	case h.info == indefinite || depth > 100:
		return nil, false
	case h.major == cborMap:
		return w.object(raw[n:], h.arg, depth)
	case h.major != cborBytes && h.major != cborText:
		return nil, false
	}
	end := n + int(h.arg)
	text := raw[n:end]
	for _, c := range text {
		if c < ' ' || c > '~' || c == '<' || c == '>' || c == '&' { // encoding/json escapes these
			return nil, false
		}
	}
	w.out, _ = jsontext.AppendQuote(w.out, text) // text is UTF-8
	return raw[end:], true
}

// object appends an object of n members.
func (w *jsonWriter) object(raw []byte, n uint64, depth int) (rest []byte, ok bool) {
	first, start := len(w.members), len(w.out)
	for range n {
		name, from := raw, len(w.out)
		if k, _ := readHead(raw); k.kind() != '"' {
			return nil, false
		}
		if raw, ok = w.value(raw, depth+1); !ok {
			return nil, false
		}
		name = name[:len(name)-len(raw)]
		w.out = append(w.out, ':')
		if raw, ok = w.value(raw, depth+1); !ok {
			return nil, false
		}
		text, _ := cborString(name)
		w.members = append(w.members, jsonSpan{text, from, len(w.out)})
	}
	members := w.members[first:]
	slices.SortFunc(members, func(a, b jsonSpan) int { return bytes.Compare(a.name, b.name) })
	w.room = append(w.room[:0], w.out[start:]...)
	w.out = append(w.out[:start], '{')
	for i, m := range members {
		if i > 0 && bytes.Equal(m.name, members[i-1].name) {
			return nil, false // the library refuses it
		}
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.out = append(w.out, w.room[m.from-start:m.to-start]...)
	}
	w.out, w.members = append(w.out, '}'), w.members[:first]
	return raw, true
}
