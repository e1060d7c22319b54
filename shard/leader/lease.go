package leader

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/kind"
)

// Kind is the kind that an [Elector] reads and writes. A test registers it at the fake server:
//
//	fake.Register(server, leader.Kind, fake.Rules{})
var Kind = &kind.Kind[*Lease]{
	GroupVersionKind: schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"},
	Resource:         "leases",
	Scope:            kind.Namespaced,
}

// Lease has the fields of a Lease of coordination.k8s.io/v1
// (https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/lease-v1/). It is here so
// that a program that elects a leader does not need k8s.io/api.
type Lease struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec LeaseSpec `json:"spec"`
}

// LeaseSpec says who holds a Lease. A field that is not set is nil.
type LeaseSpec struct {
	// HolderIdentity names the holder. Empty means that nobody holds the Lease.
	HolderIdentity *string `json:"holderIdentity,omitempty"`
	// LeaseDurationSeconds is how long others wait after the last renewal that they saw. A holder
	// that gives the Lease up sets it to 1.
	LeaseDurationSeconds *int32 `json:"leaseDurationSeconds,omitempty"`
	// AcquireTime and RenewTime are the times at which the holder took and last renewed the Lease,
	// by its own clock. They are for people: nobody may compare them with another clock.
	AcquireTime *metav1.MicroTime `json:"acquireTime,omitempty"`
	RenewTime   *metav1.MicroTime `json:"renewTime,omitempty"`
	// LeaseTransitions counts the changes of the holder.
	LeaseTransitions *int32 `json:"leaseTransitions,omitempty"`
	// Strategy and PreferredHolder belong to coordinated leader election (KEP-4355). An Elector
	// leaves them as they are.
	Strategy        *string `json:"strategy,omitempty"`
	PreferredHolder *string `json:"preferredHolder,omitempty"`
}

// record is a candidate's knowledge of a Lease, as a value that can be compared. Times are in
// microseconds since 1970, because the API has no finer ones.
type record struct {
	absent            bool   // there is no Lease
	version           string // any write can hide others, of a leader too
	holder            string
	seconds           int32
	acquired, renewed int64
	transitions       int32
}

// recordOf returns the record of a Lease; nil means that there is none.
func recordOf(l *Lease) record {
	if l == nil {
		return record{absent: true}
	}
	s := l.Spec
	return record{
		version: l.ResourceVersion, holder: value(s.HolderIdentity), seconds: value(s.LeaseDurationSeconds), transitions: value(s.LeaseTransitions),
		acquired: micros(s.AcquireTime), renewed: micros(s.RenewTime),
	}
}

// micros returns 0 for a time that is not set.
func micros(t *metav1.MicroTime) int64 {
	if t == nil {
		return 0
	}
	return t.UnixMicro()
}

// microTime is the opposite of micros.
func microTime(micros int64) *metav1.MicroTime {
	if micros == 0 {
		return nil
	}
	t := metav1.NewMicroTime(time.UnixMicro(micros).UTC())
	return &t
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// released reports whether a holder has given the Lease up, in client-go's format. An empty holder
// with another duration is the work of somebody else, who cannot know whether the holder still
// works.
func (r record) released() bool { return !r.absent && r.holder == "" && r.seconds == 1 }

// duration is how long the holder asks others to wait.
func (r record) duration() time.Duration { return time.Duration(r.seconds) * time.Second }

// spec returns the record as the fields of a Lease.
func (r record) spec() LeaseSpec {
	return LeaseSpec{
		HolderIdentity: &r.holder, LeaseDurationSeconds: &r.seconds, LeaseTransitions: &r.transitions,
		AcquireTime: microTime(r.acquired), RenewTime: microTime(r.renewed),
	}
}

// patch returns a merge patch that writes the record to the Lease base, and to no other state of
// it. A patch leaves fields alone that this package does not know.
func (r record) patch(base *Lease) ([]byte, error) {
	type metadata struct {
		UID             types.UID `json:"uid,omitempty"`
		ResourceVersion string    `json:"resourceVersion"`
	}
	return json.Marshal(struct {
		Metadata metadata  `json:"metadata"`
		Spec     LeaseSpec `json:"spec"`
	}{metadata{base.UID, base.ResourceVersion}, r.spec()})
}
