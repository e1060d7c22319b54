//go:build e2e

package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/shard"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// The annotations that a replica writes to an object in each reconcile.
const (
	numberAnnotation = "test/number"
	byAnnotation     = "test/by"
	turnAnnotation   = "test/turn"
)

// writtenPrefix begins the names of objects that a reconcile writes to. What a replica does with
// others it says on its standard output: 20,000 objects are too many to write to all of them again
// and again.
const writtenPrefix = "written-"

// shardEnv holds the arguments of a replica that runs as a separate process: this test binary.
const shardEnv = "KINFORM_E2E_REPLICA"

type replicaArgs struct {
	URL, CAFile, Token, Identity string
	Lease                        time.Duration
	Turn                         time.Duration // between two reconciles of an object
}

// shardOptions are the options of all replicas.
func shardOptions(identity string, lease time.Duration) shard.Options {
	return shard.Options{Namespace: shardNamespace, Name: shardName, Identity: identity, LeaseDuration: lease, RenewDeadline: lease * 2 / 3, RetryPeriod: lease * 2 / 15}
}

// The first bytes of lines that a replica prints for the observer. All other lines are for people.
const (
	reconciledLine = "\x01"
	costsLine      = "\x02"
)

// costs are the costs of a replica.
type costs struct {
	Heap     uint64 // bytes that are reachable
	Resident uint64 // bytes
	Objects  int    // in the cache
	Events   uint64 // that came to the cache
	CPU      time.Duration
}

// TestShardProcess is a replica, and no test. It ends with SIGTERM, or when its standard input
// does.
func TestShardProcess(t *testing.T) {
	text := os.Getenv(shardEnv)
	if text == "" {
		t.Skip("it is run by TestShards")
	}
	var args replicaArgs
	must(t, json.Unmarshal([]byte(text), &args))
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	conn, err := client.NewConnection(args.URL, client.ConnectionOptions{CAFile: args.CAFile, Token: args.Token})
	must(t, err)
	defer conn.HTTP.CloseIdleConnections()
	say := func(format string, values ...any) {
		fmt.Printf("%s: %s\n", args.Identity, fmt.Sprintf(format, values...))
	}
	opts := shardOptions(args.Identity, args.Lease)
	opts.OnError = func(err error) { say("%v", err) }
	replica, err := shard.New(conn, opts)
	must(t, err)
	handle := controller.Open(replica.Gate(conn), core.ConfigMaps, controller.OpenOptions[*corev1.ConfigMap]{
		Client: client.Options{Namespace: shardNamespace, LabelSelector: "test=shards"},
	})
	var c *controller.Controller[types.NamespacedName]
	// Without a resourceVersion, so that the server stops nothing: each write counts.
	requests, err := client.New(replica.Gate(conn), core.ConfigMaps, client.Options{Namespace: shardNamespace})
	must(t, err)
	var turns atomic.Int64
	work, err := shard.Divide(replica, shard.Keys[types.NamespacedName]{
		Hashed: shard.ByKey, All: handle.AsInformer().Store().Keys, Add: func(key types.NamespacedName) { c.Queue().Add(key) },
	}, func(ctx context.Context, key types.NamespacedName) error {
		number, _ := shard.Number(ctx)
		by, turn := args.Identity+"/"+replica.Status().ID, turns.Add(1)
		defer c.Queue().AddAfter(key, args.Turn)
		if !strings.HasPrefix(key.Name, writtenPrefix) {
			fmt.Printf("%s%s %d %s %d\n", reconciledLine, key.Name, number, by, turn)
			return nil
		}
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"%d",%q:%q,%q:"%d"}}}`, numberAnnotation, number, byAnnotation, by, turnAnnotation, turn)
		ctx, cancel := context.WithTimeout(ctx, args.Lease/3)
		defer cancel()
		_, err := requests.Patch(ctx, key, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	})
	must(t, err)
	go func() { // each line asks for the costs. The end says that the parent is gone: it may be killed
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			text, _ := json.Marshal(costsNow(handle.AsInformer().Stats().Objects, handle.AsInformer().Stats().Changes)) // it has numbers only
			fmt.Printf("%s%s\n", costsLine, text)
		}
		os.Exit(3)
	}()
	// Writes fail while the server is away, thousands of them.
	c = controller.New("objects", work.Reconcile, controller.Options[types.NamespacedName]{
		Run: queue.RunOptions{Workers: 4, Grace: 10 * time.Second}, Logger: slog.New(slog.DiscardHandler),
	})
	controller.For(c, handle, controller.GenerationChanged, controller.LabelsChanged) // not the annotations that it writes
	m := manager.New(manager.Options{})
	m.AddControllers(c)
	m.Add("replica", replica)
	must(t, m.Run(ctx))
	say("has left")
	os.Exit(0) // a goroutine still reads the standard input
}

// costsNow returns the costs of this process.
func costsNow(objects int, events uint64) costs {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	c := costs{Heap: stats.HeapAlloc, Objects: objects, Events: events}
	status, _ := os.ReadFile("/proc/self/status") // Linux only
	for line := range bytes.Lines(status) {
		if fields := strings.Fields(string(line)); len(fields) > 1 && fields[0] == "VmRSS:" {
			kib, _ := strconv.ParseUint(fields[1], 10, 64)
			c.Resident = kib << 10
		}
	}
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) == nil {
		c.CPU = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return c
}
