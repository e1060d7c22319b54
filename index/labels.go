package index

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// namespaceIndex is the name of the index that [Namespace] defines.
const namespaceIndex = "namespace"

// Namespace defines an index of objects by their namespace, called "namespace" as in client-go. An
// object without a namespace has the value "". [Select] uses it.
func Namespace[T metav1.Object]() *Index[T, string] {
	return byName(namespaceIndex, func(dst []string, obj T) []string { return append(dst, obj.GetNamespace()) })
}

// addedNamespaceIndex is the name of the index that [AddNamespace] adds. A program may still add one
// called "namespace".
const addedNamespaceIndex = "namespace (added)"

// byName is [New] for an index of the namespaces.
func byName[T any](name string, fn IndexFunc[T, string]) *Index[T, string] {
	x := define(name, fn, newStrings)
	x.parse, x.format = sameText, text
	x.role.namespace = true
	return x
}

func sameText(s string) (string, bool) { return s, true }

func text(s string) string { return s }

// AddNamespace adds an index of the namespaces to a store, unless it has one that [Select] uses, and
// returns it. of returns an object's namespace, and false if it has none. It costs what the store's
// AddIndexes costs: one look at each object. The index takes some 12 bytes per object. Errors: the
// errors of AddIndexes.
func AddNamespace[T any](to interface {
	Reader[T]
	AddIndexes(defs ...Definition[T]) error
}, of func(obj T) (namespace string, ok bool)) (*Index[T, string], error) {
	if x := namespaceIndexOf(to); x != nil {
		return x, nil
	}
	x := byName(addedNamespaceIndex, func(dst []string, obj T) []string {
		if namespace, ok := of(obj); ok {
			return append(dst, namespace)
		}
		return dst
	})
	return x, to.AddIndexes(x)
}

// namespaceIndexOf returns the index of the namespaces that Select finds, and nil if there is none.
func namespaceIndexOf[T any](from Reader[T]) *Index[T, string] {
	s := slotsOf(from.Indexer())
	st := s.Read()
	defer s.Done()
	for _, x := range st.Indexes() {
		if l, ok := x.(*live[T, string]); ok && l.def.role.namespace {
			return l.def
		}
	}
	return nil
}

// Label is one label of an object, the value of the indexes that [Labels] defines.
type Label struct {
	Key, Value string
}

// Labels defines an index of objects by the labels with the given keys, or by all their
// labels when no key is given. [Select] uses it: a selector that requires app=x
// becomes a lookup instead of a scan. An index takes 12 bytes per object and label, and 32 bytes
// more for an object with several of the labels.
func Labels[T metav1.Object](name string, keys ...string) *Index[T, Label] {
	if len(keys) == 0 {
		x := define(name, func(dst []Label, obj T) []Label {
			for k, v := range obj.GetLabels() {
				dst = append(dst, Label{k, v})
			}
			return dst
		}, newLabels)
		x.role.labels = true
		return x
	}
	wanted := append([]string(nil), keys...)
	x := define(name, func(dst []Label, obj T) []Label {
		labels := obj.GetLabels()
		for _, k := range wanted {
			if v, ok := labels[k]; ok {
				dst = append(dst, Label{k, v})
			}
		}
		return dst
	}, newLabels)
	x.role.labels = true
	x.role.keys = make(map[string]bool, len(wanted))
	for _, k := range wanted {
		x.role.keys[k] = true
	}
	return x
}
