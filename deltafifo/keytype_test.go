package deltafifo_test

import (
	"testing"

	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/internal/mapkey"
	"github.com/kinform/kinform/internal/mapkey/mapkeytest"
)

func newOf[K comparable]() error {
	return mapkeytest.Panic(func() { deltafifo.New[K, int](nil, deltafifo.Options{}) })()
}

// A queue of keys that a map cannot hold cannot be made.
func TestKeyTypes(t *testing.T) {
	mapkeytest.Refused(t, newOf[float64], mapkey.ErrKeyType)
}
