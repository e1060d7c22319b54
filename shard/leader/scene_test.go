package leader_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/shard/leader"
)

var key = types.NamespacedName{Namespace: "prod", Name: "web"}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// scene is a server with Leases, in a bubble of virtual time.
type scene struct {
	t      *testing.T
	server *fake.Server
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{t: t, server: fake.New(fake.Options{})}
	must(t, fake.Register(s.server, leader.Kind, fake.Rules{}))
	return s
}

// inject makes calls fail.
func (s *scene) inject(f faults.Fault) {
	s.t.Helper()
	must(s.t, s.server.Inject(f))
}

// lease returns what the server has.
func (s *scene) lease() *leader.Lease {
	s.t.Helper()
	l, err := fake.Get[*leader.Lease](s.server, key)
	must(s.t, err)
	return l
}

// edit changes the Lease by hand.
func (s *scene) edit(change func(*leader.LeaseSpec)) {
	s.t.Helper()
	l := s.lease()
	change(&l.Spec)
	_, err := fake.Update(s.server, l)
	must(s.t, err)
}

func (s *scene) create(spec leader.LeaseSpec) {
	s.t.Helper()
	meta := metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: map[string]string{"app": "web"}}
	_, err := fake.Create(s.server, &leader.Lease{ObjectMeta: meta, Spec: spec})
	must(s.t, err)
}

func (s *scene) delete() {
	s.t.Helper()
	_, err := fake.Delete[*leader.Lease](s.server, key)
	must(s.t, err)
}

// held is a Lease that holder has renewed now.
func held(holder string, seconds int32) leader.LeaseSpec {
	now, transitions := metav1.NowMicro(), int32(3)
	strategy, preferred := "OldestEmulationVersion", "somebody"
	return leader.LeaseSpec{
		HolderIdentity: &holder, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now, LeaseTransitions: &transitions,
		Strategy: &strategy, PreferredHolder: &preferred,
	}
}

// wire is the transport of one candidate.
type wire struct {
	next http.RoundTripper
	mu   sync.Mutex
	log  []string
	lose func(*http.Request) bool // whether to lose the answer; nil means never
	hang bool                     // requests do not arrive, and have no answer
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	w.log = append(w.log, r.Method)
	lose, hang := w.lose != nil && w.lose(r), w.hang
	w.mu.Unlock()
	if hang {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	answer, err := w.next.RoundTrip(r)
	if err == nil && lose {
		_ = answer.Body.Close()
		return nil, errors.New("connection reset by peer")
	}
	return answer, err
}

func (w *wire) set(hang bool, lose func(*http.Request) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hang, w.lose = hang, lose
}

// take returns the methods of the requests since the last call.
func (w *wire) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := strings.Join(w.log, " ")
	w.log = nil
	return text
}

// candidate is an elector at work.
type candidate struct {
	*leader.Elector
	t       *testing.T
	wire    *wire
	cancel  func()
	release chan struct{} // if not nil, work returns only when it is closed
	ended   chan struct{}
	err     error // of Lead, once ended

	mu      sync.Mutex
	led     []time.Time // when work was called
	cause   error       // of the end of work's context
	stopped time.Time   // when it ended
	errs    []error
	holders []string
}

// stand makes a candidate and runs it.
func (s *scene) stand(identity string, change ...func(*leader.Options, *candidate)) *candidate {
	s.t.Helper()
	c := &candidate{t: s.t, wire: &wire{next: s.server.Client().Transport}, ended: make(chan struct{})}
	opts := leader.Options{Namespace: key.Namespace, Name: key.Name, Identity: identity, OnError: c.onError, OnLeader: c.onLeader}
	for _, f := range change {
		f(&opts, c)
	}
	// Other requests have used the limiter up: a renewal does not wait for it.
	c.Elector = leader.New(client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: c.wire}, Limiter: rate.NewLimiter(0, 0), Retries: 3}, opts)
	must(s.t, c.Elector.Err())
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	go func() {
		defer close(c.ended)
		c.err = c.Lead(ctx, c.work)
	}()
	s.t.Cleanup(func() {
		cancel()
		<-c.ended
	})
	synctest.Wait()
	return c
}

func (c *candidate) work(ctx context.Context) {
	c.mu.Lock()
	c.led = append(c.led, time.Now())
	c.mu.Unlock()
	<-ctx.Done()
	c.mu.Lock()
	c.cause, c.stopped = context.Cause(ctx), time.Now()
	c.mu.Unlock()
	if c.release != nil {
		<-c.release
	}
}

func (c *candidate) onError(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.errs = append(c.errs, err)
}

func (c *candidate) onLeader(identity string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holders = append(c.holders, identity)
}

// reports returns the errors so far.
func (c *candidate) reports() []error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.errs)
}

// leadsWithin waits until work was called, and returns when.
func (c *candidate) leadsWithin(limit time.Duration) time.Time {
	c.t.Helper()
	for began := time.Now(); time.Since(began) <= limit; time.Sleep(time.Millisecond) {
		synctest.Wait()
		c.mu.Lock()
		led := c.led
		c.mu.Unlock()
		if len(led) > 0 {
			return led[0]
		}
	}
	c.t.Fatalf("%s does not lead after %v: %v", c.Identity(), limit, c.reports())
	return time.Time{}
}

// end waits for the end of Lead.
func (c *candidate) end() error {
	c.t.Helper()
	select {
	case <-c.ended:
	case <-time.After(time.Hour):
		c.t.Fatal("Lead does not return")
	}
	return c.err
}

// settle lets requests and callbacks end that take no time.
func settle() { synctest.Wait() }
