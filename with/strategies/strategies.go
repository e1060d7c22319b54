package strategies

import (
	"context"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/kinform/kinform/fake"
)

// For returns the strategy of one of Kubernetes' own resources, nil for others. It is for
// [fake.Options].Strategy.
func For(of schema.GroupVersionResource) *fake.Strategy {
	own, ok := all[of.GroupResource()]
	if !ok {
		return nil
	}
	return &fake.Strategy{Default: setDefaults, Prepare: own.prepare}
}

// strategy is what the API server has for the writes of a resource, or of a subresource.
type strategy interface {
	rest.RESTCreateStrategy
	rest.RESTUpdateStrategy
}

// strategies are those of a resource, by subresource. That of the resource itself, under the empty name, is
// also for the subresources that have none of their own.
type strategies map[string]rest.RESTUpdateStrategy

// placeholder is the uid of a new object while a strategy looks at it, as it would have one in the API
// server.
const placeholder types.UID = "00000000-0000-0000-0000-000000000000"

// prepare has the strategy look at a.Object in the version of the API server's own code.
func (all strategies) prepare(ctx context.Context, a *fake.Admission) error {
	ctx = describe(ctx, a)
	now, err := internal(a.Object)
	if err != nil {
		return err
	}
	if a.Old == nil {
		err = create(ctx, all[""].(strategy), now)
	} else {
		err = update(ctx, all.of(a.Subresource), now, a.Old)
	}
	if err != nil {
		return err
	}
	return external(now, a)
}

// describe adds to ctx what the API server's handlers add, as far as it is not there.
func describe(ctx context.Context, a *fake.Admission) context.Context {
	if _, ok := request.RequestInfoFrom(ctx); !ok {
		ctx = request.WithRequestInfo(ctx, &request.RequestInfo{
			IsResourceRequest: true, Verb: string(a.Verb), Namespace: a.Key.Namespace, Name: a.Key.Name, Subresource: a.Subresource,
			APIGroup: a.Resource.Group, APIVersion: a.Resource.Version, Resource: a.Resource.Resource,
		})
	}
	return request.WithNamespace(ctx, a.Key.Namespace)
}

func (all strategies) of(subresource string) rest.RESTUpdateStrategy {
	if own, ok := all[subresource]; ok {
		return own
	}
	return all[""]
}

func create(ctx context.Context, s strategy, obj runtime.Object) error {
	meta := obj.(metav1.Object)
	uid, time := meta.GetUID(), meta.GetCreationTimestamp()
	meta.SetUID(placeholder)
	meta.SetCreationTimestamp(metav1.Now())
	defer func() {
		meta.SetUID(uid)
		meta.SetCreationTimestamp(time)
	}()
	return rest.BeforeCreate(s, ctx, obj)
}

func update(ctx context.Context, s rest.RESTUpdateStrategy, obj runtime.Object, old metav1.Object) error {
	was, err := internal(old.(runtime.Object).DeepCopyObject().(metav1.Object)) // a conversion shares parts
	if err != nil {
		return err
	}
	return rest.BeforeUpdate(s, ctx, obj, was)
}

// internal converts an object to the version that strategies work on.
func internal(obj metav1.Object) (runtime.Object, error) {
	o, ok := obj.(runtime.Object)
	if !ok {
		return nil, apierrors.NewInternalError(fmt.Errorf("%T is no runtime.Object", obj))
	}
	group := o.GetObjectKind().GroupVersionKind().Group
	return legacyscheme.Scheme.ConvertToVersion(o, schema.GroupVersion{Group: group, Version: runtime.APIVersionInternal})
}

// external puts what a strategy has made into the object of the write.
func external(from runtime.Object, a *fake.Admission) error {
	to := a.Object.(runtime.Object)
	kind := to.GetObjectKind().GroupVersionKind()
	out, err := legacyscheme.Scheme.ConvertToVersion(from, kind.GroupVersion())
	if err != nil {
		return err
	}
	out.GetObjectKind().SetGroupVersionKind(kind)
	reflect.ValueOf(to).Elem().Set(reflect.ValueOf(out).Elem())
	return nil
}

func setDefaults(obj metav1.Object) {
	if s, ok := obj.(*corev1.Secret); ok {
		mergeStringData(s)
	}
	if o, ok := obj.(runtime.Object); ok {
		legacyscheme.Scheme.Default(o)
	}
}

// mergeStringData does what the conversion of a Secret does.
func mergeStringData(s *corev1.Secret) {
	if len(s.StringData) > 0 && s.Data == nil {
		s.Data = map[string][]byte{}
	}
	for k, v := range s.StringData {
		s.Data[k] = []byte(v)
	}
	s.StringData = nil
}
