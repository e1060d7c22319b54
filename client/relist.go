package client

import (
	"github.com/kinform/kinform/internal/decode"
	"github.com/kinform/kinform/internal/kubeproto"
	"github.com/kinform/kinform/internal/objid"
	"github.com/kinform/kinform/reflector"
)

// Relist serves reflectors. In JSON, the syntax of a known object is still
// checked; in protobuf, only its metadata is.
//
//go:noinline
func (r *Resource[T]) Relist(self reflector.Source[T], known func(objid.Identity) bool) reflector.Source[T] {
	if self != reflector.Source[T](r) {
		return nil
	}
	return &Resource[T]{r.core, known}
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
	if recalled, ok := recall(c, id, s.State, objectSum(c, w.codec, raw), want, w); ok {
		d = recalled
	}
	return d, raw, nil, nil
}

// decodeListedMessage is decodeMessage for an object of a list, which may be known.
func decodeListedMessage(c *objectCodec, m rawMessage, problem error, want expectation, w *workspace) (decoded, error) {
	if w.inquiry.known != nil && problem == nil && c.protobuf == nil {
		if s, ok := kubeproto.ScanState(m.raw); ok {
			if d, ok := recall(c, identity{apiVersion: m.apiVersion, kind: m.kind}, s, contentsSum(c, m.raw), want, w); ok {
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
	if d.id.resourceVersion, ok = w.inquiry.askAbout(s, sum); ok {
		c.stats.recalled.Add(1)
	}
	return d, ok
}
