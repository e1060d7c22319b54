package website

import (
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// Website asks for an image that answers at a host.
type Website struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              WebsiteSpec   `json:"spec"`
	Status            WebsiteStatus `json:"status,omitzero"`
}

// WebsiteSpec is the state that the user wants.
type WebsiteSpec struct {
	Host     string `json:"host"`
	Image    string `json:"image"`
	Replicas int32  `json:"replicas"`
}

// WebsiteStatus is the state that the controller found.
type WebsiteStatus struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// WebsiteList is a list of Websites.
type WebsiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []Website `json:"items"`
}

// Version is the API version of Websites.
var Version = schema.GroupVersion{Group: "example.com", Version: "v1"}

// scheme names the kinds that the controller uses.
func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(appsv1.AddToScheme(s))
	s.AddKnownTypes(Version, &Website{}, &WebsiteList{})
	metav1.AddToGroupVersion(s, Version)
	return s
}

// DeepCopyInto copies w into out.
func (w *Website) DeepCopyInto(out *Website) {
	*out = *w
	w.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status.Conditions = nil
	for i := range w.Status.Conditions {
		out.Status.Conditions = append(out.Status.Conditions, *w.Status.Conditions[i].DeepCopy())
	}
}

// DeepCopy returns a copy that shares nothing with w.
func (w *Website) DeepCopy() *Website {
	out := new(Website)
	w.DeepCopyInto(out)
	return out
}

// DeepCopyObject implements runtime.Object.
func (w *Website) DeepCopyObject() runtime.Object { return w.DeepCopy() }

// DeepCopyObject implements runtime.Object.
func (l *WebsiteList) DeepCopyObject() runtime.Object {
	out := *l
	out.Items = make([]Website, len(l.Items))
	for i := range l.Items {
		l.Items[i].DeepCopyInto(&out.Items[i])
	}
	return &out
}
