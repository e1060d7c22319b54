package informer_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/reflector"
)

// sortOf returns a word for what OnError gets, for a counter by sort. Most failures end by themselves; the sorts that need
// somebody are told apart from them.
func sortOf(err error) string {
	var (
		request *reflector.RequestError
		object  *reflector.ObjectError
		quiet   *reflector.SlowListError
		store   *deltafifo.SlowError
		handler *informer.SlowHandlerError
		late    *informer.LateNamespaceError
		lost    *informer.LostWriteError
		written *informer.MutationError
		crash   *informer.PanicError
	)
	switch {
	case errors.As(err, &crash):
		return "bug: " + crash.Where // Run ends with it
	case errors.As(err, &written):
		return "bug: an object of the cache was written to"
	case errors.As(err, &handler) && handler.Stuck:
		return "stuck: " + handler.Handler
	case errors.As(err, &handler), errors.As(err, &store), errors.As(err, &quiet):
		return "slow"
	case errors.As(err, &late):
		return "late: " + late.Namespace
	case errors.As(err, &lost):
		return "lost write: " + lost.Key
	case errors.As(err, &object):
		return "bad object: " + object.Key
	case errors.Is(err, reflector.ErrRestored):
		return "the server was restored from a backup"
	case errors.Is(err, reflector.ErrProtocol), errors.Is(err, reflector.ErrUnusable):
		return "not an API server"
	case errors.As(err, &request) && request.Lasting():
		return "refused: " + request.Resource
	}
	return "request"
}

// What OnError gets, told apart by type.
func ExampleOptions_onError() {
	for _, err := range []error{
		&informer.SlowHandlerError{Resource: "pods", Handler: "metrics", Stuck: true},
		&informer.LostWriteError{Resource: "pods", Key: "prod/web"},
		&informer.LateNamespaceError{Resource: "pods in namespace prod", Namespace: "prod"},
		&deltafifo.SlowError{Resource: "pods", Deltas: 10, Took: time.Second},
		&reflector.RequestError{Verb: "list", Resource: "pods", Err: fmt.Errorf("a login page: %w", reflector.ErrUnusable)},
		&reflector.RequestError{Verb: "watch", Resource: "pods", Err: errors.New("connection reset")},
	} {
		fmt.Println(sortOf(err))
	}
	// Output:
	// stuck: metrics
	// lost write: prod/web
	// late: prod
	// slow
	// not an API server
	// request
}
