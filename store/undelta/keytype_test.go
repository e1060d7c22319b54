package undelta_test

import (
	"testing"

	"github.com/kinform/kinform/internal/mapkey/mapkeytest"
	"github.com/kinform/kinform/store"
	"github.com/kinform/kinform/store/undelta"
)

func newOf[K comparable]() error {
	_, err := undelta.New(func(k K) (K, error) { return k, nil }, func(store.Snapshot[K, K]) {}, store.Options[K]{})
	return err
}

// A store of keys that a map cannot hold cannot be made.
func TestKeyTypes(t *testing.T) {
	mapkeytest.Refused(t, newOf[float64], store.ErrKeyType)
}
