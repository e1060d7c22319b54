package fake

import (
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/kind"
)

// Register adds a kind whose objects have the Go type T, a pointer to a struct. The
// server writes through T's metadata methods alone. It copies objects by DeepCopyObject
// where T has it and by a JSON round trip otherwise. A kind of unknown scope is namespaced.
//
// One T, such as Unstructured, may be registered for many resources. [Define] is Register for
// several versions of a resource, and for its defaults and checks. Error: [ErrInvalid],
// also for a resource or a kind of the group that is registered already.
func Register[T metav1.Object](s *Server, k *kind.Kind[T], rules Rules) error {
	t, err := tableOf(s, Definition[T]{Kind: k, Rules: rules})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.define(false)
}

// Target says where a typed call goes: a *[Server], which finds the resource by the Go
// type, or one resource of it, from [Server.Resource].
type Target interface {
	target() (*Server, schema.GroupResource)
}

// One is one resource of a server, the [Target] for types registered more than once.
type One struct {
	server   *Server
	resource schema.GroupResource
}

// Resource names one resource, such as {Group: "apps", Resource: "deployments"}. Whether
// it is registered shows when it is used.
func (s *Server) Resource(name schema.GroupResource) One { return One{s, name} }

func (s *Server) target() (*Server, schema.GroupResource) { return s, schema.GroupResource{} }

func (o One) target() (*Server, schema.GroupResource) { return o.server, o.resource }

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
