package client

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/internal/decode"
	"github.com/kinform/kinform/internal/kubeproto"
	"github.com/kinform/kinform/reflector"
)

// Relist implements [reflector.Relister]. In JSON, the syntax of a known object is still
// checked; in protobuf, only its metadata is.
//
//go:noinline
func (r *Resource[T]) Relist(self reflector.Source[T], known func(reflector.Identity) bool) reflector.Source[T] {
	if self != reflector.Source[T](r) {
		return nil
	}
	return &Resource[T]{r.core, known}
}

// inquiry asks about the objects of one list whether they are known. It belongs to one goroutine.
// The zero value knows none.
type inquiry struct {
	known func(reflector.Identity) bool // nil if none are asked about
	text  strings.Builder               // the texts of identities, in pieces
	state decode.State                  // of the last object in JSON
}

// inquiryRoom is the size of a piece. It holds the identities of some 40 objects, so an object
// costs no allocation of its own.
const inquiryRoom = 4 << 10

// ask asks about a state whose bytes are only valid until it returns. version is the state's.
func (q *inquiry) ask(s kubeproto.State, sum uint64) (version string, known bool) {
	if n := len(s.Namespace) + len(s.Name) + len(s.UID) + len(s.ResourceVersion); n > q.text.Cap()-q.text.Len() {
		q.text = strings.Builder{}
		q.text.Grow(max(n, inquiryRoom))
	}
	id := reflector.Identity{
		NamespacedName:  types.NamespacedName{Namespace: q.keep(s.Namespace), Name: q.keep(s.Name)},
		UID:             types.UID(q.keep(s.UID)),
		ResourceVersion: q.keep(s.ResourceVersion),
		Sum:             sum,
	}
	return id.ResourceVersion, q.known(id)
}

// keep returns a string in the piece, which has room for it.
func (q *inquiry) keep(text []byte) string {
	from := q.text.Len()
	q.text.Write(text)
	return q.text.String()[from:]
}

// likelyText is string(text), without an allocation if that is equal to likely.
func likelyText(text []byte, likely string) string {
	if string(text) == likely {
		return likely
	}
	return string(text)
}

// readListed reads an object of a list in JSON. If the object is known, d is the object.
// Otherwise it returns what decode.ReadObject does.
func readListed(c *objectCodec, in *decode.Reader, want expectation, w *workspace) (d decoded, raw []byte, problem, err error) {
	if w.inquiry.known == nil {
		raw, problem, err = decode.ReadObject(in, nil)
		return d, raw, problem, err
	}
	s := &w.inquiry.state
	*s = decode.State{}
	raw, problem, err = decode.ReadObject(in, s)
	if err != nil || problem != nil || s.UID == nil {
		return d, raw, problem, err
	}
	id := identity{apiVersion: likelyText(s.APIVersion, want.apiVersion), kind: likelyText(s.Kind, want.kind)}
	if recalled, ok := recall(c, id, s.State, sumOf(c, w.codec, raw), want, w); ok {
		d = recalled
	}
	return d, raw, nil, nil
}

// decodeListedMessage is decodeMessage for an object of a list, which may be known.
func decodeListedMessage(c *objectCodec, m message, problem error, want expectation, w *workspace) (decoded, error) {
	if w.inquiry.known != nil && problem == nil && c.protobuf == nil {
		if s, ok := kubeproto.ScanState(m.raw); ok {
			if d, ok := recall(c, identity{apiVersion: m.apiVersion, kind: m.kind}, s, sum(c, m.raw), want, w); ok {
				return d, nil
			}
		}
	}
	return decodeMessage(c, m, problem, want, w)
}

// recall returns an object that need not be decoded; ok is false if it must be. An object that
// would be refused must be, so that the refusal is reported. So must one of an unknown kind, which
// depends on the rest of the list.
func recall(c *objectCodec, id identity, s kubeproto.State, sum uint64, want expectation, w *workspace) (d decoded, ok bool) {
	d.id, d.known = id, true
	if want.check(d.id) != nil || c.kinded && want.kind == "" && d.id.kind == "" && want.guess == "" {
		return d, false
	}
	if d.id.resourceVersion, ok = w.inquiry.ask(s, sum); ok {
		c.stats.recalled.Add(1)
	}
	return d, ok
}
