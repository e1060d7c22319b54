package pipeline_test

import (
	"testing"

	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/informer/pipeline"
	"github.com/kinform/kinform/internal/mapkey/mapkeytest"
	"github.com/kinform/kinform/reflector"
)

// unread is a source that is never asked anything.
type unread struct{ reflector.Source[*thing] }

func newOf[K comparable]() error {
	_, err := pipeline.New(unread{}, func(*thing) (K, error) { return *new(K), nil },
		func(K, []deltafifo.Delta[*thing]) error { return nil }, pipeline.Options[K, *thing]{})
	return err
}

// A pipeline of keys that its queue cannot hold cannot be made.
func TestKeyTypes(t *testing.T) {
	mapkeytest.Refused(t, newOf[float64], pipeline.ErrKeyType)
}
