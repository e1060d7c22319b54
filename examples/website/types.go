// Package website is a controller for a CRD. A Website gets a Deployment, which it owns, and a record
// in a DNS outside the cluster, which a finalizer removes. Its condition Ready says how it is.
//
// +groupName=example.com
// +versionName=v1
package website

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform"
)

// Websites is the kind of the CRD. A program names its group, version and resource only here.
var Websites = kinform.KindOf[*Website](schema.GroupVersion{Group: "example.com", Version: "v1"}, "websites").WithSubresources("status")

// Website asks for an image that answers at a host.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type Website struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              WebsiteSpec   `json:"spec"`
	Status            WebsiteStatus `json:"status,omitzero"`
}

// WebsiteSpec is the state that the user wants.
//
// +kubebuilder:object:generate=true
type WebsiteSpec struct {
	Host     string `json:"host"`
	Image    string `json:"image"`
	Replicas int32  `json:"replicas"`
}

// WebsiteStatus is the state that the controller found. It has one condition, Ready.
//
// +kubebuilder:object:generate=true
type WebsiteStatus struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
