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
	mapkeytest.Refused(t, startOf[float64], mapkey.ErrKeyType)
}
