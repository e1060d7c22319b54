package expire_test

import (
	"testing"

	"github.com/kinform/kinform/internal/mapkey"
	"github.com/kinform/kinform/internal/mapkey/mapkeytest"
	"github.com/kinform/kinform/store/expire"
)

func newOf[K comparable]() error {
	return mapkeytest.Panic(func() { expire.New(expire.Options[K, int]{}) })()
}

// A cache whose entries could never be deleted cannot be made.
func TestKeyTypes(t *testing.T) {
	mapkeytest.Refused(t, newOf[float64], mapkey.ErrKeyType)
}
