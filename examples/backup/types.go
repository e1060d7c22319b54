package backup

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform"
)

// Backups is the kind of the CRD.
var Backups = kinform.KindOf[*Backup](schema.GroupVersion{Group: "example.com", Version: "v1"}, "backups").WithSubresources("status")

// Backup asks for runs of an image with a configuration, at a schedule.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
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
	Image       string          `json:"image"`
	Every       metav1.Duration `json:"every"`       // time between two runs, at least a minute
	Settings    Reference       `json:"settings"`    // a ConfigMap
	Credentials Reference       `json:"credentials"` // a Secret
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
	Job        string             `json:"job,omitempty"` // the newest one
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// DeepCopyInto copies b into out. controller-gen writes these methods in a real project.
func (b *Backup) DeepCopyInto(out *Backup) {
	*out = *b
	b.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status.Conditions = nil
	for i := range b.Status.Conditions {
		out.Status.Conditions = append(out.Status.Conditions, *b.Status.Conditions[i].DeepCopy())
	}
}

// DeepCopy returns a copy that shares nothing with b.
func (b *Backup) DeepCopy() *Backup {
	if b == nil {
		return nil
	}
	out := new(Backup)
	b.DeepCopyInto(out)
	return out
}

// DeepCopyObject implements runtime.Object.
func (b *Backup) DeepCopyObject() runtime.Object { return b.DeepCopy() }
