package store_test

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/store"
)

// house stands for an object with a key of its own.
type house struct {
	Street string
	Number int
}

// byAddress is the key of a house. Houses without a number have none.
var byAddress store.KeyFunc[house, house] = func(h house) (house, error) {
	if h.Number == 0 {
		return h, errors.New("no number")
	}
	return h, nil
}

// The errors of a store and of its waits.
func ExampleKeyError() {
	var houses *store.Store[house, house]
	houses, err := store.New(byAddress, store.Options[house]{})
	fmt.Println(err)
	var bad *store.KeyError
	if err := houses.Set(house{Street: "High Street"}); errors.As(err, &bad) {
		fmt.Println("no key:", bad.Err)
	}
	reads := houses.Reader()
	err = reads.WaitForRV(context.Background(), "not a version")
	fmt.Println(errors.Is(err, store.ErrResourceVersion))

	// A wait ends when the version may never come, and when the store is closed.
	houses.Rewind()
	houses.Close()
	err = reads.WaitForRV(context.Background(), "100")
	fmt.Println(errors.Is(err, store.ErrClosed), errors.Is(err, store.ErrRewound))

	_, err = store.New[house](nil, store.Options[house]{})
	fmt.Println(errors.Is(err, store.ErrInvalid))
	// Output:
	// <nil>
	// no key: no number
	// true
	// true false
	// true
}

// A key from a command line or a log.
func ExampleParseKey() {
	key, err := store.ParseKey("prod/web")
	fmt.Println(key == types.NamespacedName{Namespace: "prod", Name: "web"}, err)
	_, err = store.ParseKey("a/b/c")
	fmt.Println(errors.Is(err, store.ErrInvalid))
	// Output:
	// true <nil>
	// true
}
