package store_test

import (
	"testing"

	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/internal/mapkey/mapkeytest"
	"github.com/kinform/kinform/store"
)

func indexOf[V comparable]() error {
	x := index.New("x", func(dst []V, _ *Machine) []V { return dst })
	_, err := store.New(store.ObjectKey, store.Options[*Machine]{Indexes: index.Of[*Machine](x)})
	return err
}

func addIndexOf[V comparable]() error {
	s, err := store.New(store.ObjectKey, store.Options[*Machine]{})
	if err != nil {
		return err
	}
	return s.AddIndexes(index.New("x", func(dst []V, _ *Machine) []V { return dst }))
}

// An index of values that could not be found is an invalid definition, and the error names
// the type as it does for a key.
func TestIndexValueTypes(t *testing.T) {
	for _, want := range []error{index.ErrInvalid, store.ErrKeyType} {
		mapkeytest.Refused(t, indexOf[float64], want)
		mapkeytest.Refused(t, addIndexOf[float64], want)
	}
}
