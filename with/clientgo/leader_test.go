package clientgo_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/internal/longtest"
	"github.com/kinform/kinform/shard/leader"
)

// ballot is a Lease that candidates of both libraries stand for.
type ballot struct {
	t      *testing.T
	server *fake.Server
	mu     sync.Mutex
	leads  map[string]context.Context // contexts of work, by identity
	terms  map[bool]int               // of client-go (true) and of Kinform
	last   string
}

// work takes the place of a leader's work.
func (b *ballot) work(ctx context.Context, identity string, theirs bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for other, context := range b.leads {
		if context.Err() == nil {
			b.t.Errorf("%s and %s lead", other, identity)
		}
	}
	clear(b.leads)
	b.leads[identity] = ctx
	b.terms[theirs]++
	b.last = identity
}

// leader returns who leads; empty if nobody does.
func (b *ballot) leader() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ctx := b.leads[b.last]; ctx == nil || ctx.Err() != nil {
		return ""
	}
	return b.last
}

// line is the way to the server. It can be cut.
type line struct {
	next http.RoundTripper
	cut  atomic.Bool
}

func (l *line) RoundTrip(r *http.Request) (*http.Response, error) {
	if l.cut.Load() {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return l.next.RoundTrip(r)
}

// voter is a candidate that runs.
type voter struct {
	line  *line
	end   context.CancelFunc
	ended chan struct{}
}

// stand makes a candidate of one of the libraries.
func (b *ballot) stand(identity string, theirs bool) *voter {
	ctx, cancel := context.WithCancel(context.Background())
	v := &voter{line: &line{next: b.server.Client().Transport}, end: cancel, ended: make(chan struct{})}
	httpClient := &http.Client{Transport: v.line}
	lead := b.theirs
	if !theirs {
		lead = b.ours
	}
	run := lead(identity, httpClient)
	go func() {
		defer close(v.ended)
		run(ctx)
	}()
	return v
}

func (b *ballot) ours(identity string, httpClient *http.Client) func(context.Context) {
	conn := client.Connection{URL: fake.URL, HTTP: httpClient}
	e := leader.New(conn, leader.Options{Namespace: "n", Name: "l", Identity: identity, OnError: func(error) {}})
	check(b.t, e.Err())
	return func(ctx context.Context) {
		_ = e.Lead(ctx, func(ctx context.Context) {
			b.work(ctx, identity, false)
			<-ctx.Done()
		})
	}
}

func (b *ballot) theirs(identity string, httpClient *http.Client) func(context.Context) {
	config := &rest.Config{Host: fake.URL, Timeout: 5 * time.Second, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	clients, err := kubernetes.NewForConfigAndClient(config, httpClient)
	check(b.t, err)
	e, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: "n", Name: "l"}, Client: clients.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
		},
		LeaseDuration: leader.DefaultLeaseDuration, RenewDeadline: leader.DefaultRenewDeadline, RetryPeriod: leader.DefaultRetryPeriod,
		// Not ReleaseOnCancel: then client-go ends the context of work only after it has tried to
		// give the Lease up, even if it could not renew it. So its work outlives its lease if the
		// server does not answer.
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) { b.work(ctx, identity, true) }, OnStoppedLeading: func() {},
		},
	})
	check(b.t, err)
	return e.Run
}

// TestMixedElection lets candidates of both libraries stand for one Lease, while leaders end in
// order, or are cut off. There is always one, and never a second.
func TestMixedElection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &ballot{t: t, server: fake.New(fake.Options{}), leads: map[string]context.Context{}, terms: map[bool]int{}}
		check(t, fake.Register(b.server, leader.Kind, fake.Rules{}))
		rng := rand.New(rand.NewPCG(1, 2))
		voters := map[string]*voter{}
		for n := range 4 {
			identity := fmt.Sprint("c", n)
			voters[identity] = b.stand(identity, n%2 == 0)
		}
		time.Sleep(30 * time.Second)
		for round := range longtest.N(40, 400) {
			identity := b.leader()
			if identity == "" {
				t.Errorf("round %d: nobody leads; the last was %s", round, b.last)
				break
			}
			lease, err := fake.Get[*leader.Lease](b.server, types.NamespacedName{Namespace: "n", Name: "l"})
			check(t, err)
			if *lease.Spec.HolderIdentity != identity || *lease.Spec.LeaseDurationSeconds != 15 {
				t.Errorf("round %d: %s leads, but the Lease is %+v", round, identity, lease.Spec)
			}
			v, wait := voters[identity], 5*time.Second
			if rng.IntN(2) == 0 {
				v.line.cut.Store(true)
				wait = 20 * time.Second
			} else {
				v.end()
			}
			time.Sleep(time.Duration(rng.Int64N(int64(wait))))
			synctest.Wait()
			time.Sleep(wait)
			v.end()
			<-v.ended
			voters[identity] = b.stand(identity, rng.IntN(2) == 0)
			time.Sleep(20 * time.Second)
			synctest.Wait()
		}
		for _, v := range voters {
			v.end()
			<-v.ended
		}
		if b.terms[true] < 5 || b.terms[false] < 5 {
			t.Errorf("client-go led %d times, Kinform %d times", b.terms[true], b.terms[false])
		}
		t.Logf("client-go led %d times, Kinform %d times", b.terms[true], b.terms[false])
	})
}
