package client

import (
	"fmt"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

const jsonType = "application/json"

// call is one request, of any kind.
type call struct {
	verb        string // Kubernetes' name for the verb, for errors
	method      string
	key         types.NamespacedName // without a name: the collection
	creates     string               // the name of an object that key does not have yet
	subresource []string
	query       url.Values
	accept      string
	encoding    string // Accept-Encoding; empty: the transport decides
	contentType string
	body        []byte
	retry       bool // by sendCall; otherwise the caller has its own retries
}

// foreign reports whether the call concerns another kind than the resource's.
func (c *call) foreign() bool {
	return len(c.subresource) > 0 && !(len(c.subresource) == 1 && c.subresource[0] == "status")
}

// callError adds the call to an error.
func callError(r *resource, c call, err error) error {
	subject := r.name
	if len(c.subresource) > 0 {
		subject = r.gvr.GroupResource().String() + "/" + strings.Join(c.subresource, "/")
	}
	id := identity{namespace: c.key.Namespace, name: c.key.Name + c.creates}
	if id.name != "" {
		subject = fmt.Sprintf("%s %q", subject, id.key())
	}
	return fmt.Errorf("%s %s: %w", c.verb, subject, err)
}

// refuse is callError for a call that is not sent because of err.
func refuse(r *resource, c call, err error) error {
	return callError(r, c, remark{err, ErrNotSent})
}
