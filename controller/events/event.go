package events

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/kind"
)

// Kind is the kind that a [Recorder] writes. A test registers it at the fake server:
//
//	fake.Register(server, events.Kind, fake.Rules{})
var Kind = &kind.Kind[*Event]{
	GroupVersionKind: schema.GroupVersionKind{Group: "events.k8s.io", Version: "v1", Kind: "Event"},
	Resource:         "events",
	Scope:            kind.Namespaced,
	ShortNames:       []string{"ev"},
}

// Event has the fields of an Event of events.k8s.io/v1 that a [Recorder] writes
// (https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/). It is here so
// that a program that records events does not need k8s.io/api.
type Event struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	// EventTime is the time at which the first event of the series was recorded.
	EventTime metav1.MicroTime `json:"eventTime"`
	// Series is nil for a single event.
	Series *Series `json:"series,omitempty"`
	// ReportingController and ReportingInstance come from Options.
	ReportingController string `json:"reportingController"`
	ReportingInstance   string `json:"reportingInstance"`
	// Action names the action that the controller took or tried.
	Action string `json:"action"`
	// Reason is why the event was recorded.
	Reason string `json:"reason"`
	// Regarding is the object that the event is about.
	Regarding Reference `json:"regarding"`
	// Note is a text for people.
	Note string `json:"note,omitempty"`
	// Type is "Normal" or "Warning".
	Type string `json:"type"`
}

// Series counts equal events.
type Series struct {
	// Count is the number of events, at least 2.
	Count int32 `json:"count"`
	// LastObservedTime is the time at which the last of them was recorded.
	LastObservedTime metav1.MicroTime `json:"lastObservedTime"`
}

// Reference names an object.
type Reference struct {
	APIVersion string    `json:"apiVersion,omitempty"`
	Kind       string    `json:"kind,omitempty"`
	Namespace  string    `json:"namespace,omitempty"`
	Name       string    `json:"name,omitempty"`
	UID        types.UID `json:"uid,omitempty"`
}

// String returns the kind, the namespace and the name.
func (r Reference) String() string {
	name := r.Name
	if r.Namespace != "" {
		name = r.Namespace + "/" + name
	}
	return r.Kind + " " + name
}

// The values of Event.Type.
const (
	normal  = "Normal"
	warning = "Warning"
)
