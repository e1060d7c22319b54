package fieldmanager

import (
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
)

// A field manager takes filters, which are types of structured-merge-diff. Its import path changes with the
// version of apimachinery, so no type of it has a name here: type parameters stand for them, and the compiler
// infers them from the function that makes a field manager.

// fieldSet is the pointer to a fieldpath.Set.
type fieldSet[Set any] interface {
	*Set
	FromJSON(io.Reader) error
	RecursiveDifference(*Set) *Set
}

// without is a fieldpath.Filter that removes fields with all that is in them.
type without[Set any, P fieldSet[Set]] struct{ fields P }

// Filter implements fieldpath.Filter.
func (w without[Set, P]) Filter(all P) P { return all.RecursiveDifference(w.fields) }

// constructor is the type of managedfields.NewDefaultCRDFieldManager.
type constructor[Version ~string, Filter any] = func(managedfields.TypeConverter, runtime.ObjectConvertor, runtime.ObjectDefaulter, runtime.ObjectCreater,
	schema.GroupVersionKind, schema.GroupVersion, string, map[Version]Filter) (*managedfields.FieldManager, error)

// filtersFor returns the filters that a field manager takes to remove resets in each version.
func filtersFor[Version ~string, Filter interface{ Filter(P) P }, P fieldSet[Set], Set any](
	_ constructor[Version, Filter], kinds []schema.GroupVersionKind, resets string,
) (map[Version]Filter, error) {
	if resets == "" {
		return nil, nil
	}
	fields := P(new(Set))
	if err := fields.FromJSON(strings.NewReader(resets)); err != nil {
		return nil, err
	}
	filters := map[Version]Filter{}
	for _, kind := range kinds {
		filters[Version(kind.GroupVersion().String())] = any(without[Set, P]{fields}).(Filter)
	}
	return filters, nil
}
