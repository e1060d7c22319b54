package client

import (
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/internal/decode"
	"github.com/kinform/kinform/internal/kubeproto"
)

// rawMessage is one object as it came: its bytes, and in Kubernetes protobuf the fields of its
// envelope. The items of a list have no envelope.
type rawMessage struct {
	apiVersion, kind string
	raw              []byte
}

// openEnvelope takes an object out of its envelope. likely is the identity that the object most
// likely has.
func openEnvelope(data []byte, likely expectation) (rawMessage, error) {
	e, err := kubeproto.ParseEnvelope(data)
	if err == nil && len(e.ContentEncoding)+len(e.ContentType) > 0 {
		err = fmt.Errorf("an envelope of %q, encoded as %q", e.ContentType, e.ContentEncoding)
	}
	return rawMessage{apiVersion: likelyText(e.APIVersion, likely.apiVersion), kind: likelyText(e.Kind, likely.kind), raw: e.Raw}, err
}

// header reads the identifying fields of the object as far as possible.
func (m rawMessage) header() decode.Header {
	meta, _ := kubeproto.ParseMeta(m.raw) // raw may be only the beginning
	h := decode.Header{APIVersion: m.apiVersion, Kind: m.kind}
	h.Metadata.Name, h.Metadata.Namespace = string(meta.Name), string(meta.Namespace)
	h.Metadata.ResourceVersion = string(meta.ResourceVersion)
	if meta.InitialEventsEnd {
		h.Metadata.Annotations.InitialEventsEnd = "true"
	}
	return h
}

// status decodes a metav1.Status; ok is false if the message is not a Status.
func (m rawMessage) status() (st metav1.Status, ok bool) {
	if !mayBeStatus(m.apiVersion, m.kind) {
		return st, false
	}
	if p, _ := kubeproto.DecodeStatus(m.raw); p != nil {
		st = *p
	}
	if m.kind == "" && !reportsFailure(st) {
		return metav1.Status{}, false
	}
	return st, true
}

// decodeMessage is decodeObject for protobuf. problem is an error known in advance, or nil.
func decodeMessage(c *objectCodec, m rawMessage, problem error, want expectation, w *workspace) (decoded, error) {
	start := time.Now()
	w.count()
	var d decoded
	err := problem
	if err == nil {
		err = fromMessage(c, m, &d, w)
	}
	if err != nil {
		d = decoded{id: identityOf(m.header())}
	}
	err = want.judge(d.id, err)
	c.stats.countDecoded(start, err)
	return d, err
}

func fromMessage(c *objectCodec, m rawMessage, d *decoded, w *workspace) (err error) {
	defer contain(&err)
	if c.protobuf != nil {
		return fmt.Errorf("the server answered in %s, which %v cannot be decoded from: %w", inProtobuf, c.of, c.protobuf)
	}
	target := newObject(c)
	opts := kubeproto.Options{Strings: w.strings, DropManagedFields: c.drop, MaxMemory: c.memory, Parts: w.wire, KnownParts: w.update}
	if err := c.plan.Decode(m.raw, target, opts); err != nil {
		return wireError(err)
	}
	d.object = target
	var known bool
	if d.id, known = identify(target); !known {
		d.id = identityOf(m.header())
	}
	d.id.apiVersion, d.id.kind = m.apiVersion, m.kind
	d.sum = contentsSum(c, m.raw)
	return nil
}

// wireError turns errors of kubeproto into errors of this package.
func wireError(err error) error {
	if errors.Is(err, kubeproto.ErrTooLarge) {
		return decode.ErrOverLimit
	}
	return err
}

// isForeignMessage reports whether err says that the input is not protobuf.
func isForeignMessage(err error) bool {
	var malformed *kubeproto.DecodeError
	return errors.Is(err, kubeproto.ErrNoEnvelope) || errors.As(err, &malformed)
}
