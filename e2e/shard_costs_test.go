//go:build e2e

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/internal/longtest"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/shard"
	"github.com/kinform/kinform/shard/leader"
)

// TestShardCosts measures what replicas cost, and how long a change of them takes. It prints the
// numbers of docs/sharding.md and checks nothing but that all objects are worked on. The durations
// are the default ones.
//
//	KINFORM_E2E=1 KINFORM_LONG=1 go test -timeout 60m -run ShardCosts -v ./e2e -args -shards.objects 20000
func TestShardCosts(t *testing.T) {
	if !longtest.On() {
		t.Skip("it takes some minutes: set " + longtest.Variable + "=1")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	f := newFleet(ctx, t, *shardObjects, shard.DefaultLeaseDuration)
	next := 0
	start := func() {
		identity := fmt.Sprint("r", next)
		next++
		f.start(identity)
		f.joined(ctx, identity)
	}
	t.Logf("%d objects, %.0f writes to them per second, LeaseDuration %v", *shardObjects, float64(min(*shardObjects, writtenObjects))/f.turn().Seconds(), f.lease)
	t.Log("| replicas | objects | heap | resident | events per second | CPU | Lease writes per second | of bytes | killed | left |")
	for _, n := range []int{1, 3, 10} {
		for len(f.all) < n {
			start()
		}
		f.settled(ctx, time.Now())
		row := fmt.Sprintf("| %d | %s |", n, f.steady(ctx, 30*time.Second))
		f.idle()
		identity := f.pick()
		f.signal(identity, syscall.SIGKILL)
		killed := time.Now()
		f.end(identity)
		start()
		f.settled(ctx, killed)
		row += fmt.Sprintf(" %.1f s |", f.idle().Seconds())
		identity = f.pick()
		start()
		f.settled(ctx, time.Now())
		f.idle()
		f.signal(identity, syscall.SIGTERM)
		left := time.Now()
		f.end(identity)
		f.settled(ctx, left)
		t.Logf("%s %.1f s |", row, f.idle().Seconds())
	}
}

// steady returns cells of a table: what replicas cost while nothing happens, each on average.
func (f *fleet) steady(ctx context.Context, during time.Duration) string {
	f.t.Helper()
	before := map[string]costs{}
	for identity := range f.all {
		before[identity] = f.costs(ctx, identity)
	}
	begun := time.Now()
	writes, size := f.leaseWrites(ctx, during)
	seconds := time.Since(begun).Seconds()
	var sum costs
	for identity, was := range before {
		c := f.costs(ctx, identity)
		sum.Objects += c.Objects
		sum.Heap, sum.Resident, sum.Events, sum.CPU = sum.Heap+c.Heap, sum.Resident+c.Resident, sum.Events+c.Events-was.Events, sum.CPU+c.CPU-was.CPU
	}
	n := float64(len(before))
	return fmt.Sprintf("%d | %.1f MB | %.0f MB | %.0f | %.0f%% | %.1f | %d", sum.Objects/len(before), float64(sum.Heap)/n/1e6, float64(sum.Resident)/n/1e6,
		float64(sum.Events)/n/seconds, sum.CPU.Seconds()/n/seconds*100, float64(writes)/seconds, size/max(1, writes))
}

// leaseWrites counts the writes of Leases for some time, and the bytes of their objects.
func (f *fleet) leaseWrites(ctx context.Context, during time.Duration) (writes, size int) {
	f.t.Helper()
	leases, err := client.New(f.conn, shard.Kind, client.Options{Namespace: shardNamespace, LabelSelector: shard.LabelName + "=" + shardName})
	must(f.t, err)
	ctx, cancel := context.WithTimeout(ctx, during)
	defer cancel()
	meta, err := leases.List(ctx, metav1.ListOptions{}, func(reflector.Event[*leader.Lease], error) bool { return true })
	must(f.t, err)
	for ev, err := range leases.Watch(ctx, metav1.ListOptions{ResourceVersion: meta.ResourceVersion}) {
		if err != nil {
			break
		}
		if ev.Object != nil {
			text, err := json.Marshal(ev.Object)
			must(f.t, err)
			writes, size = writes+1, size+len(text)
		}
	}
	if ctx.Err() == nil {
		f.t.Error("the watch of Leases has ended early")
	}
	return writes, size
}
