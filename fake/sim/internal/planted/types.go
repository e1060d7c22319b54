package planted

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/kind"
)

// Shop is what users create.
type Shop struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              ShopSpec   `json:"spec"`
	Status            ShopStatus `json:"status,omitzero"`
}

// ShopSpec is what users want.
type ShopSpec struct {
	Size int64  `json:"size,omitempty"`
	Host string `json:"host,omitempty"`
}

// ShopStatus has what one of the controllers reports. Each uses some of the fields.
type ShopStatus struct {
	ObservedGeneration int64  `json:"observedGeneration,omitempty"`
	Phase              string `json:"phase,omitempty"`
	Run                string `json:"run,omitempty"`
	Runs               int64  `json:"runs,omitempty"`
	Port               int64  `json:"port,omitempty"`
	Failures           int64  `json:"failures,omitempty"`
	Checked            string `json:"checked,omitempty"`
}

// DeepCopy copies s.
func (s *Shop) DeepCopy() *Shop {
	c := *s
	c.ObjectMeta = *s.ObjectMeta.DeepCopy()
	return &c
}

// Config stands for everything that a controller makes for a Shop: a StatefulSet, a Job or a ConfigMap.
type Config struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Data              map[string]string `json:"data,omitempty"`
}

// DeepCopy copies c.
func (c *Config) DeepCopy() *Config {
	d := *c
	d.ObjectMeta = *c.ObjectMeta.DeepCopy()
	d.Data = maps.Clone(c.Data)
	return &d
}

// Volume stands for what must not be lost, such as a PersistentVolumeClaim.
type Volume Config

// DeepCopy copies v.
func (v *Volume) DeepCopy() *Volume { return (*Volume)((*Config)(v).DeepCopy()) }

var version = schema.GroupVersion{Group: "example.com", Version: "v1"}

// The kinds.
var (
	Shops   = kind.Of[*Shop](version, "shops").WithSubresources("status")
	Configs = kind.Of[*Config](version, "configs")
	Volumes = kind.Of[*Volume](version, "volumes")
)
