package backup

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Version is the API version of Backups.
var Version = schema.GroupVersion{Group: "example.com", Version: "v1"}

// scheme names the kinds that the operator uses.
func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(batchv1.AddToScheme(s))
	utilruntime.Must(corev1.AddToScheme(s))
	s.AddKnownTypes(Version, &Backup{}, &BackupList{})
	metav1.AddToGroupVersion(s, Version)
	return s
}

// Backup asks for runs of an image with a configuration, at a schedule.
type Backup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              BackupSpec   `json:"spec"`
	Status            BackupStatus `json:"status,omitzero"`
}

// BackupSpec is what the user wants.
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
func (r Reference) Key() client.ObjectKey { return client.ObjectKey(r) }

// BackupStatus is what the controller found. It has one condition, Ready.
type BackupStatus struct {
	Job        string             `json:"job,omitempty"` // the newest one
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// DeepCopyInto copies b into out.
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

// BackupList is a list of Backups.
type BackupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []Backup `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (l *BackupList) DeepCopyObject() runtime.Object {
	out := *l
	out.Items = make([]Backup, len(l.Items))
	for i := range l.Items {
		l.Items[i].DeepCopyInto(&out.Items[i])
	}
	return &out
}
