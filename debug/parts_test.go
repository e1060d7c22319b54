package debug_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/debug"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer/factory"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/shard"
)

// stub is a replica beside 200 others, with many ranges on the move.
type stub struct{}

func (stub) Identity() string { return "<b>me</b>\u202e" }

func (stub) Status() shard.Status {
	s := shard.Status{ID: "1", Until: time.Now().Add(10 * time.Second), Share: 0.5, Running: 2, Draining: 1, Gained: 3, Dropped: 4}
	for n := range uint64(30) {
		s.Ranges = append(s.Ranges, shard.Range{First: n << 32, Last: n<<32 + 1<<32 - 1, Number: 7, Ready: n != 1})
	}
	return s
}

func (stub) Assignment() *shard.Assignment {
	a := &shard.Assignment{Valid: true, Open: true, Epoch: 5}
	for n := range uint64(30) {
		a.Ranges = append(a.Ranges, shard.OwnedRange{First: n, Last: n, ID: "1", Owner: "<b>me</b>\u202e", Next: "<i>you</i>"})
		a.Ranges = append(a.Ranges, shard.OwnedRange{First: n, Last: n, ID: "1", Owner: "me"})
	}
	a.Ranges = append(a.Ranges, shard.OwnedRange{First: 9})
	for n := range 200 {
		a.Members = append(a.Members, shard.Member{ID: fmt.Sprint(n), Identity: strings.Repeat("x", 253), Weight: 1, Renewed: time.Now()})
	}
	return a
}

// What a page shows of a replica is bounded, and printable.
func TestReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page := debug.New(debug.Options{})
		if err := page.AddReplica("websites", stub{}); err != nil {
			t.Fatal(err)
		}
		body := get(page, "/replicas.json").Body
		if strings.ContainsRune(body.String(), '\u202e') || strings.Contains(body.String(), "<b>") {
			t.Errorf("not escaped: %s", body)
		}
		var all []debug.ReplicaState
		if err := json.Unmarshal(body.Bytes(), &all); err != nil || len(all) != 1 {
			t.Fatal(err, len(all))
		}
		r := all[0]
		if len(r.Ranges) != 20 || r.RangeCount != 30 || len(r.Moves) != 20 || r.MoveCount != 30 || len(r.Members) != 100 {
			t.Errorf("%d of %d ranges, %d of %d moves, %d members", len(r.Ranges), r.RangeCount, len(r.Moves), r.MoveCount, len(r.Members))
		}
		if r.Ranges[1] != (debug.HashRange{First: "0000000100000000", Last: "00000001ffffffff", Number: 7}) || r.Moves[1] != (debug.Move{First: "0000000000000001", Last: "0000000000000001", From: `<b>me</b>\u202e`, To: "<i>you</i>"}) {
			t.Errorf("got %+v and %+v", r.Ranges[1], r.Moves[1])
		}
		if !r.Leased || r.Until != 10 || r.Share != 0.5 || r.Epoch != 5 || !strings.Contains(r.Problem, "belong to nobody") {
			t.Errorf("got %+v", r)
		}
	})
}

// A replica before its first view, without a Lease.
func TestReplicaBefore(t *testing.T) {
	page := debug.New(debug.Options{})
	r, err := shard.New(client.Connection{URL: fake.URL}, shard.Options{Namespace: "a", Name: "b"})
	if err := errors.Join(err, page.AddReplica("b", r)); err != nil {
		t.Fatal(err)
	}
	var all []debug.ReplicaState
	if err := json.Unmarshal(get(page, "/replicas.json?name=b").Body.Bytes(), &all); err != nil || len(all) != 1 || all[0].Leased || all[0].Problem == "" {
		t.Errorf("%v; got %+v", err, all)
	}
}

func (p *program) names() string {
	s := p.state("/state.json")
	// The shared state lasts for a second.
	var all []string
	for _, i := range s.Informers {
		all = append(all, "informer "+i.Name)
	}
	for _, q := range s.Queues {
		all = append(all, "queue "+q.Name)
	}
	for _, c := range s.Controllers {
		all = append(all, "controller "+c.Name)
	}
	for _, r := range s.Replicas {
		all = append(all, "replica "+r.Name)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// A page that is nil is an error of the manager. A manager that is nil says so itself.
func TestNoPage(t *testing.T) {
	m := manager.New(manager.Options{})
	(*debug.Page)(nil).AddManager(m)
	if err := m.Run(t.Context()); !errors.Is(err, debug.ErrNoPart) || err.Error() != "debug: manager: the page: it is nil: make it before you add it" {
		t.Errorf("Run returned %v", err)
	}
	(*debug.Page)(nil).AddManager(nil)
	page := debug.New(debug.Options{})
	page.AddManager(nil)
	if got := (&program{t: t, page: page}).state("/state.json"); len(got.Controllers)+len(got.Informers) != 0 {
		t.Errorf("the page shows %v", got)
	}
}

// One call shows all of a manager, and what comes and goes. Events and reconciles are recorded.
func TestManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.New(fake.Options{})
		secrets := kind.Of[*Secret](schema.GroupVersion{Version: "v1"}, "secrets")
		if err := fake.Register(server, secrets, fake.Rules{}); err != nil {
			t.Fatal(err)
		}
		conn := client.Connection{URL: fake.URL, HTTP: server.Client()}
		handle := controller.Open(conn, secrets)
		c := controller.New("sync", reconcile)
		controller.For(c, handle)
		m := manager.New(manager.Options{})
		m.AddControllers(c)
		m.Show("side", queue.New(queue.Options[string]{}))
		m.Show("shards", stub{})
		m.Show("unknown", 1)
		m.Show("nil", nil)
		page := debug.New(debug.Options{Events: 8, Reconciles: 8})
		p := program{t: t, page: page}
		page.AddManager(m)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- m.Run(ctx) }()
		synctest.Wait()
		if _, err := fake.Create(server, newSecret("good")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		const usual = "controller sync, informer secrets, queue side, replica shards"
		if got := p.names(); got != usual {
			t.Errorf("got %s, want %s", got, usual)
		}
		s := p.story("a/good")
		if in := s.Informers[0]; !strings.HasPrefix(in.Server, "version ") || in.Server != "version "+in.Version || len(in.Events) != 1 || len(in.Events[0].Handlers) != 1 || in.Events[0].Handlers[0].Name != "sync" || in.Events[0].Handlers[0].After == nil {
			t.Errorf("got %+v", in)
		}
		if q := s.Controllers[0]; len(q.Reconciles) != 1 {
			t.Errorf("got %+v", q)
		}
		f := factory.New(conn, factory.Options{})
		m.Show("factory", f)
		ask := func(namespace string) *factory.Handle[key, *Secret] {
			h, err := factory.For(f, secrets, factory.Request[*Secret]{Select: client.Options{Namespace: namespace}})
			if err != nil {
				t.Fatal(err)
			}
			return h
		}
		all, one := ask(metav1.NamespaceAll), ask("n")
		time.Sleep(time.Second)
		if got := p.names(); got != "controller sync, informer secrets, informer secrets 2, informer secrets in namespace n, queue side, replica shards" {
			t.Errorf("with a factory: %s", got)
		}
		all.Release()
		one.Release()
		time.Sleep(time.Second)
		if got := p.names(); got != usual {
			t.Errorf("after the release: %s", got)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
