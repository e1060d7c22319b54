package oracle_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/e2e/oracle"
)

func TestEachCallsAllWithinBounds(t *testing.T) {
	for range 50 {
		n, workers := rand.IntN(40), rand.IntN(10)
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			seen := map[int]int{}
			now, most := 0, 0
			err := oracle.Each(t.Context(), n, workers, func(_ context.Context, i int) error {
				mu.Lock()
				seen[i]++
				now++
				most = max(most, now)
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				now--
				mu.Unlock()
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			bound := workers
			if workers == 0 {
				bound = 12
			}
			if want := min(n, bound); most != want {
				t.Errorf("%d calls at a time of %d with %d workers, want %d", most, n, workers, want)
			}
			for i := range n {
				if seen[i] != 1 {
					t.Errorf("%d was called %d times", i, seen[i])
				}
			}
			if len(seen) != n {
				t.Errorf("%d numbers were called, want %d", len(seen), n)
			}
		})
	}
}

func TestEachStopsAtAnError(t *testing.T) {
	wrong := errors.New("wrong")
	var calls atomic.Int32
	err := oracle.Each(t.Context(), 1000, 2, func(ctx context.Context, i int) error {
		calls.Add(1)
		if i == 3 {
			return wrong
		}
		if i > 3 {
			<-ctx.Done()
		}
		return nil
	})
	if !errors.Is(err, wrong) {
		t.Errorf("error %v, want that of the call", err)
	}
	if got := calls.Load(); got > 8 {
		t.Errorf("%d calls after an error in the fourth", got)
	}

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(wrong)
	err = oracle.Each(ctx, 10, 1, func(context.Context, int) error {
		t.Error("called although the context has ended")
		return nil
	})
	if !errors.Is(err, wrong) {
		t.Errorf("error %v, want that of the context", err)
	}
}

func TestFillARealServer(t *testing.T) {
	c := cluster.Start(t, cluster.Options{})
	api := &oracle.Client{URL: c.URL(), HTTP: c.HTTPClient()}
	shape := oracle.Shape{Namespaces: 20, ConfigMaps: 1000, Pods: 1000}
	begin := time.Now()
	if err := oracle.Fill(t.Context(), api, shape); err != nil {
		t.Fatal(err)
	}
	t.Logf("filled in %v", time.Since(begin).Round(time.Millisecond))

	// The API server has its own ConfigMaps in kube-system.
	opts := metav1.ListOptions{LabelSelector: "app=e2e"}
	maps, _, err := oracle.List[corev1.ConfigMap](t.Context(), api, oracle.Path("configmaps", "", ""), opts)
	if err != nil {
		t.Fatal(err)
	}
	pods, _, err := oracle.List[corev1.Pod](t.Context(), api, oracle.Path("pods", "", ""), opts)
	if err != nil {
		t.Fatal(err)
	}
	if len(maps) != shape.ConfigMaps || len(pods) != shape.Pods {
		t.Fatalf("%d ConfigMaps and %d Pods, want %d and %d", len(maps), len(pods), shape.ConfigMaps, shape.Pods)
	}
	perNamespace, perNode := map[string]int{}, map[string]int{}
	for i := range pods {
		perNamespace[pods[i].Namespace]++
		perNode[pods[i].Spec.NodeName]++
	}
	for i := range shape.Namespaces {
		if got := perNamespace[oracle.NamespaceName(i)]; got != shape.Pods/shape.Namespaces {
			t.Errorf("%d pods in namespace %s", got, oracle.NamespaceName(i))
		}
	}
	for i := range oracle.Nodes {
		if got := perNode[fmt.Sprintf("node-%d", i)]; got != shape.Pods/oracle.Nodes {
			t.Errorf("%d pods on node-%d", got, i)
		}
	}
	quarter, _, err := oracle.List[corev1.Pod](t.Context(), api, oracle.Path("pods", "", ""),
		metav1.ListOptions{LabelSelector: oracle.ShardLabel + "=3"})
	if err != nil || len(quarter) != shape.Pods/4 {
		t.Errorf("%d pods of one shard, %v; want a quarter", len(quarter), err)
	}

	path := oracle.Path("pods", pods[0].Namespace, pods[0].Name)
	if err := api.Delete(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if _, err := oracle.Get[corev1.Pod](t.Context(), api, path); !apierrors.IsNotFound(err) {
		t.Errorf("a deleted pod is still there, or: %v", err)
	}
	if err := oracle.Fill(t.Context(), api, shape); !apierrors.IsAlreadyExists(err) {
		t.Errorf("filling twice: %v, want AlreadyExists", err)
	}
}
