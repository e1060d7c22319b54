package controller_test

import (
	"testing"

	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/internal/mapkey"
	"github.com/kinform/kinform/internal/mapkey/mapkeytest"
)

func newOf[K comparable]() error {
	return mapkeytest.Panic(func() { controller.New(controller.Options[K]{}) })()
}

// A controller of keys that its queue cannot hold cannot be made.
func TestKeyTypes(t *testing.T) {
	mapkeytest.Refused(t, newOf[float64], mapkey.ErrKeyType)
}
