package fakecrd

import (
	"fmt"
	"math"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinform/kinform/fake"
)

var scaleKind = autoscalingv1.SchemeGroupVersion.WithKind("Scale")

// scale is the subresource of that name: it shows and writes the fields of an object at the paths
// that its definition states.
type scale struct{ spec, status, selector []string }

func scaleOf(s *apiextensionsv1.CustomResourceSubresourceScale) fake.SubresourceHook[*object] {
	at := scale{spec: path(s.SpecReplicasPath), status: path(s.StatusReplicasPath)}
	if s.LabelSelectorPath != nil {
		at.selector = path(*s.LabelSelectorPath)
	}
	return fake.View(scaleKind, at.get, at.set).Replicas(at.spec...)
}

// path splits a JSON path, which names one field and leads through no list.
func path(p string) []string { return strings.Split(strings.TrimPrefix(p, "."), ".") }

func (s scale) get(o *object) (*autoscalingv1.Scale, error) {
	out := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{
		Name: o.GetName(), Namespace: o.GetNamespace(), UID: o.GetUID(),
		ResourceVersion: o.GetResourceVersion(), CreationTimestamp: o.GetCreationTimestamp(),
	}}
	wanted, ok, err := unstructured.NestedInt64(o.Object, s.spec...)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if !ok {
		return nil, apierrors.NewInternalError(fmt.Errorf("the spec replicas field %q does not exist", "."+strings.Join(s.spec, ".")))
	}
	has, _, err := unstructured.NestedInt64(o.Object, s.status...)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	out.Spec.Replicas, out.Status.Replicas = int32(wanted), int32(has)
	if s.selector != nil {
		if out.Status.Selector, _, err = unstructured.NestedString(o.Object, s.selector...); err != nil {
			return nil, apierrors.NewInternalError(err)
		}
	}
	return out, nil
}

func (s scale) set(o *object, sent *autoscalingv1.Scale) error {
	if sent.Spec.Replicas == math.MinInt32 { // neither the object nor the client states a number
		return apierrors.NewBadRequest(fmt.Sprintf("the spec replicas field %q cannot be empty", "."+strings.Join(s.spec, ".")))
	}
	if err := unstructured.SetNestedField(o.Object, int64(sent.Spec.Replicas), s.spec...); err != nil {
		return apierrors.NewInternalError(err)
	}
	return nil
}
