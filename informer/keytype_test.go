package informer_test

import (
	"testing"

	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/mapkey/mapkeytest"
	"github.com/kinform/kinform/store"
)

func newOf[K comparable]() error {
	_, err := informer.New(&script{}, func(*widget) (K, error) { return *new(K), nil }, informer.Options[*widget]{})
	return err
}

// An informer of keys that its store cannot hold cannot be made.
func TestKeyTypes(t *testing.T) {
	mapkeytest.Refused(t, newOf[float64], store.ErrKeyType)
}
