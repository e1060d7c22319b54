package fake

import (
	"errors"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake/internal/answer"
	"github.com/kinform/kinform/fake/internal/refusal"
)

// ServeHTTP answers Kubernetes' REST paths, /api/v1/... and /apis/GROUP/VERSION/..., for get, list,
// watch, create, update, patch, delete and deletecollection, and .../status where the status is a
// subresource; patches are of the types application/json-patch+json, merge-patch+json,
// strategic-merge-patch+json and apply-patch+yaml. It also answers /version, /healthz, /livez,
// /readyz and discovery (/api, /apis and below). Bodies are JSON or YAML, or protobuf for types
// that have it; watches are never in YAML. Refusals are Status objects with their HTTP code. A
// watch ends with its request's context.
//
// A fault that breaks a connection panics with [http.ErrAbortHandler], as net/http
// defines; no other panic leaves ServeHTTP.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r = r.WithContext(r.Context()) // a copy: the request is its sender's
	if r.Body == nil {
		r.Body = http.NoBody
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	out := answer.New(w)
	out.Accept = r.Header["Accept"]
	defer out.Rescue()
	err := s.route(out, r)
	switch {
	case errors.Is(err, errDropped):
		out.Fail(http.ErrAbortHandler)
	case err != nil:
		out.Fail(err)
	}
	out.Finish()
}

func (s *Server) route(w *answer.Writer, r *http.Request) error {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch parts[0] {
	case "api":
		if len(parts) > 2 {
			return s.serveResource(w, r, schema.GroupVersion{Version: parts[1]}, parts[2:])
		}
	case "apis":
		if len(parts) > 3 {
			return s.serveResource(w, r, schema.GroupVersion{Group: parts[1], Version: parts[2]}, parts[3:])
		}
	}
	return s.discover(w, r, parts)
}

func (s *Server) serveResource(w *answer.Writer, r *http.Request, gv schema.GroupVersion, parts []string) error {
	req, err := parseRequest(gv, parts)
	if err != nil {
		return err
	}
	c := s.served(req.resource)
	switch {
	case c == nil:
		if gv.Group != "" && !s.hasVersion(gv) {
			return answer.ErrNoPath
		}
		return refusal.NoResource()
	case c.res.ClusterScoped && req.namespace != "", !c.res.ClusterScoped && req.namespace == "" && req.name != "":
		// Only collections of namespaced resources have a cluster-wide path as well.
		return refusal.NoResource()
	case req.subresource != "" && !c.res.has(req.subresource):
		if c.res.custom() {
			return apierrors.NewNotFound(req.resource.GroupResource(), req.name) // as if the object were missing
		}
		return refusal.NoResource()
	}
	return c.serve(w, r, req)
}
