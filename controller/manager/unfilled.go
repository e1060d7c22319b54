package manager

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/keytext"
	"github.com/kinform/kinform/reflector"
)

const (
	// mostReasons is the number of reasons that a cache gives: it may be over many namespaces.
	mostReasons = 20
	// mostReason is the length of a reason, about, in bytes.
	mostReason = 1000
)

// unfilled returns the reasons why a cache is not filled, nil if it is.
func unfilled(c controller.Cache) (all []error) {
	late, cancel := context.WithTimeout(context.Background(), -1)
	defer cancel()
	err := c.WaitForSync(late)
	var (
		unsynced *informer.UnsyncedError
		refused  *informer.NotSyncingError
	)
	say := func(format string, args ...any) { all = append(all, reason(fmt.Sprintf(format, args...))) }
	switch {
	case err == nil:
	case errors.As(err, &unsynced):
		say("%s: not filled: %s", unsynced.Resource, unsynced.Why)
	case errors.As(err, &refused):
		requests := requestsOf(refused.Err)
		for _, one := range requests[:min(len(requests), mostReasons)] {
			say("%s", refusal(one))
		}
		if more := len(requests) - mostReasons; more > 0 {
			say("%s: and %d more namespaces", refused.Resource, more)
		}
	default:
		say("%s: not filled: %s", c.Resource(), strings.TrimPrefix(err.Error(), c.Resource()+": "))
	}
	return all
}

// reason is a line for people.
type reason string

func (r reason) Error() string {
	return keytext.Printable(keytext.Short(string(r), mostReason))
}

// requestsOf returns the requests that failed, of all namespaces.
func requestsOf(err error) (all []error) {
	switch e := err.(type) {
	case *reflector.RequestError:
		return []error{e}
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			all = append(all, requestsOf(one)...)
		}
		return all
	}
	return []error{err}
}

// refusal says why a request does not succeed without help. Without a permission, the verb and the namespace are what
// somebody has to look for.
func refusal(err error) string {
	failed, ok := err.(*reflector.RequestError)
	if !ok {
		return err.Error()
	}
	word := ""
	switch {
	case apierrors.IsForbidden(failed.Err):
		word = "forbidden"
	case apierrors.IsUnauthorized(failed.Err):
		word = "unauthorized"
	default:
		return failed.Resource + ": not filled: " + strings.TrimPrefix(failed.Error(), failed.Resource+": ")
	}
	verb := failed.Verb
	if verb == "watchlist" {
		verb = "watch"
	}
	resource, scope, _ := strings.Cut(failed.Resource, " in namespace ")
	if scope != "" {
		scope = " in " + scope
	}
	cause := strings.TrimPrefix(failed.Err.Error(), verb+" "+failed.Resource+": ")
	return fmt.Sprintf("%s: %s: cannot %s%s: %s", resource, word, verb, scope, cause)
}
