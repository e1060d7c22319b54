package kinform_test

import (
	"context"
	"testing"

	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/informer/pipeline"
	"github.com/kinform/kinform/internal/mapkey"
	"github.com/kinform/kinform/internal/mapkey/mapkeytest"
	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
	"github.com/kinform/kinform/store/undelta"
)

// unread is a source that is never asked anything.
type unread struct{ reflector.Source[*Lamp] }

func (unread) Resource() string { return "lamps" }

func keyOf[K comparable](*Lamp) (K, error) { return *new(K), nil }

func storeOf[K comparable]() error {
	_, err := store.New(keyOf[K], store.Options[*Lamp]{})
	return err
}

func undeltaOf[K comparable]() error {
	_, err := undelta.New(keyOf[K], func(store.Snapshot[K, *Lamp]) {}, store.Options[*Lamp]{})
	return err
}

func deltaFIFOOf[K comparable]() error {
	return mapkeytest.Panic(func() { deltafifo.New[K, *Lamp](nil, deltafifo.Options{}) })()
}

func pipelineOf[K comparable]() error {
	_, err := pipeline.New(unread{}, keyOf[K], func(K, []deltafifo.Delta[*Lamp]) error { return nil }, pipeline.Options[K, *Lamp]{})
	return err
}

func informerOf[K comparable]() error {
	_, err := informer.New(unread{}, keyOf[K], informer.Options[*Lamp]{})
	return err
}

func queueOf[K comparable]() error {
	return mapkeytest.Panic(func() { queue.New(queue.Options[K]{}) })()
}

func controllerOf[K comparable]() error {
	return mapkeytest.Panic(func() { controller.New("", func(context.Context, K) error { return nil }) })()
}

// Nothing that holds keys can be made for keys that it could not find again. All is made here and
// not in each package: what is behind one constructor is compiled for such keys anew, but only once.
func TestKeyTypes(t *testing.T) {
	for name, test := range map[string]struct {
		construct func() error
		want      error
	}{
		"store":      {storeOf[float64], mapkey.ErrKeyType},
		"undelta":    {undeltaOf[float64], mapkey.ErrKeyType},
		"deltafifo":  {deltaFIFOOf[float64], mapkey.ErrKeyType},
		"pipeline":   {pipelineOf[float64], pipeline.ErrKeyType},
		"informer":   {informerOf[float64], mapkey.ErrKeyType},
		"queue":      {queueOf[float64], mapkey.ErrKeyType},
		"controller": {controllerOf[float64], mapkey.ErrKeyType},
	} {
		t.Run(name, func(t *testing.T) { mapkeytest.Refused(t, test.construct, test.want) })
	}
}
