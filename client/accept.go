package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// leanly asks the server not to send what DropManagedFields drops. (KEP-5958. kube-apiserver 1.37 ignores it.)
const leanly = ";drop=metadata.managedFields"

// acceptAnswer returns the Accept header for an object, or for its kind with suffix. JSON is the last choice,
// so a server without the first one still answers. Each choice ends with with.
func acceptAnswer(r *resource, suffix, with string) string {
	jsonOnly := r.jsonOnly.Load()
	if r.accepts != "" && suffix+with == "" && !jsonOnly {
		return r.accepts
	}
	choices := []encoding{r.encoding, inJSON}
	if r.encoding == inJSON || jsonOnly {
		choices = choices[1:]
	}
	var all []string
	if codecOf(r).partial {
		for _, e := range choices {
			all = append(all, fmt.Sprintf("%s;as=%s%s;g=%s;v=v1%s", e, partialKind, suffix, metav1.GroupName, with))
		}
	}
	for _, e := range choices {
		all = append(all, string(e)+with)
	}
	for i := range all[1:] {
		all[i+1] += fmt.Sprintf(";q=0.%d", 9-i) // in this order
	}
	return strings.Join(all, ",")
}

// ask sends a call whose answer is an object, or its kind with suffix. If the server refuses what is asked
// for, which happens before it does anything else, ask requests less, now and from now on: first
// with managed fields, and then JSON. (kube-apiserver 1.37 refuses custom resources as protobuf
// only if nothing else is accepted. Other servers refuse whenever protobuf is the first choice.)
func ask(ctx context.Context, r *resource, c call, suffix string) (*answer, error) {
	for {
		with := ""
		if codecOf(r).drop && (c.verb == "list" || c.verb == "watch") && !r.wholeOnly.Load() {
			with = leanly
		}
		c.accept = acceptAnswer(r, suffix, with)
		a, err := sendCall(ctx, r, c)
		switch {
		case !notAcceptable(err):
			return a, err
		case with != "":
			r.wholeOnly.Store(true)
		case r.encoding != inJSON && strings.Contains(c.accept, string(r.encoding)):
			r.jsonOnly.Store(true)
		default:
			return a, err
		}
	}
}

func notAcceptable(err error) bool {
	if err == nil {
		return false
	}
	var status *apierrors.StatusError
	return errors.As(err, &status) && status.ErrStatus.Code == http.StatusNotAcceptable
}
