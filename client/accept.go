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

// acceptAnswer returns the Accept header for an object, or for its kind with suffix. JSON is the last choice,
// so a server without the first one still answers.
func acceptAnswer(r *resource, suffix string) string {
	choices := []Encoding{r.encoding, JSON}
	if r.encoding == JSON || r.jsonOnly.Load() {
		choices = choices[1:]
	}
	var all []string
	if codecOf(r).partial {
		for _, e := range choices {
			all = append(all, fmt.Sprintf("%s;as=%s%s;g=%s;v=v1", e, partialKind, suffix, metav1.GroupName))
		}
	}
	for _, e := range choices {
		all = append(all, string(e))
	}
	for i := range all[1:] {
		all[i+1] += fmt.Sprintf(";q=0.%d", 9-i) // in this order
	}
	return strings.Join(all, ",")
}

// ask sends a call whose answer is an object, or its kind with suffix. If the server refuses the
// encoding, which happens before it does anything else, ask requests JSON, now and from now
// on. (kube-apiserver 1.37 refuses custom resources as protobuf only if nothing else is
// accepted. Other servers refuse whenever protobuf is the first choice.)
func ask(ctx context.Context, r *resource, c call, suffix string) (*answer, error) {
	c.accept = acceptAnswer(r, suffix)
	a, err := sendCall(ctx, r, c)
	if r.encoding == JSON || !notAcceptable(err) || r.jsonOnly.Swap(true) && !strings.Contains(c.accept, string(r.encoding)) {
		return a, err
	}
	c.accept = acceptAnswer(r, suffix)
	return sendCall(ctx, r, c)
}

func notAcceptable(err error) bool {
	var status *apierrors.StatusError
	return errors.As(err, &status) && status.ErrStatus.Code == http.StatusNotAcceptable
}
