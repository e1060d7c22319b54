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
	mapkeytest.Refused(t, mapkeytest.Constructors{
		Float: newOf[float64], Complex: newOf[complex64], Interface: newOf[any],
		Array: newOf[[2]float32], Struct: newOf[mapkeytest.Struct],
	}, fifo.ErrKeyType)
	mapkeytest.Refused(t, mapkeytest.Constructors{
		Float: heapOf[float64], Complex: heapOf[complex64], Interface: heapOf[any],
		Array: heapOf[[2]float32], Struct: heapOf[mapkeytest.Struct],
	}, fifo.ErrKeyType)
}
