package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
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

// TestBadDays lets pods come and go on bad days. In the end there is one right summary for each node with pods.
func TestBadDays(t *testing.T) {
	stage.BadDays(t, 20, 1000, func(t *testing.T, seed uint64) *stage.Stage {
		s := newStage(t)
		s.BadDay(seed * 100)
		random := rand.New(rand.NewPCG(seed, 0))
		pods := map[string]*corev1.Pod{}
		for n := range 30 {
			if there := slices.Sorted(maps.Keys(pods)); len(there) > 0 && random.IntN(2) == 0 {
				gone := there[random.IntN(len(there))]
				stage.Delete[*corev1.Pod](s, keyOf(pods[gone]))
				delete(pods, gone)
			} else {
				pod := newTestPod(fmt.Sprint(n), fmt.Sprint("n", random.IntN(3)), corev1.PodRunning)
				pods[pod.Name] = stage.Create(s, pod)
			}
			time.Sleep(time.Duration(random.IntN(5000)) * time.Millisecond)
			if random.IntN(10) == 0 {
				s.Stop()
				s.Start()
			}
		}
		s.GoodDay()
		got := map[string]map[string]string{}
		all, err := fake.List[*corev1.ConfigMap](s.Server, fake.Selection{})
		s.Check(err)
		for _, summary := range all {
			got[summary.Name] = summary.Data
		}
		if diff := cmp.Diff(counted(slices.Collect(maps.Values(pods))), got); diff != "" {
			t.Errorf("summaries (-want +got):\n%s", diff)
		}
		s.Writes()
		s.Settle()
		s.WantWrites("the end of all changes", 0)
		return s
	})
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
