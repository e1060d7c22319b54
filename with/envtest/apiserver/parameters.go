package apiserver

import (
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
)

// parameters are the objects of a policy's paramKind, in the form in which the API server's code
// looks for them.
type parameters struct {
	store     *fake.Server
	kind      schema.GroupVersionKind
	namespace string // empty for all
}

// newParameters returns the parameters of a kind, and their scope. Its error is the API server's
// for a kind that it does not serve.
func newParameters(store *fake.Server, of *admissionregistrationv1.ParamKind) (informers.GenericInformer, meta.RESTScope, error) {
	gvk := schema.FromAPIVersionAndKind(of.APIVersion, of.Kind)
	_, scope, err := store.ListKind(gvk, fake.Selection{Namespace: "none"})
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("failed to find resource referenced by paramKind: '%v'", gvk)
	case scope == kind.ClusterScoped:
		return parameters{store: store, kind: gvk}, meta.RESTScopeRoot, nil
	}
	return parameters{store: store, kind: gvk}, meta.RESTScopeNamespace, nil
}

// Informer implements informers.GenericInformer.
func (p parameters) Informer() cache.SharedIndexInformer { return current{} }

// current is asked only whether it is.
type current struct{ cache.SharedIndexInformer }

// HasSynced implements cache.SharedIndexInformer.
func (current) HasSynced() bool { return true }

// Lister implements informers.GenericInformer.
func (p parameters) Lister() cache.GenericLister { return p }

// ByNamespace implements cache.GenericLister.
func (p parameters) ByNamespace(namespace string) cache.GenericNamespaceLister {
	p.namespace = namespace
	return p
}

// List implements cache.GenericLister.
func (p parameters) List(selector labels.Selector) (out []runtime.Object, err error) {
	return p.list(fake.Selection{Namespace: p.namespace, LabelSelector: selector.String()})
}

// Get implements cache.GenericLister.
func (p parameters) Get(name string) (runtime.Object, error) {
	found, err := p.list(fake.Selection{Namespace: p.namespace, FieldSelector: "metadata.name=" + name})
	if err == nil && len(found) == 0 {
		err = apierrors.NewNotFound(schema.GroupResource{Group: p.kind.Group, Resource: p.kind.Kind}, name)
	}
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

func (p parameters) list(sel fake.Selection) (out []runtime.Object, err error) {
	all, _, err := p.store.ListKind(p.kind, sel)
	for _, obj := range all {
		o, err := stated(obj, p.kind)
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, err
}
