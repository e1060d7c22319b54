package fake

import (
	"fmt"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake/internal/refusal"
)

// Target says where a typed call goes: a *[Server], which finds the resource by the Go
// type, or one resource of it, from [Server.Resource].
type Target interface {
	target() (*Server, schema.GroupResource)
}

// one is one resource of a server, the [Target] for types registered more than once.
type one struct {
	server   *Server
	resource schema.GroupResource
}

// Resource names one resource, such as {Group: "apps", Resource: "deployments"}. Whether
// it is registered shows when it is used.
func (s *Server) Resource(name schema.GroupResource) Target { return one{s, name} }

func (s *Server) target() (*Server, schema.GroupResource) { return s, schema.GroupResource{} }

func (o one) target() (*Server, schema.GroupResource) { return o.server, o.resource }

// lookup finds the table that a call means. kind is the object's own, where there is an
// object: it settles which resource is meant when T has several.
func lookup[T metav1.Object](at Target, kind schema.GroupVersionKind) (*table, error) {
	s, name := at.target()
	typ := reflect.TypeFor[T]()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !name.Empty() {
		t, ok := s.tables[name]
		if !ok {
			return nil, fmt.Errorf("fake: %s: %w", name, ErrNotRegistered)
		}
		if t.pointer() == typ {
			return t, nil
		}
		for _, v := range t.main().all() {
			if v.res.groupResource() == name && v.pointer() == typ {
				return v, nil
			}
		}
		return nil, fmt.Errorf("fake: %s: %w: registered for another type than %v", name, errType, typ)
	}
	found := s.byType[typ]
	if len(found) > 1 && !kind.Empty() {
		for _, c := range found {
			if c.res.GroupVersionKind() == kind {
				return c, nil
			}
		}
		return nil, fmt.Errorf("fake: %v of kind %s: %w", typ, kind, ErrNotRegistered)
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("fake: %v: %w", typ, ErrNotRegistered)
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("fake: %v: %w", typ, errAmbiguous)
}

// ofKind finds the resource of a kind, nil if none is registered.
func (s *Server) ofKind(kind schema.GroupVersionKind) *table {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.order {
		for _, v := range c.served() {
			if v.res.GroupVersionKind() == kind {
				return v
			}
		}
	}
	return nil
}

// main returns the table of the version in which objects are stored.
func (t *table) main() *table {
	if t.storage != nil {
		return t.storage
	}
	return t
}

// all returns all versions, the storage's version first.
func (t *table) all() []*table { return append([]*table{t}, t.versions...) }

// served returns the versions that requests can name, by the order of their definition.
func (t *table) served() []*table {
	return slices.DeleteFunc(t.all(), func(v *table) bool { return v.res.hidden })
}

// served returns the table of a resource in one version, nil if it is not served.
func (s *Server) served(name schema.GroupVersionResource) *table {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.tables[name.GroupResource()]
	if c == nil {
		return nil
	}
	for _, v := range c.main().served() {
		if v.res.GroupVersionResource() == name {
			return v
		}
	}
	return nil
}

// newest returns the table of the newest definition of t's version. If there is none, it returns
// one that refuses all requests.
func (t *table) newest() *table {
	now := t.current.Load()
	if now == nil {
		t.server.mu.Lock()
		now = t.server.tables[t.res.groupResource()]
		t.server.mu.Unlock()
	}
	switch {
	case now == nil:
		return t
	case t.storage == nil && now.storage == nil && now.typ == t.typ:
		return now // objects are seen as they are stored
	}
	for _, v := range now.main().served() {
		if v.res.GroupVersionResource() == t.res.GroupVersionResource() && v.typ == t.typ {
			return v
		}
	}
	none := *t
	none.state = &state{}
	return &none
}

// checkServed refuses requests that are still under way when their resource ends. The caller holds
// Server.mu.
func (t *table) checkServed() error {
	if t.current.Load() == nil {
		return refusal.NoResource()
	}
	return nil
}
