package fake

import (
	"fmt"
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake/faults"
)

// Request is a sort of request: [Server.Requests] counts each sort separately.
type Request struct {
	Verb     faults.Verb
	Resource schema.GroupResource
	// Subresource is empty for the object itself.
	Subresource string
}

// String returns the parts, such as "patch deployments.apps/status".
func (r Request) String() string {
	text := fmt.Sprintf("%s %s", r.Verb, r.Resource)
	if r.Subresource != "" {
		text += "/" + r.Subresource
	}
	return text
}

// Requests is a number of requests of each sort. It has no entries that are zero.
type Requests map[Request]int

// Count returns the number of requests of a verb and a resource, subresources included. An empty
// verb and an empty resource stand for all.
func (r Requests) Count(verb faults.Verb, resource schema.GroupResource) int {
	sum := 0
	for is, n := range r {
		if (verb == "" || is.Verb == verb) && (resource.Empty() || is.Resource == resource) {
			sum += n
		}
	}
	return sum
}

// Writes returns the number of requests that are not a get, list or watch.
func (r Requests) Writes() int {
	return r.Count("", schema.GroupResource{}) - r.Count(faults.VerbGet, schema.GroupResource{}) -
		r.Count(faults.VerbList, schema.GroupResource{}) - r.Count(faults.VerbWatch, schema.GroupResource{})
}

// Since returns the requests that are not in before, an earlier result of the same server.
func (r Requests) Since(before Requests) Requests {
	left := maps.Clone(r)
	for is, n := range before {
		if left[is] -= n; left[is] == 0 {
			delete(left, is)
		}
	}
	return left
}

// tally counts requests.
type tally struct {
	mu   sync.Mutex
	seen Requests
}

func (t *tally) add(r Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.seen == nil {
		t.seen = Requests{}
	}
	t.seen[r]++
}
