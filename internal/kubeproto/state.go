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
		f := readField(raw, i)
		if f.next < 0 || f.num == 1 && (found || f.wire != wireBytes || !s.scanMeta(raw[f.start:f.end])) {
			return s, false
		}
		found = found || f.num == 1
		i = f.next
	}
	return s, found
}

// scanMeta reads the metadata.
func (s *State) scanMeta(meta []byte) bool {
	for i := 0; i < len(meta); {
		f := readField(meta, i)
		if f.next < 0 {
			return false
		}
		if to := s.field(f.num); to != nil {
			if *to != nil || f.wire != wireBytes {
				return false
			}
			*to = meta[f.start:f.end:f.end]
		}
		i = f.next
	}
	return len(s.Name) > 0 && len(s.UID) > 0 && len(s.ResourceVersion) > 0
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
