package kubeproto

// The wire types of protobuf.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireStart   = 3
	wireEnd     = 4
	wireFixed32 = 5
)

// Negative positions stand for causes, so that the functions called for each byte need not
// return an error.
const (
	codeEOF = -1 - iota
	codeOverflow
	codeLength
	codeTag
)

// uvarint reads a varint at i and returns it and the position after it. Bits beyond the
// 64th are dropped, as the generated code does.
func uvarint(data []byte, i int) (uint64, int) {
	var v uint64
	for shift := uint(0); shift < 64; shift += 7 {
		if uint(i) >= uint(len(data)) {
			return 0, codeEOF
		}
		b := data[i]
		i++
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v, i
		}
	}
	return 0, codeOverflow
}

// span reads a length at i and returns the start and end of the bytes after it.
func span(data []byte, i int) (start, end int) {
	if uint(i) < uint(len(data)) && data[i] < 0x80 {
		start, end = i+1, i+1+int(data[i])
		if end > len(data) {
			return 0, codeEOF
		}
		return start, end
	}
	n, start := uvarint(data, i)
	switch {
	case start < 0:
		return 0, start
	case int(n) < 0:
		return 0, codeLength
	case int(n) > len(data)-start:
		return 0, codeEOF
	}
	return start, start + int(n)
}

// skip returns the position after the field whose tag starts at i. It skips groups, which
// Kubernetes does not use, with all of their content.
func skip(data []byte, i int) int {
	for depth := 0; i < len(data); {
		tag, next := uvarint(data, i)
		if next < 0 {
			return next
		}
		switch i = next; tag & 7 {
		case wireVarint:
			_, i = uvarint(data, i)
		case wireFixed64:
			i += 8
		case wireBytes:
			_, i = span(data, i)
		case wireStart:
			depth++
		case wireEnd:
			if depth--; depth < 0 {
				return codeTag
			}
		case wireFixed32:
			i += 4
		default:
			return codeTag
		}
		if i < 0 {
			return i
		}
		if depth == 0 {
			if i > len(data) {
				return codeEOF
			}
			return i
		}
	}
	return codeEOF
}

// run counts the consecutive length-delimited fields with the given tag from i on. It gives
// the size of a slice or map before its first element is read.
func run(data []byte, tag uint64, i int) int {
	n, _ := following(data, tag, i)
	return n
}

// following is run that also returns the position after the last of the fields.
func following(data []byte, tag uint64, i int) (n, end int) {
	for end = i; ; n++ {
		t, next := uvarint(data, end)
		if next < 0 || t != tag {
			return n, end
		}
		if _, next = span(data, next); next < 0 {
			return n, end
		}
		end = next
	}
}

// rawField is one field of a message that is read without a plan.
type rawField struct {
	num        int32
	wire       int
	value      uint64 // of a varint
	start, end int    // of a length-delimited value
	cut        bool   // the message ends within the field, at end
	next       int    // start of the next field; negative for an error
	limit      int    // where the message ends
}

// readField reads the field at i.
func readField(data []byte, i int) rawField {
	tag, next := uvarint(data, i)
	if next < 0 {
		return rawField{next: next}
	}
	f := rawField{num: int32(tag >> 3), wire: int(tag & 7), limit: len(data)}
	switch {
	case f.num <= 0 || f.wire == wireEnd:
		f.next = codeTag
	case f.wire == wireVarint:
		f.value, f.next = uvarint(data, next)
	case f.wire == wireBytes:
		f.start, f.end = span(data, next)
		if f.next = f.end; f.next == codeEOF {
			if _, f.start = uvarint(data, next); f.start >= 0 {
				f.end, f.cut = len(data), true
			}
		}
	default:
		f.next = skip(data, i)
	}
	return f
}
