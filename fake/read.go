package fake

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake/internal/refusal"
)

// get returns the newest revision of an object, nil if there is none.
func (t *table) get(key types.NamespacedName) (*revision, error) {
	t.server.mu.Lock()
	err, v := t.checkServed(), t.live(key)
	t.server.mu.Unlock()
	if err != nil {
		return nil, err
	}
	out, err := t.decoded(v)
	if err != nil {
		return nil, undecodable{refusal.New(http.StatusInternalServerError, metav1.StatusReasonUnknown, notDecodable(v, err))}
	}
	return out, nil
}

// read returns the newest revision of an object, unless one from the future is asked for.
func (t *table) read(key types.NamespacedName, notOlderThan string) (*revision, error) {
	rv, err := parseRV(notOlderThan)
	if err != nil {
		return nil, err
	}
	t.server.mu.Lock()
	v, current, err := t.live(key), t.server.rv, t.checkServed()
	t.server.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case rv > current:
		return nil, errTooLarge(rv, current)
	case v == nil:
		return nil, apierrors.NewNotFound(t.res.groupResource(), key.Name)
	}
	out, err := t.decoded(v)
	if err != nil {
		return nil, t.errCorrupt(key, notDecodable(v, err))
	}
	return out, nil
}

// toWrite returns the newest revision of an object for a write, nil if there is none.
func (t *table) toWrite(key types.NamespacedName, w write) (*revision, error) {
	v, err := t.get(key)
	if bad := (undecodable{}); w.dryRun && errors.As(err, &bad) { // a dry run begins with a read
		err = t.errCorrupt(key, bad.Error())
	}
	return v, err
}
