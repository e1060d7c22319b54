package kubeproto

import "bytes"

// The functions of this file read the beginning of what is larger than a reader's limit. A
// field that is cut off counts as not there, unless it is a message, whose beginning is
// read in turn; what is behind bytes that cannot be read is not there either. They cost no
// allocation, and what they return points into the bytes that it was read from.

// WatchEventStart is [ParseWatchEvent] for the beginning of a frame. The object may be only
// the beginning of one, for [EnvelopeStart].
func WatchEventStart(frame []byte) WatchEvent {
	var w WatchEvent
	eachStart(frame, func(num int32, value []byte, whole bool) {
		switch {
		case num == 1 && whole:
			w.Type = value
		case num == 2:
			eachStart(value, func(num int32, value []byte, _ bool) {
				if num == 1 {
					w.Object = value
				}
			})
		}
	})
	return w
}

// EnvelopeStart is [ParseEnvelope] for the beginning of an object in its envelope. Raw may
// be only the beginning of the object's own bytes, for [MetaStart].
func EnvelopeStart(data []byte) Envelope {
	var e Envelope
	if !bytes.HasPrefix(data, prefix) {
		return e
	}
	eachStart(data[len(prefix):], func(num int32, value []byte, _ bool) {
		switch num {
		case 1:
			eachStart(value, func(num int32, value []byte, whole bool) {
				switch {
				case !whole:
				case num == 1:
					e.APIVersion = value
				case num == 2:
					e.Kind = value
				}
			})
		case 2:
			e.Raw = value
		}
	})
	return e
}

// MetaStart is [ParseMeta] for the beginning of an object's own bytes, such as an item of
// a list. It does not look at annotations.
func MetaStart(raw []byte) Meta {
	var m Meta
	eachStart(raw, func(num int32, metadata []byte, _ bool) {
		if num != 1 {
			return
		}
		eachStart(metadata, func(num int32, value []byte, whole bool) {
			switch {
			case !whole:
			case num == 1:
				m.Name = value
			case num == 3:
				m.Namespace = value
			case num == 5:
				m.UID = value
			case num == 6:
				m.ResourceVersion = value
			}
		})
	})
	return m
}

// eachStart calls fn for the length-delimited fields of a message of which perhaps only
// the beginning is there; whole is false for a field that is cut off.
func eachStart(data []byte, fn func(num int32, value []byte, whole bool)) {
	for i := 0; i < len(data); {
		tag, at := uvarint(data, i)
		if at < 0 || int32(tag>>3) <= 0 {
			return
		}
		if tag&7 != wireBytes {
			if i = skip(data, i); i < 0 {
				return
			}
			continue
		}
		n, start := uvarint(data, at)
		if start < 0 || int64(n) < 0 {
			return
		}
		whole := n <= uint64(len(data)-start)
		i = len(data)
		if whole {
			i = start + int(n)
		}
		fn(int32(tag>>3), data[start:i:i], whole)
	}
}
