package decode

import (
	"bytes"
	stdjson "encoding/json"
	"slices"
)

// appendSorted appends well-formed JSON in the form of json.Marshal: without space, members
// sorted by name, and of duplicates the last. It allocates next to nothing for managedFields.
func appendSorted(b, raw []byte) ([]byte, error) {
	switch raw[0] {
	case '{':
		return appendSortedObject(b, raw)
	case '[':
		return appendSortedArray(b, raw)
	case '"':
		return appendMarshaled(b, raw)
	case 't', 'f', 'n':
		return append(b, raw...), nil
	}
	v, err := untypedNumber(string(raw))
	if err != nil {
		return b, err
	}
	number, err := stdjson.Marshal(v)
	return append(b, number...), err
}

// namedValue is a member of an object, with the name as text and as JSON.
type namedValue struct{ text, name, value []byte }

func appendSortedObject(b, raw []byte) (_ []byte, err error) {
	var room [16]namedValue
	members := room[:0]
	for i := skipSpace(raw, 1); raw[i] != '}'; i = skipSpace(raw, i) {
		if raw[i] == ',' {
			i = skipSpace(raw, i+1)
		}
		end := skipJSON(raw, i)
		value := skipSpace(raw, skipSpace(raw, end)+1) // after the colon
		text, _ := Text(raw[i:end])
		m := namedValue{text: text, name: raw[i:end]}
		i = skipJSON(raw, value)
		m.value = raw[value:i]
		members = append(members, m)
	}
	slices.SortStableFunc(members, func(a, b namedValue) int { return bytes.Compare(a.text, b.text) })
	b = append(b, '{')
	first := len(b)
	for i, m := range members {
		if i+1 < len(members) && bytes.Equal(m.text, members[i+1].text) {
			continue
		}
		if len(b) > first {
			b = append(b, ',')
		}
		if b, err = appendMarshaled(b, m.name); err != nil {
			return b, err
		}
		if b, err = appendSorted(append(b, ':'), m.value); err != nil {
			return b, err
		}
	}
	return append(b, '}'), nil
}

func appendSortedArray(b, raw []byte) (_ []byte, err error) {
	b = append(b, '[')
	for i := skipSpace(raw, 1); raw[i] != ']'; i = skipSpace(raw, i) {
		if raw[i] == ',' {
			b, i = append(b, ','), skipSpace(raw, i+1)
		}
		end := skipJSON(raw, i)
		if b, err = appendSorted(b, raw[i:end]); err != nil {
			return b, err
		}
		i = end
	}
	return append(b, ']'), nil
}

// appendMarshaled appends a JSON string with the escapes of json.Marshal.
func appendMarshaled(b, raw []byte) ([]byte, error) {
	if asMarshaled(raw) {
		return append(b, raw...), nil
	}
	text, _ := Text(raw)
	quoted, err := stdjson.Marshal(string(text))
	return append(b, quoted...), err
}

// asMarshaled reports whether a JSON string certainly has the form of json.Marshal. Escaped
// quotes have it: names in managedFields contain many.
func asMarshaled(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '<', '>', '&':
			return false
		case '\\':
			if i++; raw[i] != '"' && raw[i] != '\\' {
				return false
			}
		case 0xe2: // the first byte of U+2028 and U+2029, among others
			return false
		}
	}
	return true
}
