package synctrack_test

import (
	"testing"

	"github.com/kinform/kinform/informer/synctrack"
	"github.com/kinform/kinform/internal/mapkey"
	"github.com/kinform/kinform/internal/mapkey/mapkeytest"
)

func startOf[K comparable]() error {
	var tracker synctrack.Tracker[K]
	return mapkeytest.Panic(func() { tracker.Start(*new(K)) })()
}

// A tracker whose keys could not be finished takes none.
func TestKeyTypes(t *testing.T) {
	mapkeytest.Refused(t, mapkeytest.Constructors{
		Float: startOf[float64], Complex: startOf[complex64], Interface: startOf[any],
		Array: startOf[[2]float32], Struct: startOf[mapkeytest.Struct],
	}, mapkey.ErrKeyType)
}
