package kubeproto

import (
	"bytes"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// prefix starts every object, including the object of a watch event. It does not start a frame
// of a watch.
var prefix = []byte("k8s\x00")

// Envelope is the wrapper of an object on the wire, a runtime.Unknown. All of it points into
// the parsed bytes.
type Envelope struct {
	APIVersion, Kind []byte
	// Raw is the object's own bytes, for [Plan.Decode].
	Raw []byte
	// ContentEncoding and ContentType say how Raw is encoded. The API server leaves both
	// empty, which means protobuf.
	ContentEncoding, ContentType []byte
}

// ParseEnvelope parses an object from a response or a watch event. It does not allocate.
// Errors: [ErrNoEnvelope], a *[DecodeError]. With the latter it returns everything that could
// be read, including the beginning of Raw if the object was cut off.
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

// WatchEvent is one frame of a watch. It points into the parsed bytes.
type WatchEvent struct {
	// Type is "ADDED", "MODIFIED", "DELETED", "BOOKMARK" or "ERROR".
	Type []byte
	// Object is the object in its envelope. For ERROR it is a metav1.Status.
	Object []byte
}

// ParseWatchEvent parses a frame. It does not allocate. Errors: a *[DecodeError]. With it
// comes everything that could be read, including the beginning of Object if the frame was cut
// off.
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

// Meta is the part of an object's metadata that a watch needs. It points into the parsed
// bytes.
type Meta struct {
	Name, Namespace, ResourceVersion []byte
	// InitialEventsEnd says that the annotation that ends a streamed list is "true".
	// (KEP-3157)
	InitialEventsEnd bool
}

// ParseMeta reads metadata from an object's own bytes ([Envelope].Raw). It does not allocate
// and skips everything else. It is for objects that are not decoded, such as bookmarks and
// objects that cannot be decoded. Metadata is field 1 of every Kubernetes object. Errors: a
// *[DecodeError], with everything that could be read.
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
	key, _, err := entry(raw[:f.limit], f.start, f.end, func(start, cut int) *DecodeError {
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

// DecodeStatus reads a metav1.Status from its own bytes, including kind and apiVersion.
// Errors: a *[DecodeError].
func DecodeStatus(raw []byte) (*metav1.Status, error) {
	st := &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}}
	if err := st.Unmarshal(raw); err != nil {
		return nil, &DecodeError{Path: "status", Err: err}
	}
	return st, nil
}

// each calls fn for each field of the message data[i:end]. It also calls fn for a field that
// is cut off, and then returns io.ErrUnexpectedEOF.
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

// within calls fn for each field of the message in f.
func within(data []byte, f rawField, name string, fn func(rawField) *DecodeError) *DecodeError {
	if f.wire != wireBytes {
		return (&DecodeError{Offset: f.start, Err: ErrWireType}).under(name, -1)
	}
	if err := each(data, f.start, f.end, fn); err != nil {
		return err.under(name, -1)
	}
	return nil
}

// text sets *s to the content of f, unless that is cut off.
func text(s *[]byte, data []byte, f rawField, name string) *DecodeError {
	if f.cut {
		return nil
	}
	return start(s, data, f, name)
}

// start sets *s to the content of f, or to its beginning if it is cut off.
func start(s *[]byte, data []byte, f rawField, name string) *DecodeError {
	if f.wire != wireBytes {
		return (&DecodeError{Offset: f.start, Err: ErrWireType}).under(name, -1)
	}
	*s = data[f.start:f.end:f.end]
	return nil
}

// orNil returns e as an error, nil if e is nil.
func (e *DecodeError) orNil() error {
	if e == nil {
		return nil
	}
	return e
}
