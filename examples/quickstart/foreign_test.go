package main

import (
	"context"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/examples/internal/stage"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// summarizing runs a controller, and drops what it reports.
func summarizing(ctx context.Context, server client.Connection) error {
	return newSummarizer(server, server, summaryNamespace, func(error) {}).Run(ctx)
}

func newStage(t *testing.T) *stage.Stage {
	return stage.New(t, fake.Options{}, summarizing, stage.Kind(core.Pods), stage.Kind(core.ConfigMaps))
}

// A ConfigMap that gets the name of a summary just before its deletion is somebody else's.
func TestDeletesOnlyItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		pod := stage.Create(s, newTestPod("a", "n1", corev1.PodRunning))
		s.Settle()
		s.Stop()
		key := kinform.Key{Namespace: summaryNamespace, Name: summaryPrefix + "n1"}
		s.Before = func() { // the only write from here on is the deletion
			stage.Delete[*corev1.ConfigMap](s, key)
			stage.Create(s, fake.Object(&corev1.ConfigMap{}, key.Namespace, key.Name))
			s.Before = nil
		}
		s.Start()
		s.Settle()
		stage.Delete[*corev1.Pod](s, keyOf(pod))
		s.Settle()
		stage.Get[*corev1.ConfigMap](s, key)
		s.WantWrites("two pods", 2) // a creation and a deletion
	})
}
