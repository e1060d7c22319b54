package fieldmanager

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
)

// NewScaleHandler returns a handler that turns the managedFields of an object into the managedFields of its
// Scale and back. entries are the object's, and version is the one in which it is written. paths lead to the
// replicas in each version; an empty path is for a version without a Scale.
func NewScaleHandler(entries []metav1.ManagedFieldsEntry, version schema.GroupVersion, paths map[schema.GroupVersion][]string) *managedfields.ScaleHandler {
	mappings := managedfields.ResourcePathMappings{}
	mapPaths(mappings, paths)
	return managedfields.NewScaleHandler(entries, version, mappings)
}

// mapPaths adds paths to out. Path is fieldpath.Path. Only inference names it here: an
// import would make structured-merge-diff a direct dependency.
func mapPaths[Path ~[]Element, Element any](out map[string]Path, paths map[schema.GroupVersion][]string) {
	for version, names := range paths {
		var path Path
		for _, name := range names {
			var at Element
			reflect.ValueOf(&at).Elem().FieldByName("FieldName").Set(reflect.ValueOf(&name))
			path = append(path, at)
		}
		out[version.String()] = path
	}
}
