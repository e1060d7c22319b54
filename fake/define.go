package fake

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake/internal/upkeep"
	"github.com/kinform/kinform/fake/internal/wire"
	"github.com/kinform/kinform/kind"
)

// Define registers a resource as [Register] does, with hooks, or changes one that is registered. A
// resource can have several versions, also in other groups and of other Go types, as Kubernetes has
// Events: objects are stored in the first, and converted for requests of the others. The typed
// functions find a version by its Go type, and take the first of several.
//
// A change keeps the objects. They are pruned, completed and converted by the new definition when
// they are read, and keep their versions. Fields of [AddField] are gone. Open watches end, as in the
// API server when a CustomResourceDefinition changes. If there are objects, a watch from before the
// change gets 410 Expired, so that its client lists them anew; the change counts as one write for
// that. Later requests of a [Source] follow the new definition.
//
// Error: [ErrInvalid], also for a change of T, of the scope or of the kind, for a nil version and
// versions that differ in resource, kind or scope, and for a name or kind of one of the groups that
// another resource has.
func Define[T metav1.Object](s *Server, storage Definition[T], more ...Version) error {
	t, err := tableOf(s, storage)
	if err != nil {
		return err
	}
	for i, d := range more {
		if d == nil {
			return fmt.Errorf("fake: %s: %w: further version %d is nil", t.res.groupResource(), errResource, i+1)
		}
		v, err := d.table(s)
		if err == nil {
			err = t.checkSibling(v)
		}
		if err != nil {
			return err
		}
		v.storage, v.state = t, t.state
		t.versions = append(t.versions, v)
		t.mixed.Store(true)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.define(true)
}

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

func (d Definition[T]) table(s *Server) (*table, error) { return tableOf(s, d) }

func tableOf[T metav1.Object](s *Server, d Definition[T]) (*table, error) {
	r, err := resourceOf(d.Kind, d.Rules)
	if err != nil {
		return nil, err
	}
	r.hidden = d.Hidden
	for name, hook := range d.Hooks.Subresources {
		if name == statusField || name == "" || strings.Contains(name, "/") || len(hook.of.possible()) == 0 {
			return nil, fmt.Errorf("fake: %s: %w: subresource %q", r.groupResource(), errResource, name)
		}
		r.subresources[name] = subresource{hook.of.kind, hook.of.verbs()}
	}
	return newTable(s, r, reflect.TypeFor[T]().Elem(), erase(d.Hooks))
}

// resourceOf returns the resource of k, if the server can serve it.
func resourceOf[T any](k *kind.Kind[T], rules Rules) (definedResource, error) {
	if k == nil {
		return definedResource{}, fmt.Errorf("fake: %w: %w", errResource, k.Check())
	}
	r := definedResource{
		Group: k.Group, Version: k.Version, Kind: k.Kind, Name: k.Resource,
		ClusterScoped: k.Scope == kind.ClusterScoped, Status: k.HasSubresource(statusField),
		ShortNames: slices.Clone(k.ShortNames), Categories: slices.Clone(k.Categories), Rules: rules,
	}
	r.subresources = map[string]subresource{}
	if r.Status {
		r.subresources[statusField] = subresource{r.GroupVersionKind(), metav1.Verbs{"get", "patch", "update"}}
	}
	r.ListKind = cmp.Or(r.ListKind, k.Kind+"List")
	r.Singular = cmp.Or(r.Singular, strings.ToLower(k.Kind))
	typ := reflect.TypeFor[T]()
	if typ.Kind() != reflect.Pointer || typ.Elem().Kind() != reflect.Struct {
		return r, fmt.Errorf("fake: %v: %w: want a pointer to a struct", typ, errType)
	}
	if err := k.Check(); err != nil {
		return r, fmt.Errorf("fake: %w: %w", errResource, err)
	}
	if k.Kind == "" {
		return r, fmt.Errorf("fake: %s: %w: the kind has no name, and %v holds any kind: add Named", k, errResource, typ)
	}
	return r, nil
}

// checkSibling refuses a version that is not of the same resource.
func (t *table) checkSibling(v *table) error {
	a, b := &t.res, &v.res
	same := func(o *table) bool { return o.res.groupVersion() == b.groupVersion() }
	switch {
	case a.Name != b.Name, a.Kind != b.Kind, a.ClusterScoped != b.ClusterScoped, slices.ContainsFunc(t.all(), same):
		return fmt.Errorf("fake: %s: %w: %s of %s is no further version of it: the resource, the kind (%s) and the scope must be the same, and the version another one",
			a.groupResource(), errResource, b.GroupVersionKind(), b.groupResource(), a.Kind)
	case t.typ != v.typ && (t.hooks.convert == nil || v.hooks.convert == nil):
		return fmt.Errorf("fake: %s: %w: the versions have the Go types %v and %v: both need Hooks.Convert", a.groupResource(), errResource, t.pointer(), v.pointer())
	}
	return nil
}

// define makes t the table of its resource. The caller holds Server.mu.
func (t *table) define(change bool) error {
	s, name := t.server, t.res.groupResource()
	var old *table
	for _, c := range s.order {
		switch other := &c.res; {
		case other.groupResource() == name && !change:
			return fmt.Errorf("fake: %s: %w: its kind is %s", name, errDuplicate, other.Kind)
		case other.groupResource() == name:
			if old = c; old.typ != t.typ {
				return fmt.Errorf("fake: %s: %w: registered for another type than %v", name, errType, t.pointer())
			}
			if other.Kind != t.res.Kind || other.ClusterScoped != t.res.ClusterScoped {
				return fmt.Errorf("fake: %s: %w: its kind and its scope cannot change", name, errResource)
			}
		default:
			if err := t.checkApart(c); err != nil {
				return err
			}
		}
	}
	if old != nil {
		t.follow(old)
		return nil
	}
	t.upkeep = s.upkeep.Add(upkeep.Resource{Name: name, Kind: t.res.Kind, Namespaced: !t.res.ClusterScoped}, newestDefinition{t.state})
	s.order = append(s.order, t)
	t.enter()
	t.current.Store(t)
	return nil
}

// checkApart refuses versions that share a name or a kind with versions of another resource.
func (t *table) checkApart(c *table) error {
	for _, v := range t.all() {
		for _, o := range c.all() {
			switch {
			case v.res.groupResource() == o.res.groupResource():
				return fmt.Errorf("fake: %s: %w: its kind is %s", v.res.groupResource(), errDuplicate, o.res.Kind)
			case v.res.Group == o.res.Group && v.res.Kind == o.res.Kind:
				return fmt.Errorf("fake: %s: %w: %s is the kind of %s", v.res.groupResource(), errDuplicate, v.res.Kind, o.res.groupResource())
			}
		}
	}
	return nil
}

// enter makes t and its versions known by their names and Go types. The caller holds Server.mu.
func (t *table) enter() {
	s := t.server
	for _, v := range t.all() {
		if name := v.res.groupResource(); v == t || name != t.res.groupResource() && s.tables[name] == nil {
			s.tables[name] = v
		}
		if v == t || v.typ != t.typ {
			s.byType[v.pointer()] = append(s.byType[v.pointer()], v)
		}
	}
}

// leave undoes enter. The caller holds Server.mu.
func (t *table) leave() {
	s := t.server
	for _, v := range t.all() {
		delete(s.tables, v.res.groupResource())
		typ := v.pointer()
		s.byType[typ] = slices.DeleteFunc(slices.Clone(s.byType[typ]), func(c *table) bool { return c == v })
	}
}

// follow puts t in the place of old, whose watches end. The caller holds Server.mu.
//
// The objects may have other contents now at the versions that they have, which no event tells. A
// watch that resumes gets 410 Expired, as behind the new watch cache of an API server, and its client
// lists.
func (t *table) follow(old *table) {
	t.state = old.state
	if len(t.objects) > 0 {
		t.redefined = t.server.advance(1) // nobody has seen this one
	}
	t.mixed.Store(true)
	for _, v := range t.versions {
		v.state = old.state
	}
	s := t.server
	s.order[slices.Index(s.order, old)] = t
	old.leave()
	t.enter()
	t.current.Store(t)
	t.wake.Send()
}

// Unregister ends a resource, in all its versions: its objects are deleted, whatever their
// finalizers, and its watches end after the DELETED events. Later requests, including a [Source]'s,
// get the 404 of an unknown resource until it is registered again. Error: [ErrNotRegistered].
func (s *Server) Unregister(name schema.GroupResource) error {
	s.mu.Lock()
	c, ok := s.tables[name]
	if ok {
		c.main().end()
	}
	s.mu.Unlock()
	if !ok {
		return fmt.Errorf("fake: %s: %w", name, ErrNotRegistered)
	}
	s.upkeep.Run()
	return nil
}

// end deletes all objects and the resource. The caller holds Server.mu.
func (t *table) end() {
	t.settle()
	for _, slot := range t.sorted {
		if old := slot.cur; old != nil {
			t.put(t.server.advance(1), old, nil)
		}
	}
	s := t.server
	s.order = slices.DeleteFunc(slices.Clone(s.order), func(c *table) bool { return c == t })
	t.leave()
	t.current.Store(nil)
	t.wake.Send()
}

// newTable makes the table of objects that are pointers to a struct of type typ.
func newTable(s *Server, r definedResource, typ reflect.Type, hooks hooks) (*table, error) {
	t := &table{
		server: s,
		serial: s.serials.Add(1),
		res:    r,
		hooks:  hooks,
		typ:    typ,
		fields: maps.Clone(hooks.fields),
		state:  &state{objects: map[types.NamespacedName]*slot{}},
	}
	if s.strategy != nil {
		t.strategy = s.strategy(r.GroupVersionResource(), r.GroupVersionKind())
	}
	t.deprecated = cmp.Or(r.Deprecation, deprecation(newObject(typ), r))
	t.protobuf = wire.HasProtobuf(func() metav1.Object { return newObject(typ) })
	t.fieldManager = sync.OnceValues(t.newFieldManager)
	return t, t.findHalves()
}

// findHalves finds the parts of the struct. It fails if the resource has a status
// subresource and the struct has no status.
func (t *table) findHalves() error {
	t.spec = exportedField(t.typ, "Spec")
	t.status = exportedField(t.typ, "Status")
	t.meta = exportedField(t.typ, "ObjectMeta")
	if t.res.Status && t.status == nil && !t.untyped() {
		return fmt.Errorf("fake: %v: %w: a status subresource, but no field Status", t.typ, errResource)
	}
	return nil
}

// exportedField returns the index of a field of the struct's own, nil if it has none.
func exportedField(typ reflect.Type, name string) []int {
	if f, ok := typ.FieldByName(name); ok && f.IsExported() && len(f.Index) == 1 {
		return f.Index
	}
	return nil
}
