//go:build e2e

package e2e_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/internal/longtest"
	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/shard"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// The annotations that a replica writes to an object in each reconcile.
const (
	numberAnnotation = "test/number"
	byAnnotation     = "test/by"
	turnAnnotation   = "test/turn"
)

// shardEnv holds the arguments of a replica that runs as a process of its own: this test binary.
const shardEnv = "KINFORM_E2E_REPLICA"

type replicaArgs struct {
	URL, CAFile, Token, Identity string
}

// TestShardProcess is a replica, and no test. It ends with SIGTERM, or when its standard input does.
func TestShardProcess(t *testing.T) {
	text := os.Getenv(shardEnv)
	if text == "" {
		t.Skip("it is run by TestShards")
	}
	var args replicaArgs
	must(t, json.Unmarshal([]byte(text), &args))
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	go func() { // its parent may be killed
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	conn, err := client.NewConnection(args.URL, client.ConnectionOptions{CAFile: args.CAFile, Token: args.Token})
	must(t, err)
	defer conn.HTTP.CloseIdleConnections()
	say := func(format string, values ...any) {
		fmt.Printf("%s: %s\n", args.Identity, fmt.Sprintf(format, values...))
	}
	replica, err := shard.New(conn, shard.Options{
		Namespace: "default", Name: "shards", Identity: args.Identity, OnError: func(err error) { say("%v", err) },
		LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
	})
	must(t, err)
	handle, err := controller.Open(replica.Gate(conn), core.ConfigMaps, controller.OpenOptions[*corev1.ConfigMap]{
		Client: client.Options{Namespace: "default", LabelSelector: "test=shards"},
	})
	must(t, err)
	c := controller.New(controller.Options[types.NamespacedName]{Run: queue.RunOptions{Workers: 4}})
	// Without a resourceVersion, so that the server stops nothing: each write counts.
	requests, err := client.New(replica.Gate(conn), core.ConfigMaps, client.Options{Namespace: "default"})
	must(t, err)
	turn := 0
	var mu sync.Mutex
	work, err := shard.Divide(replica, shard.Keys[types.NamespacedName]{
		Hashed: shard.ByKey, All: handle.AsInformer().Store().Keys, Add: c.Queue().Add,
	}, func(ctx context.Context, key types.NamespacedName) error {
		number, _ := shard.Number(ctx)
		mu.Lock()
		turn++
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"%d",%q:%q,%q:"%d"}}}`, numberAnnotation, number, byAnnotation, args.Identity, turnAnnotation, turn)
		mu.Unlock()
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err := requests.Patch(ctx, key, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		c.Queue().AddAfter(key, time.Second)
		return err
	})
	must(t, err)
	must(t, controller.For(c, handle, controller.GenerationChanged, controller.LabelsChanged)) // not its own writes
	var tasks sync.WaitGroup
	tasks.Go(func() { _ = c.Run(ctx, work.Reconcile) })
	must(t, replica.Run(ctx))
	tasks.Wait()
	say("has left")
	os.Exit(0) // a goroutine still reads the standard input
}

// fleet is replicas as processes, and an observer of what they write.
type fleet struct {
	t    *testing.T
	c    *cluster.Cluster
	conn client.Connection
	all  map[string]*replicaProcess

	mu     sync.Mutex
	seen   map[string]*observed
	writes int
}

// observed is what the observer knows about an object.
type observed struct {
	number int64
	by     string
	turn   string // of the newest write
	at     time.Time
	idle   time.Duration // the longest time between two writes since reset
}

type replicaProcess struct {
	cmd   *exec.Cmd
	stdin io.Closer
	ended chan struct{}
}

func (f *fleet) start(identity string) *replicaProcess {
	f.t.Helper()
	args, err := json.Marshal(replicaArgs{f.c.URL(), f.c.CAFile(), f.c.Token(), identity})
	must(f.t, err)
	cmd := exec.Command(os.Args[0], "-test.run=^TestShardProcess$", "-test.timeout=20m")
	cmd.Env = append(os.Environ(), shardEnv+"="+string(args))
	in, err := cmd.StdinPipe()
	must(f.t, err)
	out, err := cmd.StdoutPipe()
	must(f.t, err)
	cmd.Stderr = cmd.Stdout
	must(f.t, cmd.Start())
	p := &replicaProcess{cmd, in, make(chan struct{})}
	f.all[identity] = p
	go func() {
		defer close(p.ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			f.t.Log(time.Now().Format("05.000"), lines.Text())
		}
		_ = cmd.Wait()
	}()
	return p
}

// signal sends a signal to a replica.
func (f *fleet) signal(identity string, s syscall.Signal) {
	f.t.Helper()
	f.t.Logf("%s %s: %v", time.Now().Format("05.000"), identity, s)
	must(f.t, f.all[identity].cmd.Process.Signal(s))
}

// end waits for the end of a replica.
func (f *fleet) end(identity string) {
	<-f.all[identity].ended
	delete(f.all, identity)
}

// close kills all replicas.
func (f *fleet) close() {
	for _, p := range f.all {
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

// observe follows the objects until ctx is done.
func (f *fleet) observe(ctx context.Context) {
	source, err := client.New(f.conn, core.ConfigMaps, client.Options{Namespace: "default", LabelSelector: "test=shards"})
	must(f.t, err)
	for rv := ""; ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		if rv == "" { // at the start, and when a server that has started again does not know the version
			meta, err := source.List(ctx, metav1.ListOptions{}, func(ev reflector.Event[*corev1.ConfigMap], err error) bool {
				if err == nil {
					f.note(ev.Object)
				}
				return true
			})
			if err != nil {
				continue
			}
			rv = meta.ResourceVersion
		}
		for ev, err := range source.Watch(ctx, metav1.ListOptions{ResourceVersion: rv, AllowWatchBookmarks: true}) {
			if err != nil {
				if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
					rv = ""
				}
				break
			}
			rv = ev.ResourceVersion
			if ev.Object != nil {
				f.note(ev.Object)
			}
		}
	}
}

// note takes a state of an object.
func (f *fleet) note(obj *corev1.ConfigMap) {
	f.mu.Lock()
	defer f.mu.Unlock()
	number, err := strconv.ParseInt(obj.Annotations[numberAnnotation], 10, 64)
	if err != nil {
		return // not written yet
	}
	f.writes++
	o, by := f.seen[obj.Name], obj.Annotations[byAnnotation]
	turn := by + obj.Annotations[turnAnnotation]
	switch {
	case o == nil:
		f.seen[obj.Name] = &observed{number, by, turn, time.Now(), 0}
		return
	case o.turn == turn: // a list shows it again
		return
	}
	if number < o.number || number == o.number && by != o.by {
		f.t.Errorf("%s: %s writes with number %d after %s with %d", obj.Name, by, number, o.by, o.number)
	}
	o.idle = max(o.idle, time.Since(o.at))
	o.number, o.by, o.turn, o.at = number, by, turn, time.Now()
}

// settled waits until all objects were written to within two seconds, and returns the longest time that one was idle
// since the last call.
func (f *fleet) settled(ctx context.Context, objects int) (idle time.Duration) {
	f.t.Helper()
	begun := time.Now()
	err := eventually(ctx, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, o := range f.seen {
			if o.at.Before(begun) {
				return false
			}
		}
		return len(f.seen) == objects
	})
	must(f.t, err)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, o := range f.seen {
		idle, o.idle = max(idle, o.idle), 0
	}
	return idle
}

// TestShards runs three replicas as processes on a real server, of which some are killed, stopped and replaced, as is
// the server. An observer sees that no fencing number goes back, and that each object is worked on again.
func TestShards(t *testing.T) {
	c := cluster.Start(t, cluster.Options{})
	f := &fleet{t: t, c: c, conn: connect(t, c), all: map[string]*replicaProcess{}, seen: map[string]*observed{}}
	ctx, cancel := context.WithTimeout(t.Context(), 12*time.Minute)
	defer cancel()
	const objects = 100
	maps, err := client.New(f.conn, core.ConfigMaps, client.Options{Namespace: "default"})
	must(t, err)
	for n := range objects {
		_, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("shard-", n), Labels: map[string]string{"test": "shards"}}}, metav1.CreateOptions{})
		must(t, err)
	}
	watching, endWatch := context.WithCancel(ctx)
	var observer sync.WaitGroup
	observer.Go(func() { f.observe(watching) })
	defer observer.Wait()
	defer endWatch()
	defer f.close()
	for n := range 3 {
		f.start(fmt.Sprint("r", n))
	}
	f.settled(ctx, objects)
	next := 3
	pick := func() string {
		for identity := range f.all {
			return identity
		}
		return ""
	}
	rounds := []string{"kill", "stop", "rolling", "server", "leases"}
	for n := range longtest.N(len(rounds), 40) {
		what := rounds[n%len(rounds)]
		switch what {
		case "kill":
			identity := pick()
			f.signal(identity, syscall.SIGKILL)
			f.end(identity)
			f.start(identity)
		case "stop":
			identity := pick()
			f.signal(identity, syscall.SIGSTOP)
			time.Sleep(leaseDuration + time.Duration(rand.Float64()*float64(leaseDuration)))
			f.signal(identity, syscall.SIGCONT)
		case "rolling":
			for range 3 {
				identity := pick()
				f.start(fmt.Sprint("r", next))
				next++
				f.settled(ctx, objects)
				f.signal(identity, syscall.SIGTERM)
				f.end(identity)
				f.settled(ctx, objects)
			}
		case "server":
			c.APIServer.Kill()
			must(t, c.APIServer.Start(ctx))
		case "leases":
			leases, err := client.New(f.conn, shard.Kind, client.Options{Namespace: "default"})
			must(t, err)
			err = leases.Delete(ctx, types.NamespacedName{Namespace: "default", Name: "shards"}, metav1.DeleteOptions{})
			if err != nil && !errors.Is(err, context.Canceled) && !apierrors.IsNotFound(err) {
				t.Error(err)
			}
		}
		time.Sleep(time.Second)
		t.Logf("%s: the longest time without a write was %v", what, f.settled(ctx, objects).Round(10*time.Millisecond))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	t.Logf("%d writes", f.writes)
}
