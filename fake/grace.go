package fake

import (
	"encoding/json"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// defaultGrace is the grace period in seconds of a pod that states none.
const defaultGrace = 30

// terminating is the part of a pod that decides how long its deletion takes.
type terminating struct {
	Spec struct {
		NodeName                      string `json:"nodeName"`
		TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase"`
	} `json:"status"`
}

// graceful reports whether a deletion first marks the object and then deletes it, as it does with
// pods.
func (t *table) graceful() bool { return pods.hold(&t.res) }

// grace returns the seconds that a graceful deletion leaves to old. Only a pod that a node runs has
// any. A further deletion can shorten them, and never lengthens them.
func (t *table) grace(old *revision, opts metav1.DeleteOptions) (int64, error) {
	if t.server.stopPods || opts.GracePeriodSeconds != nil && *opts.GracePeriodSeconds == 0 {
		return 0, nil
	}
	var pod terminating
	b, err := old.json(&t.res)
	if err == nil {
		err = json.Unmarshal(b, &pod)
	}
	if err != nil {
		return 0, apierrors.NewInternalError(err)
	}
	stopped := pod.Spec.NodeName == "" || pod.Status.Phase == "Succeeded" || pod.Status.Phase == "Failed"
	if stopped {
		return 0, nil
	}
	left := int64(defaultGrace)
	if own := pod.Spec.TerminationGracePeriodSeconds; own != nil {
		left = *own
	}
	if opts.GracePeriodSeconds != nil {
		left = *opts.GracePeriodSeconds
	}
	if left < 0 {
		left = 1
	}
	if old.obj.GetDeletionTimestamp() == nil {
		return left, nil
	}
	had := graceOf(old.obj)
	if opts.GracePeriodSeconds == nil {
		return had, nil
	}
	return min(left, had), nil
}

// graceOf returns the grace period of an object that is being deleted.
func graceOf(obj metav1.Object) int64 {
	if seconds := obj.GetDeletionGracePeriodSeconds(); seconds != nil {
		return *seconds
	}
	return 0
}

// ended reports whether nothing holds up the deletion of an object that is marked: it goes with
// its last finalizer, a pod not before its grace period is zero.
func (t *table) ended(obj metav1.Object) bool {
	return obj.GetDeletionTimestamp() != nil && len(obj.GetFinalizers()) == 0 && graceOf(obj) == 0 && !t.keptByContent()
}

func graceTime(n int64) time.Duration { return time.Duration(n) * time.Second }
