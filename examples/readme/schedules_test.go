package main

import (
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/examples/internal/stage"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// TestBadDays lets nodes and pods come and go on bad days. In the end each node has the number of its pods.
func TestBadDays(t *testing.T) {
	slog.SetLogLoggerLevel(slog.LevelError + 1) // failed reconciles are wanted here
	defer slog.SetLogLoggerLevel(slog.LevelInfo)
	stage.BadDays(t, 20, 1000, func(t *testing.T, seed uint64) *stage.Stage {
		s := stage.New(t, fake.Options{}, countPods, stage.Kind(core.Nodes), stage.Kind(core.Pods))
		s.BadDay(seed * 100)
		random := rand.New(rand.NewPCG(seed, 0))
		pods, nodes := map[int]string{}, map[string]bool{}
		for n := range 30 {
			name := fmt.Sprint("node-", random.IntN(4))
			switch has := nodes[name]; {
			case !has:
				stage.Create(s, fake.Object(&corev1.Node{}, "", name))
				nodes[name] = true
			case random.IntN(5) == 0:
				stage.Delete[*corev1.Node](s, kinform.Key{Name: name})
				delete(nodes, name)
			}
			if there := slices.Sorted(maps.Keys(pods)); len(there) > 0 && random.IntN(3) == 0 {
				gone := there[random.IntN(len(there))]
				stage.Delete[*corev1.Pod](s, kinform.Key{Namespace: "prod", Name: fmt.Sprintf("web-%d", gone)})
				delete(pods, gone)
			} else {
				newPod(s.Server, n, name)
				pods[n] = name
			}
			time.Sleep(time.Duration(random.IntN(5000)) * time.Millisecond)
			if random.IntN(10) == 0 {
				s.Stop()
				s.Start()
			}
		}
		s.GoodDay()
		counts := map[string]int{}
		for _, name := range pods {
			counts[name]++
		}
		for name := range nodes {
			if got := stage.Get[*corev1.Node](s, kinform.Key{Name: name}).Annotations["pods"]; got != strconv.Itoa(counts[name]) {
				t.Errorf("%s has the count %q, want %d", name, got, counts[name])
			}
		}
		s.Writes()
		s.Settle()
		s.WantWrites("the end of all changes", 0)
		return s
	})
}
