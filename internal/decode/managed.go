package decode

// WithoutManagedFields implements Codec.
func (c *JSONCodec) WithoutManagedFields(raw []byte, room *[]byte) []byte {
	meta := findMember(raw, 0, "metadata")
	if meta.end == 0 || raw[meta.value] != '{' {
		return raw
	}
	fields := findMember(raw, meta.value, "managedFields")
	if fields.end == 0 {
		return raw
	}
	// One of the adjacent commas goes too.
	from, to := fields.name, fields.end
	if fields.comma > 0 {
		from = fields.comma
	} else if next := skipSpace(raw, to); raw[next] == ',' {
		to = next + 1
	}
	*room = append(append((*room)[:0], raw[:from]...), raw[to:]...)
	return *room
}

// jsonMember is the position of an object's member in JSON. The end is 0 if there is no such
// member.
type jsonMember struct {
	comma            int // before the member; 0 if it is the first
	name, value, end int
}

// findMember finds the named member of the well-formed object at raw[i].
func findMember(raw []byte, i int, name string) jsonMember {
	var m jsonMember
	for i = skipSpace(raw, i+1); raw[i] != '}'; i = skipSpace(raw, i) {
		if raw[i] == ',' {
			m.comma, i = i, skipSpace(raw, i+1)
		}
		m.name = i
		i = skipJSON(raw, i)
		text, _ := Text(raw[m.name:i])
		m.value = skipSpace(raw, skipSpace(raw, i)+1) // after the colon
		i = skipJSON(raw, m.value)
		if string(text) == name {
			m.end = i
			return m
		}
	}
	return jsonMember{}
}

func skipSpace(raw []byte, i int) int {
	for raw[i] == ' ' || raw[i] == '\n' || raw[i] == '\t' || raw[i] == '\r' {
		i++
	}
	return i
}

// skipJSON returns the end of the complete value at raw[i].
func skipJSON(raw []byte, i int) int {
	n, _ := new(valueEnd).find(raw[i:])
	return i + n
}
