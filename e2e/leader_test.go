//go:build e2e

package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/shard/leader"
)

// The durations of an election whose tests do not take minutes.
const (
	leaseDuration = 3 * time.Second
	renewDeadline = 2 * time.Second
	retryPeriod   = 300 * time.Millisecond
)

// election is a Lease that candidates of both libraries stand for.
type election struct {
	t    *testing.T
	c    *cluster.Cluster
	conn client.Connection

	mu    sync.Mutex
	leads context.Context // the context of the work that began last
	who   string
	terms map[string]int
}

// work takes the place of a leader's work. The context of the leader before has ended.
func (e *election) work(ctx context.Context, identity string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.leads != nil && e.leads.Err() == nil {
		e.t.Errorf("%s and %s lead", e.who, identity)
	}
	e.leads, e.who = ctx, identity
	e.terms[identity]++
}

// leader returns who leads; empty if nobody does.
func (e *election) leader() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.leads == nil || e.leads.Err() != nil {
		return ""
	}
	return e.who
}

// stand lets a candidate run, and returns a function that ends it and waits for it.
func (e *election) stand(identity string, theirs bool) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	run := e.ours(identity)
	if theirs {
		run = e.theirs(identity)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

func (e *election) ours(identity string) func(context.Context) {
	elector := leader.New(e.conn, leader.Options{
		Namespace: "default", Name: "mixed", Identity: identity, OnError: func(error) {},
		LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
	})
	must(e.t, elector.Err())
	return func(ctx context.Context) {
		for ctx.Err() == nil { // a leadership that is lost ends Lead
			_ = elector.Lead(ctx, func(ctx context.Context) {
				e.work(ctx, identity)
				<-ctx.Done()
			})
		}
	}
}

func (e *election) theirs(identity string) func(context.Context) {
	config := &rest.Config{Host: e.c.URL(), BearerToken: e.c.Token(), TLSClientConfig: rest.TLSClientConfig{CAFile: e.c.CAFile()}, Timeout: renewDeadline / 2}
	clients, err := kubernetes.NewForConfig(config)
	must(e.t, err)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: "default", Name: "mixed"}, Client: clients.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
		},
		LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) { e.work(ctx, identity) }, OnStoppedLeading: func() {},
		},
	})
	must(e.t, err)
	return func(ctx context.Context) {
		for ctx.Err() == nil {
			elector.Run(ctx)
		}
	}
}

// TestMixedElection lets candidates of Kinform and of client-go stand for one Lease of a real
// server, whose leaders end in order, and whose API server is killed. There is always another
// leader, and never a second one.
func TestMixedElection(t *testing.T) {
	c := cluster.Start(t, cluster.Options{})
	e := &election{t: t, c: c, conn: connect(t, c), terms: map[string]int{}}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	ends := map[string]func(){}
	defer func() {
		for _, end := range ends {
			end()
		}
	}()
	candidates := 0
	stand := func(theirs bool) {
		candidates++ // nobody stands twice: client-go leads at once if it finds its own identity in the Lease
		identity := fmt.Sprintf("kinform-%d", candidates)
		if theirs {
			identity = fmt.Sprintf("client-go-%d", candidates)
		}
		ends[identity] = e.stand(identity, theirs)
	}
	for n := range 4 {
		stand(n%2 == 0)
	}
	led := map[bool]bool{} // by the library
	for round := 0; round < 12 && !(round >= 4 && led[true] && led[false]); round++ {
		must(t, eventually(ctx, func() bool { return e.leader() != "" }))
		identity := e.leader()
		if identity == "" {
			continue // it has just lost
		}
		t.Logf("round %d: %s", round, identity)
		theirs := strings.HasPrefix(identity, "client-go")
		led[theirs] = true
		if round == 2 {
			c.APIServer.Kill()
			must(t, eventually(ctx, func() bool { return e.leader() == "" }))
			must(t, c.APIServer.Start(ctx))
			continue
		}
		ends[identity]()
		if e.leader() == identity {
			t.Errorf("%s has ended, and leads", identity)
		}
		delete(ends, identity)
		stand(theirs)
	}
	if !led[true] || !led[false] {
		t.Errorf("only one library led: %v", e.terms)
	}
}
