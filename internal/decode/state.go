package decode

import (
	"unicode/utf8"

	"github.com/kinform/kinform/internal/kubeproto"
)

// State identifies one state of an object. The slices may refer to the object's JSON. The UID is
// nil if only the decoder can tell the state.
type State struct {
	APIVersion, Kind []byte // nil if the JSON has none
	kubeproto.State
}

// span is a part of a walk's JSON, which may move in memory while more is read. The zero value is
// no part.
type span struct{ from, to int }

// stateSpans are the parts of an object's JSON that are its state.
type stateSpans struct{ apiVersion, kind, namespace, name, uid, resourceVersion span }

// complete reports whether all parts are there that identify a state.
func (s *stateSpans) complete() bool {
	return s.name.to > 0 && s.uid.to > 0 && s.resourceVersion.to > 0
}

// state returns the state in the JSON.
func (s *stateSpans) state(raw []byte) State {
	text := func(part span) []byte {
		if part.to == 0 {
			return nil
		}
		return raw[part.from:part.to:part.to]
	}
	return State{APIVersion: text(s.apiVersion), Kind: text(s.kind), State: kubeproto.State{
		Namespace: text(s.namespace), Name: text(s.name), UID: text(s.uid), ResourceVersion: text(s.resourceVersion),
	}}
}

// object passes over the object that begins the JSON, and notes its state. It is unsure if
//
//   - the name, UID or version is missing or empty
//   - a member that it notes comes twice, is no string, has an escape or is not ASCII
//   - the name of a member of the object or of its metadata has an escape
func (w *walk) object(s *stateSpans) (end int) {
	return w.members(0, 0, func(name []byte, from int) int {
		switch string(name) {
		case "kind":
			return w.textTo(&s.kind, from)
		case "apiVersion":
			return w.textTo(&s.apiVersion, from)
		case "metadata":
			if s.uid.to > 0 || w.at(from) != '{' {
				return unsure
			}
			if end := w.meta(s, from); s.complete() {
				return end
			}
			return unsure
		}
		return w.value(from, 1)
	})
}

// meta passes over the metadata.
func (w *walk) meta(s *stateSpans, from int) int {
	return w.members(from, 1, func(name []byte, from int) int {
		switch string(name) {
		case "namespace":
			return w.textTo(&s.namespace, from)
		case "name":
			return w.textTo(&s.name, from)
		case "uid":
			return w.textTo(&s.uid, from)
		case "resourceVersion":
			return w.textTo(&s.resourceVersion, from)
		}
		return w.value(from, 2)
	})
}

// textTo notes the content of a string. It is unsure if that was noted already, is empty, or needs
// decoding.
func (w *walk) textTo(s *span, from int) int {
	if s.to > 0 || w.at(from) != '"' {
		return unsure
	}
	end := w.text(from)
	if end < from+len(`"x"`) {
		return unsure
	}
	for _, c := range w.b[from+1 : end-1] {
		if c == '\\' || c >= utf8.RuneSelf {
			return unsure
		}
	}
	*s = span{from + 1, end - 1}
	return end
}
