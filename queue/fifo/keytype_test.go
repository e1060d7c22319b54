package fifo_test

import (
	"cmp"
	"testing"

	"github.com/kinform/kinform/internal/mapkey/mapkeytest"
	"github.com/kinform/kinform/queue/fifo"
)

func newOf[K comparable]() error {
	return mapkeytest.Panic(func() { fifo.New[K, int]() })()
}

func heapOf[K comparable]() error {
	_, err := fifo.NewHeap[K](cmp.Compare[int])
	return err
}

// A queue of keys that a map cannot hold cannot be made.
func TestKeyTypes(t *testing.T) {
	mapkeytest.Refused(t, newOf[float64], fifo.ErrKeyType)
	mapkeytest.Refused(t, heapOf[float64], fifo.ErrKeyType)
}
