package backup

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform"
)

// Backups is the kind of the CRD.
var Backups = kinform.KindOf[*Backup](schema.GroupVersion{Group: "example.com", Version: "v1"}, "backups").WithSubresources("status")

// Backup asks for runs of an image with a configuration, at a schedule.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=Ready,type=string,JSONPath=`.status.conditions[0].status`
// +kubebuilder:printcolumn:name=Reason,type=string,JSONPath=`.status.conditions[0].reason`
// +kubebuilder:printcolumn:name=Job,type=string,JSONPath=`.status.job`
type Backup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              BackupSpec   `json:"spec"`
	Status            BackupStatus `json:"status,omitzero"`
}

// BackupSpec is what the user wants.
//
// +kubebuilder:object:generate=true
type BackupSpec struct {
	// Image is what the Jobs run.
	Image string `json:"image"`
	// Every is the time between two runs, such as 24h, and at least a minute.
	Every metav1.Duration `json:"every"`
	// Settings names a ConfigMap.
	Settings Reference `json:"settings"`
	// Credentials names a Secret.
	Credentials Reference `json:"credentials"`
}

// Reference names an object, which may be in another namespace.
type Reference struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// Key returns the reference as the key of a cache.
func (r Reference) Key() kinform.Key { return kinform.Key(r) }

// BackupStatus is what the controller found. It has one condition, Ready.
//
// +kubebuilder:object:generate=true
type BackupStatus struct {
	// Job is the name of the newest one.
	Job        string             `json:"job,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
