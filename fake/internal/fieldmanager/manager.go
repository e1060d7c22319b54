// Package fieldmanager keeps the managedFields of one resource: who owns which field. It does
// server-side apply and notes other writes, with the field manager of Kubernetes.
package fieldmanager

import (
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"github.com/kinform/kinform/internal/typeconverter"
)

// statusName is the subresource that has its own manager.
const statusName = "status"

// unnamed owns the fields that a caller without a name writes.
const unnamed = "unknown"

// Manager keeps the managedFields of one resource. It is safe for concurrent use. Make one
// with [New].
type Manager struct {
	kind           schema.GroupVersionKind
	types          managedfields.TypeConverter
	versions       Versions
	typ            reflect.Type // nil if the caller completes and checks keys
	resets         Resets
	object, status *managedfields.FieldManager // status is nil without a status subresource
}

// Resets are the fields that writes leave as they are, so that their managers do not come to own them. They have
// the form of managed fields, such as {"f:status":{}}.
type Resets struct {
	Object string // of the object; empty means none
	Status string // of the status; empty if that is no subresource
}

// untyped is what is known about the objects of no Go type.
type untyped struct {
	metav1.ObjectMeta `json:"metadata"`
}

// New returns a manager for objects of kind. typ is the struct that holds them; nil means
// Unstructured, whose lists are owned as a whole, except for the metadata's lists. Cost: it walks
// the struct's type once.
func New(kind schema.GroupVersionKind, typ reflect.Type, resets Resets, versions Versions) (*Manager, error) {
	open := typ == nil
	if open {
		typ = reflect.TypeFor[untyped]()
	}
	types, err := typesOf(kind, typ, open)
	if err != nil {
		return nil, err
	}
	return NewWith(kind, types, typ, resets, versions)
}

// NewWith is New with another description of the objects. typ says which keys of merged lists are
// completed and checked; nil means that the caller does so.
func NewWith(kind schema.GroupVersionKind, types managedfields.TypeConverter, typ reflect.Type, resets Resets, versions Versions) (*Manager, error) {
	m := &Manager{kind: kind, types: types, versions: versions, typ: typ, resets: resets}
	var err error
	if m.object, err = m.newFieldManager("", resets.Object); err == nil && resets.Status != "" {
		m.status, err = m.newFieldManager(statusName, resets.Status)
	}
	return m, err
}

func (m *Manager) newFieldManager(subresource, resets string) (*managedfields.FieldManager, error) {
	kinds := slices.Concat(m.versions.Kinds, []schema.GroupVersionKind{m.kind})
	filters, err := filtersFor(managedfields.NewDefaultCRDFieldManager, kinds, resets)
	if err != nil {
		return nil, err
	}
	c := converter{m}
	return managedfields.NewDefaultCRDFieldManager(typeconverter.Choose(m.typesFor), c, c, c, m.kind, m.kind.GroupVersion(), subresource, filters)
}

// of returns the manager of writes through a subresource, whose entries state it. An empty name stands for
// the object itself. Subresources other than the status are seldom written, so nothing keeps their
// managers.
func (m *Manager) of(subresource string) (*managedfields.FieldManager, error) {
	switch subresource {
	case "":
		return m.object, nil
	case statusName:
		return m.status, nil
	}
	return m.newFieldManager(subresource, m.resets.Object)
}

// Apply merges want into live for a manager and returns the result, with keys of merged lists completed by
// their defaults. force takes over fields that others own. subresource is the one that is applied to, empty for
// the object itself. It changes neither live nor want. Errors: a Conflict Status that names the other owners;
// Invalid for list items without their keys; the errors of the library.
func (m *Manager) Apply(live *unstructured.Unstructured, want map[string]any, manager string, force bool, subresource string) (*unstructured.Unstructured, error) {
	// The library may keep parts of its input, and another attempt needs them whole.
	patch := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(want)}
	own, err := m.of(subresource)
	if err != nil {
		return nil, err
	}
	result, err := own.Apply(live, patch, manager, force)
	if err != nil {
		return nil, err
	}
	merged := result.(*unstructured.Unstructured)
	if m.typ == nil {
		return merged, nil
	}
	if errs := fillKeys(m.typ, "", merged.Object, nil); len(errs) > 0 {
		return nil, apierrors.NewInvalid(m.kind.GroupKind(), merged.GetName(), errs)
	}
	return merged, nil
}

// Update returns next with managedFields that say that manager owns the fields in which next
// differs from live. An empty manager is called "unknown". If the owners cannot be found, because a
// manager's version cannot be converted to, the managedFields stay as in live.
func (m *Manager) Update(live, next *unstructured.Unstructured, manager, subresource string) *unstructured.Unstructured {
	if manager == "" {
		manager = unnamed
	}
	var result runtime.Object
	own, err := m.of(subresource)
	if err == nil {
		result, err = own.Update(live, next, manager)
	}
	if err != nil {
		next.SetManagedFields(live.GetManagedFields())
		return next
	}
	return result.(*unstructured.Unstructured)
}
