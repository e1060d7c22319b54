package sim

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform/fake/faults"
)

// call is what a request asks for. Requests that ask for the same are told apart by their numbers: see point.
type call struct {
	verb     faults.Verb
	resource string // such as deployments.apps or deployments.apps/status
	key      string // such as prod/shop, prod/ for a namespace's collection, * for a whole one
}

// step is the call of users who go on.
var step = call{"step", "of", "users"}

func (c call) String() string { return string(c.verb) + " " + c.resource + " " + c.key }

func (c call) writes() bool {
	switch c.verb {
	case faults.VerbGet, faults.VerbList, faults.VerbWatch, step.verb:
		return false
	}
	return true
}

// collection returns the resource without a subresource.
func (c call) collection() string {
	resource, _, _ := strings.Cut(c.resource, "/")
	return resource
}

// upkeep reports whether the call is a part of elections or a report of an Event: it goes on while a program rests.
func (c call) upkeep() bool {
	return c.lease() || c.event()
}

func (c call) lease() bool { return c.collection() == "leases.coordination.k8s.io" }

func (c call) event() bool {
	return c.collection() == "events" || c.collection() == "events.events.k8s.io"
}

// address is the path of a request of the API, taken apart.
type address struct {
	group, version, namespace, resource, name, subresource string
}

var addressForm = regexp.MustCompile(`^/(?:api|apis/([^/]+))/([^/]+)/(?:namespaces/([^/]+)/)?([^/]+)(?:/([^/]+)(?:/(.+))?)?/?$`)

// parseAddress takes a path apart. It reports false for paths that lead to no object, such as those of discovery.
func parseAddress(path string) (a address, ok bool) {
	m := addressForm.FindStringSubmatch(path)
	switch {
	case m == nil:
		return a, false
	case m[4] == "status" || m[4] == "finalize": // of a namespace
		return address{m[1], m[2], "", "namespaces", m[3], m[4]}, true
	}
	return address{m[1], m[2], m[3], m[4], m[5], m[6]}, true
}

// collection returns the resource with its group, such as deployments.apps.
func (a address) collection() string {
	if a.group == "" {
		return a.resource
	}
	return a.resource + "." + a.group
}

// callOf returns what r, whose path leads to objects, asks for. body is r's.
func callOf(r *http.Request, body []byte) call {
	a, _ := parseAddress(r.URL.Path)
	c := call{resource: a.collection(), verb: verbOf(r, a)}
	if a.subresource != "" {
		c.resource += "/" + a.subresource
	}
	if a.name == "" && c.verb == faults.VerbCreate {
		a.name = nameIn(body, r.Header.Get("Content-Type"))
	}
	c.key = keyText(a.namespace, a.name)
	return c
}

func keyText(namespace, name string) string {
	switch {
	case namespace != "":
		return namespace + "/" + name
	case name != "":
		return name
	}
	return "*"
}

// parts is the inverse of keyText.
func parts(key string) (namespace, name string) {
	if namespace, name, ok := strings.Cut(key, "/"); ok {
		return namespace, name
	}
	return "", key
}

func verbOf(r *http.Request, a address) faults.Verb {
	switch r.Method {
	case http.MethodPost:
		return faults.VerbCreate
	case http.MethodPut:
		return faults.VerbUpdate
	case http.MethodPatch:
		return faults.VerbPatch
	case http.MethodDelete:
		if a.name == "" {
			return faults.VerbDeleteCollection
		}
		return faults.VerbDelete
	}
	query := r.URL.Query()
	switch {
	case query.Get("watch") == "true" || query.Get("watch") == "1":
		return faults.VerbWatch
	case a.name == "":
		return faults.VerbList
	}
	return faults.VerbGet
}

// nameIn returns the name of the object in the body of a create, or the beginning of its generated name with a star.
func nameIn(body []byte, contentType string) string {
	var obj metav1.PartialObjectMetadata
	if decode(body, contentType, &obj) != nil {
		return ""
	}
	if obj.Name == "" && obj.GenerateName != "" {
		return obj.GenerateName + "*"
	}
	return obj.Name
}

// decode decodes a body in JSON or protobuf.
func decode(body []byte, contentType string, into interface{ Unmarshal([]byte) error }) error {
	if !strings.Contains(contentType, "protobuf") {
		return json.Unmarshal(body, into)
	}
	var whole runtime.Unknown
	if err := whole.Unmarshal(bytes.TrimPrefix(body, []byte("k8s\x00"))); err != nil {
		return err
	}
	return into.Unmarshal(whole.Raw)
}
