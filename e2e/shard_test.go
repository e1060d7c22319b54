//go:build e2e

package e2e_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/internal/longtest"
	"github.com/kinform/kinform/shard"
)

var (
	shardReplicas = flag.Int("shards.replicas", 3, "`number` of replicas of TestShards")
	shardObjects  = flag.Int("shards.objects", 100, "`number` of objects of TestShards, TestShardCosts and TestPartCosts")
	shardTime     = flag.Duration("shards.time", time.Duration(longtest.N(0, 10))*time.Minute, "`time` in which TestShards begins new faults, after one of each kind")
	shardLease    = flag.Duration("shards.lease", leaseDuration, "LeaseDuration of the replicas of TestShards: a `time` for which each process gets no CPU must be shorter")
	shardLimit    = flag.Duration("shards.limit", 0, "`time` after which every object must be worked on again after a fault of a replica; zero means that it is not measured")
)

// TestShards runs replicas as processes on a real server, of which some are killed, stopped and
// replaced, as is the server. An observer sees that no fencing number goes back, and that each
// object is worked on again.
//
//	KINFORM_E2E=1 go test -timeout 60m -run 'Shards$' -v ./e2e -args -shards.replicas 10 -shards.objects 20000 -shards.time 10m -shards.lease 15s
func TestShards(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute+3**shardTime)
	defer cancel()
	f := newFleet(ctx, t, *shardObjects, *shardLease)
	begun := time.Now()
	for n := range *shardReplicas {
		f.start(fmt.Sprint("r", n))
	}
	took := f.settled(ctx, begun)
	for n := range *shardReplicas {
		f.joined(ctx, fmt.Sprint("r", n))
	}
	t.Logf("%d replicas work on %d objects after %v", *shardReplicas, *shardObjects, took.Round(10*time.Millisecond))
	worst := map[string]time.Duration{}
	rounds := []string{"kill", "stop", "rolling", "server", "leases"}
	begun = time.Now()
	for n := 0; n < len(rounds) || time.Since(begun) < *shardTime; n++ {
		what := rounds[n%len(rounds)]
		f.idle()
		took, idle := f.settled(ctx, f.fault(ctx, what, n)), f.idle()
		if what == "server" || what == "leases" {
			idle = took // the fault itself lasts
		}
		if worst[what] = max(worst[what], idle); *shardLimit > 0 && idle > *shardLimit {
			t.Errorf("%s: nobody worked on an object for %v", what, idle)
		}
		t.Logf("%s: all is well %v after it; the longest time without work was %v", what, took.Round(10*time.Millisecond), idle.Round(10*time.Millisecond))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	t.Logf("%d writes, %d other reconciles in %v; the longest times without work: %v", f.written, f.told, time.Since(begun).Round(time.Second), worst)
}

// pick returns any replica.
func (f *fleet) pick() string {
	for identity := range f.all {
		return identity
	}
	return ""
}

// fault does something bad, and returns when that was over. n is another number each time.
func (f *fleet) fault(ctx context.Context, what string, n int) time.Time {
	f.t.Helper()
	switch what {
	case "kill":
		identity := f.pick()
		f.signal(identity, syscall.SIGKILL)
		f.end(identity)
		f.start(identity)
	case "stop":
		identity := f.pick()
		f.signal(identity, syscall.SIGSTOP)
		time.Sleep(f.lease + time.Duration(rand.Float64()*float64(f.lease)))
		f.signal(identity, syscall.SIGCONT)
	case "rolling":
		for m, identity := range slices.Collect(maps.Keys(f.all)) {
			next := fmt.Sprint("r", n, "-", m)
			f.start(next)
			f.joined(ctx, next)
			f.signal(identity, syscall.SIGTERM)
			f.end(identity)
		}
	case "server":
		f.c.APIServer.Kill()
		must(f.t, f.c.APIServer.Start(ctx))
	case "leases":
		leases, err := client.New(f.conn, shard.Kind, client.Options{Namespace: shardNamespace})
		must(f.t, err)
		err = leases.Delete(ctx, types.NamespacedName{Namespace: shardNamespace, Name: shardName}, metav1.DeleteOptions{})
		if err != nil && !errors.Is(err, context.Canceled) && !apierrors.IsNotFound(err) {
			f.t.Error(err)
		}
	}
	return time.Now()
}
