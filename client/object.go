package client

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinform/kinform/internal/decode"
)

// decoded is an object with its identity.
type decoded struct {
	object any // a pointer; nil if it was not decoded
	id     identity
	sum    uint64 // of the object's bytes; zero if it was not decoded
	known  bool   // the object was not decoded, because it is known; id has no name then
}

// decodeObject makes an object from raw, one object in the workspace's encoding, if it matches want. No part of
// the result refers to raw. On an error, the identity is still filled as far as it can be found. A
// panic of T's methods becomes an error. problem is an error known in advance, or nil. If there is
// one, raw is the JSON of the object's header.
//
// The caller completes the object: see complete.
func decodeObject(c *objectCodec, raw []byte, problem error, want expectation, w *workspace) (decoded, error) {
	start := time.Now()
	w.count()
	var d decoded
	err := problem
	if err == nil {
		err = w.codec.Weigh(raw)
	}
	switch {
	case problem != nil:
		d.id = identityOf(decode.ScanStart(raw))
	case err != nil:
		d.id = identityOf(w.codec.Header(raw))
	default:
		d, err = fromRaw(c, raw, w)
	}
	err = want.judge(d.id, err)
	c.stats.countDecoded(start, err)
	return d, err
}

func fromRaw(c *objectCodec, raw []byte, w *workspace) (d decoded, err error) {
	if k := w.codec.Kind(raw); k != '{' {
		return d, fmt.Errorf("%w but %s", errNotAnObject, decode.KindName(k))
	}
	d.sum = objectSum(c, w.codec, raw)
	if c.drop {
		raw = w.codec.WithoutManagedFields(raw, &w.cut)
	}
	if err := unmarshal(c, w, raw, &d); err != nil {
		return decoded{id: identityOf(w.codec.Header(raw))}, err
	}
	return d, nil
}

// unmarshal fills d from raw.
func unmarshal(c *objectCodec, w *workspace, raw []byte, d *decoded) (err error) {
	defer contain(&err)
	target := newObject(c)
	if u, ok := target.(*unstructured.Unstructured); ok {
		if u.Object, err = w.codec.UnmarshalObject(raw); err == nil {
			err = checkTypeMeta(u.Object)
		}
	} else if fast := w.codec.Unmarshal(raw, target); fast != nil {
		// Again by the exact rules, which accept more Go types.
		target = newObject(c)
		err = decode.Located(w.codec.UnmarshalExact(raw, target), fast)
	}
	if err != nil {
		return err
	}
	w.share(target)
	d.object = target
	var known bool
	if d.id, known = identify(target); !known {
		d.id = identityOf(w.codec.Header(raw))
	}
	return nil
}

// complete adds kind and apiVersion to a decoded object without them, so the object is the
// same from a list and from a watch.
func complete(c *objectCodec, d decoded, want expectation) (err error) {
	if !c.kinded {
		return nil
	}
	defer contain(&err)
	if want.kind == "" {
		want.kind = d.id.kind
	}
	if want.kind == "" {
		want.kind = want.guess
	}
	if c.partial {
		want.apiVersion, want.kind = metav1.SchemeGroupVersion.String(), partialKind
	}
	if c.untyped && want.kind == "" {
		return fmt.Errorf("%w: neither the object nor its list names one", errWrongKind)
	}
	setKind(d.object, want)
	return nil
}

// setKind completes the kind and apiVersion of the object if it has them. Objects of one
// stream share the two strings.
func setKind(object any, want expectation) {
	if u, ok := object.(*unstructured.Unstructured); ok {
		u.Object["apiVersion"], u.Object["kind"] = want.apiVersion, want.kind
		return
	}
	if tm := typeMeta(object); tm != nil {
		tm.APIVersion, tm.Kind = want.apiVersion, want.kind
	}
}

// checkTypeMeta checks the fields that the accessors of an Unstructured read, because the
// accessors ignore values of the wrong type.
func checkTypeMeta(object map[string]any) error {
	for _, field := range []string{"kind", "apiVersion"} {
		v := object[field]
		if _, ok := v.(string); v != nil && !ok {
			return fmt.Errorf("%s is not a string", field)
		}
	}
	return nil
}
