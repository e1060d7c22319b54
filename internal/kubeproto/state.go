package kubeproto

// State identifies one state of an object. It points into the object's bytes.
type State struct {
	Namespace, Name, UID, ResourceVersion []byte
}

// ScanState reads the state from an object's own bytes ([Envelope].Raw); ok is false if only the
// decoder can tell it. That is so if the name, UID or version is missing or empty, if the metadata
// or one of its fields that ScanState reads comes twice, or if the object's or the metadata's own
// fields are malformed. It does not allocate, and does not look into any other field.
func ScanState(raw []byte) (s State, ok bool) {
	found := false
	for i := 0; i < len(raw); {
		num, wire, start, next := scanField(raw, i)
		if next < 0 || num == 1 && (found || wire != wireBytes || !s.scanMeta(raw[start:next])) {
			return s, false
		}
		found = found || num == 1
		i = next
	}
	return s, found
}

// scanMeta reads the metadata.
func (s *State) scanMeta(meta []byte) bool {
	for i := 0; i < len(meta); {
		num, wire, start, next := scanField(meta, i)
		if next < 0 {
			return false
		}
		if to := s.field(num); to != nil {
			if *to != nil || wire != wireBytes {
				return false
			}
			*to = meta[start:next:next]
		}
		i = next
	}
	return len(s.Name) > 0 && len(s.UID) > 0 && len(s.ResourceVersion) > 0
}

// scanField is readField for callers that read only length-delimited values. Such a value is
// data[start:next]. For the usual field, whose tag is one byte, scanField takes half as long.
func scanField(data []byte, i int) (num int32, wire, start, next int) {
	if tag := data[i]; tag > 7 && tag&(0x80|7) == wireBytes {
		start, next = span(data, i+1)
		return int32(tag >> 3), wireBytes, start, next
	}
	f := readField(data, i)
	return f.num, f.wire, f.start, f.next
}

// field returns the place for a field of the metadata, or nil if it is not read.
func (s *State) field(num int32) *[]byte {
	switch num {
	case 1:
		return &s.Name
	case 3:
		return &s.Namespace
	case 5:
		return &s.UID
	case 6:
		return &s.ResourceVersion
	}
	return nil
}
