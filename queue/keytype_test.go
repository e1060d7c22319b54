package queue_test

import (
	"testing"

	"github.com/kinform/kinform/internal/mapkey"
	"github.com/kinform/kinform/internal/mapkey/mapkeytest"
	"github.com/kinform/kinform/queue"
)

func newOf[K comparable]() error {
	return mapkeytest.Panic(func() { queue.New(queue.Options[K]{}) })()
}

// A queue of keys that a map cannot hold cannot be made.
func TestKeyTypes(t *testing.T) {
	mapkeytest.Refused(t, newOf[float64], mapkey.ErrKeyType)
}
