//go:build e2e

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/internal/longtest"
	"github.com/kinform/kinform/internal/memtest"
	"github.com/kinform/kinform/shard"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// TestPartCosts measures the cache of one replica of several: what it holds and what the server
// sends to it, while others write 200 times a second. It prints the table of docs/sharding.md and
// checks nothing but that the cache has its part.
//
//	KINFORM_E2E=1 KINFORM_LONG=1 go test -tags e2e -timeout 60m -run PartCosts -v ./e2e -args -shards.objects 20000
func TestPartCosts(t *testing.T) {
	if !longtest.On() {
		t.Skip("it takes some minutes: set " + longtest.Variable + "=1")
	}
	t.Log("| cache | replicas | objects | heap | received for the list | events received per second |")
	for _, selects := range []bool{false, true} {
		c := cluster.Start(t, cluster.Options{ExtraAPIServerArgs: []string{fmt.Sprint("--feature-gates=ShardedListAndWatch=", selects)}})
		conn, err := client.NewConnection(c.URL(), client.ConnectionOptions{CAFile: c.CAFile(), Token: c.Token()})
		must(t, err)
		maps, err := client.New(conn, core.ConfigMaps, client.Options{Namespace: "default"})
		must(t, err)
		var names []string
		for n := range *shardObjects {
			names = append(names, fmt.Sprint("c", n))
		}
		createMaps(t.Context(), t, maps, "default", "costs", names)
		if !selects {
			partCosts(t, conn, maps, "of all objects", 1, nil)
		}
		for _, n := range []uint64{3, 10} {
			set := new(shard.Hashes)
			must(t, set.Set(shard.HashRange{Last: math.MaxUint64/n - 1}))
			name := "filtered as objects arrive"
			if selects {
				name = "selected by the server"
			}
			partCosts(t, conn, maps, name, n, set)
		}
		conn.HTTP.CloseIdleConnections()
	}
}

// partCosts logs a row of the table.
func partCosts(t *testing.T, conn client.Connection, maps *client.Resource[*corev1.ConfigMap], name string, replicas uint64, set *shard.Hashes) {
	t.Helper()
	before := liveHeap()
	opts := controller.OpenOptions[*corev1.ConfigMap]{Client: client.Options{Namespace: "default", LabelSelector: "test=costs"}}
	if set != nil {
		opts.Part = shard.Part[*corev1.ConfigMap]{Hashes: set, Field: shard.FieldUID}
	}
	handle := controller.Open(conn, core.ConfigMaps, opts)
	running, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- handle.Run(running) }()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if set != nil {
		must(t, set.WaitForLists(ctx))
	}
	must(t, handle.WaitForNow(ctx))
	objects, listed, heap := handle.AsInformer().Store().Len(), handle.Stats().Client.Objects, liveHeap()-before
	began := time.Now()
	for n := 0; time.Since(began) < 10*time.Second; n++ {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"test":"%d"}}}`, time.Now().UnixNano())
		_, err := maps.Patch(ctx, types.NamespacedName{Namespace: "default", Name: fmt.Sprint("c", n%*shardObjects)}, types.MergePatchType, patch, metav1.PatchOptions{})
		must(t, err)
		time.Sleep(time.Until(began.Add(time.Duration(n) * 5 * time.Millisecond)))
	}
	must(t, handle.WaitForNow(ctx))
	events := float64(handle.Stats().Client.Objects-listed) / time.Since(began).Seconds()
	t.Logf("| %s | %d | %d | %.1f MB | %d objects | %.0f |", name, replicas, objects, float64(heap)/1e6, listed, events)
	if share := float64(objects) / (float64(*shardObjects) / float64(replicas)); share < 0.8 || share > 1.2 {
		t.Errorf("%s: %d objects of %d for one of %d replicas", name, objects, *shardObjects, replicas)
	}
	stop()
	must(t, errors.Join(<-ended))
}

// liveHeap returns the bytes that are reachable, after what an informer before it has left in pools
// has gone step by step.
func liveHeap() int64 {
	memtest.Heap()
	return memtest.Heap()
}
