package fake

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kinform/kinform/fake/internal/refusal"
	"github.com/kinform/kinform/fake/internal/upkeep"
	"github.com/kinform/kinform/kind"
)

// Version is one version of a resource for [Define], of any Go type. Only a [Definition] is one.
type Version interface {
	table(s *Server) (*table, error)
}

// Definition is one version of a resource.
type Definition[T metav1.Object] struct {
	Kind  *kind.Kind[T]
	Rules Rules
	Hooks Hooks[T]
	// Hidden says that the version is not served. Objects may still be stored in it, and managers
	// own fields in it.
	Hidden bool
}

// Hooks are the functions of one resource, such as its defaults and checks. Each may be nil. They
// run in the goroutine of the request, without a lock, and concurrently. If another write comes
// between, the server calls them again for the new state. A hook may change only the objects that
// its comment says it may; these belong to the request, and all others are read-only. A panic of a
// hook is a 500 over HTTP.
type Hooks[T metav1.Object] struct {
	// Prune removes what objects of the kind cannot hold, and returns the paths of what it
	// removed, such as "spec.sizes[0].colour". Writes ask it before anything else. A request with
	// fieldValidation=Strict is refused if anything was removed. An error refuses the write, with
	// 400 BadRequest unless it is a Status.
	Prune func(obj T) (removed []string, err error)
	// Default completes an object. It gets the state that is to be stored: the server has set the
	// metadata that a client cannot write, and has dropped the status of a create.
	Default func(obj T)
	// Validate returns the faults of a new state: old is nil in a create. They become the causes
	// of a 422 Invalid, beside those of the metadata.
	Validate func(obj, old T) field.ErrorList
	// ValidateStatus is Validate for writes of the status subresource; nil means Validate.
	ValidateStatus func(obj, old T) field.ErrorList
	// Convert turns an object of another version into one of this version. obj has the Go type of
	// its version, and is Convert's own: the result may share its parts. Between two versions that
	// are not the stored one, the server converts to that first. The result has the same metadata:
	// another name, namespace or uid is an error. The server sets its kind and apiVersion. Nil
	// means that only the apiVersion differs. [Define] refuses that for versions of different Go
	// types. Reads call Convert as well.
	Convert func(obj metav1.Object) (T, error)
	// Deleting returns finalizers to add to an object whose deletion is asked for. Without any
	// finalizer an object goes at once.
	Deleting func(obj T) (finalizers []string)
	// Act makes the kind one of orders, such as the Bindings of the core group: a create over HTTP
	// carries obj out and stores nothing. The answer is a Status that says Success, or the error. A
	// dry run must be refused like another request, and change nothing. Act runs without a lock,
	// concurrently, and can write to the server. Use it with [Rules].Verbs of "create" alone.
	Act func(ctx context.Context, obj T, dryRun bool) error
	// Subresources are those besides status, by name. See [View], [Action] and [Text].
	Subresources map[string]SubresourceHook[T]
	// Fields are the fields by which objects can be selected; see [AddField].
	Fields map[string]func(obj T) string
	// Printer makes the tables of the resource.
	Printer Printer
	// Stored is called after a write or a [Server.Restore], before it returns, and can read and
	// write itself. It gets no arguments, because another write may have followed: it must look at
	// the present state. It is also called for the writes that it makes itself.
	Stored func()
}

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

// hooks are [Hooks] without the type: a table serves objects of any type, so that it is compiled
// once.
type hooks struct {
	prune                    func(obj metav1.Object) (removed []string, err error)
	setDefaults              func(obj metav1.Object)
	validate, validateStatus func(obj, old metav1.Object) field.ErrorList
	convert                  func(obj metav1.Object) (metav1.Object, error)
	deleting                 func(obj metav1.Object) (finalizers []string)
	act                      func(ctx context.Context, obj metav1.Object, dryRun bool) error
	subresources             map[string]subresourceHook
	fields                   map[string]func(obj metav1.Object) string
	printer                  Printer
	stored                   func()
}

// erase returns hooks that expect objects of T.
func erase[T metav1.Object](h Hooks[T]) hooks {
	out := hooks{printer: h.Printer, stored: h.Stored}
	if h.Prune != nil {
		out.prune = func(obj metav1.Object) ([]string, error) { return h.Prune(typed[T](obj)) }
	}
	if h.Default != nil {
		out.setDefaults = func(obj metav1.Object) { h.Default(typed[T](obj)) }
	}
	out.validate, out.validateStatus = eraseValidate(h.Validate), eraseValidate(h.ValidateStatus)
	if h.Convert != nil {
		out.convert = func(obj metav1.Object) (metav1.Object, error) { return h.Convert(obj) }
	}
	if h.Deleting != nil {
		out.deleting = func(obj metav1.Object) []string { return h.Deleting(typed[T](obj)) }
	}
	if h.Act != nil {
		out.act = func(ctx context.Context, obj metav1.Object, dryRun bool) error {
			return h.Act(ctx, typed[T](obj), dryRun)
		}
	}
	for name, hook := range h.Subresources {
		if out.subresources == nil {
			out.subresources = map[string]subresourceHook{}
		}
		out.subresources[name] = hook.of
	}
	for name, value := range h.Fields {
		if out.fields == nil {
			out.fields = map[string]func(metav1.Object) string{}
		}
		out.fields[name] = eraseField(value)
	}
	return out
}

func eraseValidate[T metav1.Object](validate func(obj, old T) field.ErrorList) func(obj, old metav1.Object) field.ErrorList {
	if validate == nil {
		return nil
	}
	return func(obj, old metav1.Object) field.ErrorList { return validate(typed[T](obj), typed[T](old)) }
}

func eraseField[T metav1.Object](value func(obj T) string) func(metav1.Object) string {
	return func(obj metav1.Object) string { return value(typed[T](obj)) }
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
	t.upkeep = s.upkeep.Add(upkeep.Resource{Name: name, Kind: t.res.Kind, Namespaced: !t.res.ClusterScoped}, latest{t.state})
	s.order = append(s.order, t)
	t.enter()
	t.current.Store(t)
	return nil
}

// checkApart refuses versions that share a name or a kind with those of another resource.
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
// finalizers, and its watches end after the DELETED events. Later requests get the 404 of an
// unknown resource, also those of a [Source], until it is registered again. Error:
// [ErrNotRegistered].
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

// all returns all versions, that of the storage first.
func (t *table) all() []*table { return append([]*table{t}, t.versions...) }

// served returns the versions that requests can name, by the order of their definition.
func (t *table) served() []*table {
	return slices.DeleteFunc(t.all(), func(v *table) bool { return v.res.hidden })
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

// latest is the newest definition of a resource, for package upkeep.
type latest struct{ of *state }
