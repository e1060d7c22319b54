package controllerruntime

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// defaultResync is the period of resyncs if no option sets one; controller-runtime has the same
// one.
const defaultResync = 10 * time.Hour

// minResync is the shortest period of resyncs; client-go has the same one.
const minResync = time.Second

// namespaceField is the field of the namespace in field selectors.
const namespaceField = "metadata.namespace"

// settings are the cache's configuration of one kind: a configuration for each namespace, or one
// under cache.AllNamespaces, which then leaves out the namespaces that have their own. Every field
// that any option sets is set.
type settings map[string]cache.Config

// split are the settings of kinds that no option names.
type split struct{ namespaced, cluster settings }

// settingsOf resolves the options. The first of these that sets a field decides about it: the
// namespace of the kind, the kind, the namespace of all kinds, all kinds.
func settingsOf(opts cache.Options) (byKind map[schema.GroupVersionKind]settings, others split, err error) {
	all := cache.Config{
		LabelSelector: opts.DefaultLabelSelector, FieldSelector: opts.DefaultFieldSelector, Transform: opts.DefaultTransform,
		UnsafeDisableDeepCopy: opts.DefaultUnsafeDisableDeepCopy, EnableWatchBookmarks: opts.DefaultEnableWatchBookmarks,
		SyncPeriod: opts.SyncPeriod,
	}
	byKind = map[schema.GroupVersionKind]settings{}
	for obj, by := range opts.ByObject {
		gvk, err := apiutil.GVKForObject(obj, opts.Scheme)
		if err != nil {
			return nil, others, fmt.Errorf("controllerruntime: the kind of a %T in ByObject: %w", obj, err)
		}
		namespaced, err := apiutil.IsObjectNamespaced(obj, opts.Scheme, opts.Mapper)
		if err != nil {
			return nil, others, fmt.Errorf("controllerruntime: the scope of %s in ByObject: %w", gvk, err)
		}
		own := cache.Config{
			LabelSelector: by.Label, FieldSelector: by.Field, Transform: by.Transform, UnsafeDisableDeepCopy: by.UnsafeDisableDeepCopy,
			EnableWatchBookmarks: by.EnableWatchBookmarks, SyncPeriod: by.SyncPeriod,
		}
		namespaces := by.Namespaces
		switch {
		case !namespaced && namespaces != nil:
			return nil, others, fmt.Errorf("controllerruntime: %s is not namespaced, but its ByObject.Namespaces is set", gvk)
		case namespaced && namespaces == nil:
			namespaces = opts.DefaultNamespaces
		}
		byKind[gvk] = perNamespace(namespaces, func(namespace string) []cache.Config {
			return []cache.Config{own, opts.DefaultNamespaces[namespace], all}
		})
		if len(namespaces) == 0 {
			byKind[gvk] = settings{cache.AllNamespaces: first(own, all)}
		}
	}
	others.cluster = settings{cache.AllNamespaces: all}
	others.namespaced = others.cluster
	if len(opts.DefaultNamespaces) > 0 {
		others.namespaced = perNamespace(opts.DefaultNamespaces, func(string) []cache.Config { return []cache.Config{all} })
	}
	return byKind, others, nil
}

// perNamespace completes the configurations of namespaces by those that further returns.
func perNamespace(namespaces map[string]cache.Config, further func(namespace string) []cache.Config) settings {
	s := settings{}
	for namespace, config := range namespaces {
		config = first(append([]cache.Config{config}, further(namespace)...)...)
		if namespace == cache.AllNamespaces {
			config.FieldSelector = outside(slices.Sorted(maps.Keys(namespaces)), config.FieldSelector)
		}
		s[namespace] = config
	}
	return s
}

// outside returns a selector for the objects of selector that are in none of these namespaces.
func outside(namespaces []string, selector fields.Selector) fields.Selector {
	var terms []fields.Selector
	for _, namespace := range namespaces {
		if namespace != cache.AllNamespaces {
			terms = append(terms, fields.OneTermNotEqualSelector(namespaceField, namespace))
		}
	}
	if selector != nil {
		terms = append(terms, selector)
	}
	return fields.AndSelectors(terms...)
}

// first returns a configuration with each field of the first that sets it.
func first(configs ...cache.Config) cache.Config {
	var c cache.Config
	for _, next := range configs {
		if c.LabelSelector == nil {
			c.LabelSelector = next.LabelSelector
		}
		if c.FieldSelector == nil {
			c.FieldSelector = next.FieldSelector
		}
		if c.Transform == nil {
			c.Transform = next.Transform
		}
		if c.UnsafeDisableDeepCopy == nil {
			c.UnsafeDisableDeepCopy = next.UnsafeDisableDeepCopy
		}
		if c.EnableWatchBookmarks == nil {
			c.EnableWatchBookmarks = next.EnableWatchBookmarks
		}
		if c.SyncPeriod == nil {
			c.SyncPeriod = next.SyncPeriod
		}
	}
	return c
}

// settings returns the settings of a kind.
func (c *objectCache) settings(gvk schema.GroupVersionKind, namespaced bool) settings {
	if s, ok := c.byKind[gvk]; ok {
		return s
	}
	if namespaced {
		return c.others.namespaced
	}
	return c.others.cluster
}
