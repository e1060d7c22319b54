package kubeproto

import (
	"bytes"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// prefix starts every object, also that of a watch event; a frame of a watch does not.
var prefix = []byte("k8s\x00")

// Envelope is what is around an object on the wire, a runtime.Unknown. All of it points
// into the bytes that it was parsed from.
type Envelope struct {
	APIVersion, Kind []byte
	// Raw is the object's own bytes, for [Plan.Decode].
	Raw []byte
	// ContentEncoding and ContentType say how Raw is encoded. The API server leaves both
	// empty, which means protobuf.
	ContentEncoding, ContentType []byte
}

// ParseEnvelope parses an object as it comes in a response or in a watch event. It costs
// no allocation. Errors: [ErrNoEnvelope], a *[DecodeError]; with the latter comes all that
// could be read, and of an object that was cut off the beginning of Raw.
func ParseEnvelope(data []byte) (Envelope, error) {
	var e Envelope
	if !bytes.HasPrefix(data, prefix) {
		return e, ErrNoEnvelope
	}
	return e, each(data, len(prefix), len(data), func(f rawField) *DecodeError {
		switch f.num {
		case 1:
			return e.typeMeta(data, f)
		case 2:
			return start(&e.Raw, data, f, "raw")
		case 3:
			return text(&e.ContentEncoding, data, f, "contentEncoding")
		case 4:
			return text(&e.ContentType, data, f, "contentType")
		}
		return nil
	}).orNil()
}

func (e *Envelope) typeMeta(data []byte, f rawField) *DecodeError {
	return within(data, f, "typeMeta", func(f rawField) *DecodeError {
		switch f.num {
		case 1:
			return text(&e.APIVersion, data, f, "apiVersion")
		case 2:
			return text(&e.Kind, data, f, "kind")
		}
		return nil
	})
}

// WatchEvent is one frame of a watch. It points into the bytes that it was parsed from.
type WatchEvent struct {
	// Type is "ADDED", "MODIFIED", "DELETED", "BOOKMARK" or "ERROR".
	Type []byte
	// Object is the object in its envelope. For ERROR it is a metav1.Status.
	Object []byte
}

// ParseWatchEvent parses a frame. It costs no allocation. Errors: a *[DecodeError]; with it
// comes all that could be read, and of a frame that was cut off the beginning of Object.
func ParseWatchEvent(frame []byte) (WatchEvent, error) {
	var w WatchEvent
	return w, each(frame, 0, len(frame), func(f rawField) *DecodeError {
		switch f.num {
		case 1:
			return text(&w.Type, frame, f, "type")
		case 2:
			return within(frame, f, "object", func(f rawField) *DecodeError {
				if f.num == 1 {
					return start(&w.Object, frame, f, "raw")
				}
				return nil
			})
		}
		return nil
	}).orNil()
}

// Meta is the part of an object's metadata that a watch is run by. It points into the bytes
// that it was parsed from.
type Meta struct {
	Name, Namespace, ResourceVersion []byte
	// InitialEventsEnd says that the annotation is "true" that ends a streamed list.
	// (KEP-3157)
	InitialEventsEnd bool
}

// ParseMeta reads metadata out of an object's own bytes ([Envelope].Raw). It costs no
// allocation and skips over all else, so it is for objects that are not decoded: bookmarks,
// and those that cannot be. Metadata is field 1 of every Kubernetes object. Errors: a
// *[DecodeError], with all that could be read.
func ParseMeta(raw []byte) (Meta, error) {
	var m Meta
	return m, each(raw, 0, len(raw), func(f rawField) *DecodeError {
		if f.num != 1 {
			return nil
		}
		return within(raw, f, "metadata", func(f rawField) *DecodeError {
			switch f.num {
			case 1:
				return text(&m.Name, raw, f, "name")
			case 3:
				return text(&m.Namespace, raw, f, "namespace")
			case 6:
				return text(&m.ResourceVersion, raw, f, "resourceVersion")
			case 12:
				return m.annotation(raw, f)
			}
			return nil
		})
	}).orNil()
}

func (m *Meta) annotation(raw []byte, f rawField) *DecodeError {
	if f.wire != wireBytes {
		return (&DecodeError{Offset: f.start, Err: ErrWireType}).under("annotations", -1)
	}
	if f.cut {
		return nil
	}
	var value []byte
	key, err := entry(raw[:f.limit], f.start, f.end, func(start, cut int) *DecodeError {
		value = raw[start:cut]
		return nil
	})
	if err != nil {
		return err.under("annotations", -1)
	}
	if string(key) == metav1.InitialEventsAnnotationKey {
		m.InitialEventsEnd = string(value) == "true"
	}
	return nil
}

// DecodeStatus reads a metav1.Status out of its own bytes, kind and apiVersion included.
// Errors: a *[DecodeError].
func DecodeStatus(raw []byte) (*metav1.Status, error) {
	st := &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}}
	if err := st.Unmarshal(raw); err != nil {
		return nil, &DecodeError{Path: "status", Err: err}
	}
	return st, nil
}

// each calls fn for each field of the message data[i:end]. It calls fn for a field that is cut
// off too, and then returns io.ErrUnexpectedEOF.
func each(data []byte, i, end int, fn func(rawField) *DecodeError) *DecodeError {
	for data = data[:end]; i < len(data); {
		f := readField(data, i)
		if f.cut {
			_ = fn(f)
		}
		if f.next < 0 {
			return failure(i, f.next)
		}
		if err := fn(f); err != nil {
			return err
		}
		i = f.next
	}
	return nil
}

// within calls fn for each field of the message that f holds.
func within(data []byte, f rawField, name string, fn func(rawField) *DecodeError) *DecodeError {
	if f.wire != wireBytes {
		return (&DecodeError{Offset: f.start, Err: ErrWireType}).under(name, -1)
	}
	if err := each(data, f.start, f.end, fn); err != nil {
		return err.under(name, -1)
	}
	return nil
}

// text sets *s to what f holds, unless that is cut off.
func text(s *[]byte, data []byte, f rawField, name string) *DecodeError {
	if f.cut {
		return nil
	}
	return start(s, data, f, name)
}

// start sets *s to what f holds, or to the beginning of it.
func start(s *[]byte, data []byte, f rawField, name string) *DecodeError {
	if f.wire != wireBytes {
		return (&DecodeError{Offset: f.start, Err: ErrWireType}).under(name, -1)
	}
	*s = data[f.start:f.end:f.end]
	return nil
}

// orNil makes an error of an error that may be nil.
func (e *DecodeError) orNil() error {
	if e == nil {
		return nil
	}
	return e
}
