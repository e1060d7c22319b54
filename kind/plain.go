package kind

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// plain is a Kind without the type parameter, so that its code is compiled once.
type plain struct {
	schema.GroupVersionKind
	Resource                             string
	Scope                                Scope
	Subresources, ShortNames, Categories []string
}

func (k *plain) named(name string) *plain {
	as := *k
	as.Kind = name
	return &as
}

func (k *plain) cluster() *plain {
	as := *k
	as.Scope = ClusterScoped
	return &as
}

func (k *plain) withSubresources(names []string) *plain {
	as := *k
	as.Subresources = slices.Concat(k.Subresources, names)
	return &as
}

func (k *plain) withShortNames(names []string) *plain {
	as := *k
	as.ShortNames = slices.Concat(k.ShortNames, names)
	return &as
}

func (k *plain) withCategories(names []string) *plain {
	as := *k
	as.Categories = slices.Concat(k.Categories, names)
	return &as
}

func (k *plain) groupVersionResource() schema.GroupVersionResource {
	if k == nil {
		return schema.GroupVersionResource{}
	}
	return k.GroupVersion().WithResource(k.Resource)
}

func (k *plain) groupResource() schema.GroupResource { return k.groupVersionResource().GroupResource() }

func (k *plain) text() string {
	if k == nil {
		return "no kind"
	}
	return k.groupResource().String()
}
