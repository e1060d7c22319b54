package fake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/maphash"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake/internal/refusal"
)

// origin returns the revision that the table holds.
func (v *revision) origin() *revision {
	if v.stored != nil {
		return v.stored
	}
	return v
}

// sum returns the sum of the object for [reflector.Event]. There are no bytes to hash, but obj
// depends only on the state that the table holds and on the definition that it is seen by.
func (v *revision) sum() uint64 {
	server, serial := v.of.server, &v.origin().serial
	if serial.Load() == 0 {
		serial.CompareAndSwap(0, server.serials.Add(1))
	}
	return max(1, maphash.Comparable(server.seed, [2]uint64{serial.Load(), v.of.serial}))
}

// sameAs reports whether v is stored as old is, so that there is nothing to write.
func (v *revision) sameAs(old *revision) bool {
	if v.by.forgets() != old.by.forgets() || v.kept != 0 && old.kept != 0 && v.kept != old.kept {
		return false
	}
	return unchanged(v.obj, old.obj)
}

// object returns the object, or nil for no revision.
func (v *revision) object() metav1.Object {
	if v == nil {
		return nil
	}
	return v.obj
}

// stated returns v with an object that states v's resourceVersion. It is another revision if v is
// the last state of an object at its deletion.
func (v *revision) stated() (*revision, error) {
	rv := formatRV(v.rv)
	if v.obj.GetResourceVersion() == rv {
		return v, nil
	}
	obj, err := clone(v.obj)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	obj.SetResourceVersion(rv)
	return &revision{key: v.key, rv: v.rv, obj: obj, of: v.of}, nil
}

// json returns the object's JSON, which is read-only. Concurrent first calls may encode twice.
func (v *revision) json(r *definedResource) ([]byte, error) {
	if b := v.encoded.Load(); b != nil {
		return *b, nil
	}
	b, err := encode(v.obj, r)
	if err != nil {
		return nil, err
	}
	v.encoded.Store(&b)
	return b, nil
}

// encode returns obj as JSON that states its kind, even if its type has no field for it.
func encode(obj metav1.Object, r *definedResource) (b []byte, err error) {
	defer refusal.Recover(&err)
	b, err = json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	b = bytes.TrimSpace(b)
	if _, ok := obj.(interface{ GetObjectKind() schema.ObjectKind }); ok {
		return b, nil
	}
	head := fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q`, r.Kind, r.groupVersion())
	if len(b) > 2 {
		head = append(head, ',')
	}
	return append(head, bytes.TrimPrefix(b, []byte("{"))...), nil
}

// forgets reports whether nobody is remembered, on request.
func (by *writers) forgets() bool { return by != nil && by.forgotten }
