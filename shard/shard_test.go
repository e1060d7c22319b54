package shard_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/internal/longtest"
	"github.com/kinform/kinform/shard"
	"github.com/kinform/kinform/shard/leader"
)

// takeover is how long keys may be idle after a fault: LeaseDuration, a few requests, and the two
// seconds in which settled looks back.
const takeover = 25 * time.Second

// TestReplicas divides keys among replicas that come, leave in order, and are cut off.
func TestReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		defer s.end()
		a := s.start(s.options("a"))
		s.settled(takeover)
		b, c := s.start(s.options("b")), s.start(s.options("c"))
		time.Sleep(10 * time.Second)
		for _, p := range s.all {
			if n := p.share(); n < 18 || n > 50 {
				t.Errorf("%s has %d keys of %d", p.name, n, s.keys)
			}
		}
		b.leave()
		s.settled(6 * time.Second)
		if st := b.replica.Status(); len(st.Ranges) > 0 || b.share() > 0 {
			t.Errorf("b has %+v", st)
		}
		c.cut.Store(true)
		time.Sleep(12 * time.Second) // it may work for 10 seconds
		s.settled(takeover)
		if !c.reported(shard.ErrExpired) || c.share() > 0 {
			t.Errorf("c has %d keys, and said %v", c.share(), c.errs)
		}
		for _, p := range s.all { // c alone has lost its Lease: b has given it up
			want := uint64(0)
			if p == c {
				want = 1
			}
			if st := p.replica.Status(); st.Lost != want || st.Expired != want {
				t.Errorf("%s has lost %d Leases, %d by time", p.name, st.Lost, st.Expired)
			}
		}
		c.cut.Store(false)
		time.Sleep(20 * time.Second)
		s.settled(5 * time.Second)
		if n := c.share(); n < 30 {
			t.Errorf("c has %d keys", n)
		}
		if n := len(s.leases()); n != 3 {
			t.Errorf("%d Leases", n)
		}
		if st := a.replica.Status(); st.Share < 0.4 || st.Share > 0.6 || st.ID == "" || st.Gained == 0 || st.Dropped == 0 || !st.Ranges[0].Ready {
			t.Errorf("status %+v", st)
		}
	})
}

// TestRollingUpdate replaces all replicas one after the other: no key is idle for long.
func TestRollingUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		defer s.end()
		old := []*process{s.start(s.options("a1")), s.start(s.options("b1")), s.start(s.options("c1"))}
		s.settled(takeover)
		for _, p := range old {
			s.start(s.options(p.name[:1] + "2"))
			s.settled(5 * time.Second)
			p.leave()
			s.settled(5 * time.Second)
		}
	})
}

// TestKeeps: a replica that gets the range beside its own drops nothing for that, so it queues no
// key again.
func TestKeeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		defer s.end()
		a, b := s.start(s.options("a")), s.start(s.options("b"))
		s.settled(takeover)
		before := a.replica.Status()
		b.leave()
		s.settled(5 * time.Second)
		if st := a.replica.Status(); len(st.Ranges) != 1 || st.Share != 1 || st.Dropped != before.Dropped || st.Gained != before.Gained+1 {
			t.Errorf("%+v after %+v", st, before)
		}
	})
}

// TestCatchUp: ranges wait for the caches, even if the function fails or panics at first.
func TestCatchUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		defer s.end()
		var calls atomic.Int32
		filled := make(chan struct{})
		s.change = func(keys *shard.Keys[int]) {
			keys.CatchUp = func(ctx context.Context) error {
				switch calls.Add(1) {
				case 1:
					return errors.New("not yet")
				case 2:
					panic("nor now")
				}
				select {
				case <-filled:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		}
		a := s.start(s.options("a"))
		time.Sleep(time.Minute)
		if st := a.replica.Status(); len(st.Ranges) != 1 || st.Ranges[0].Ready || a.share() > 0 || calls.Load() != 3 {
			t.Errorf("%d keys after %d calls: %+v", a.share(), calls.Load(), st)
		}
		if !a.said("not yet") || !a.said("nor now") {
			t.Error(a.errs)
		}
		close(filled)
		s.settled(3 * time.Second)
	})
}

// TestBadKey: a key whose function panics costs the others nothing.
func TestBadKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		defer s.end()
		s.change = func(keys *shard.Keys[int]) {
			add := keys.Add
			keys.Add = func(n int) {
				if n == 7 {
					panic("seven")
				}
				add(n)
			}
		}
		a := s.start(s.options("a"))
		time.Sleep(takeover)
		s.mu.Lock()
		worked := len(s.last)
		s.mu.Unlock()
		if worked != s.keys-1 || !a.said("seven") {
			t.Errorf("%d keys: %v", worked, a.errs)
		}
	})
}

// TestGrace: a replica that comes back under its name gets what it had.
func TestGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		defer s.end()
		opts := func(identity string) shard.Options {
			o := s.options(identity)
			o.Grace = 10 * time.Second
			return o
		}
		a, b := s.start(opts("a")), s.start(opts("b"))
		s.settled(takeover)
		time.Sleep(10 * time.Second)
		was, others := b.replica.Status(), a.replica.Status()
		b.leave()
		time.Sleep(5 * time.Second)
		b = s.start(opts("b"))
		time.Sleep(5 * time.Second)
		if b.reported(shard.ErrIdentity) {
			t.Error("b takes itself for another")
		}
		s.settled(5 * time.Second)
		is := b.replica.Status()
		if len(is.Ranges) != len(was.Ranges) || is.Ranges[0].First != was.Ranges[0].First || a.replica.Status().Gained != others.Gained {
			t.Errorf("b had %+v, and has %+v", was, is)
		}
		if is.Ranges[0].Number <= was.Ranges[0].Number {
			t.Errorf("number %d after %d", is.Ranges[0].Number, was.Ranges[0].Number)
		}
	})
}

// TestSlowReconcile: a range does not move while a call for one of its keys runs.
func TestSlowReconcile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		defer s.end()
		s.slow = 7 * time.Second
		s.start(s.options("a"))
		time.Sleep(30 * time.Second)
		s.start(s.options("b"))
		drained := 0
		for range 20 {
			time.Sleep(time.Second)
			st := s.all[0].replica.Status()
			if drained += st.Draining; st.Draining > st.Running {
				t.Errorf("status %+v", st)
			}
		}
		if drained == 0 {
			t.Error("no call holds up a move")
		}
		time.Sleep(3 * time.Minute) // 20 workers need half a minute for all keys
		if n := s.all[1].share(); n < 33 {
			t.Errorf("b has %d keys", n)
		}
	})
}

// TestHands edits and deletes objects by hand.
func TestHands(t *testing.T) {
	for title, edit := range map[string]func(*scene){
		"assignment deleted": func(s *scene) { s.delete(name) },
		"assignment edited": func(s *scene) {
			s.edit(name, func(l *leader.Lease) { l.Annotations[shard.AnnotationAssignment] = `{"ranges":[]}` })
		},
		"assignment without label": func(s *scene) { s.edit(name, func(l *leader.Lease) { l.Labels = nil }); s.delete(name) },
		"Lease deleted":            func(s *scene) { s.delete(s.leases()[1].Name) },
		"all deleted": func(s *scene) {
			for _, l := range s.leases() {
				s.delete(l.Name)
			}
		},
		"Lease edited": func(s *scene) {
			s.edit(s.leases()[1].Name, func(l *leader.Lease) { l.Annotations[shard.AnnotationMember] = `{"stopped":true}` })
		},
		"Lease emptied":    func(s *scene) { s.edit(s.leases()[1].Name, func(l *leader.Lease) { l.Spec = leader.LeaseSpec{} }) },
		"Lease unlabelled": func(s *scene) { s.edit(s.leases()[1].Name, func(l *leader.Lease) { l.Labels = nil }) },
		"a label more": func(s *scene) {
			for _, l := range s.leases() {
				s.edit(l.Name, func(l *leader.Lease) { l.Labels["x"] = "y" })
			}
		},
		"a Lease without sense": func(s *scene) {
			_, err := fake.Create(s.server, &leader.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "junk", Labels: map[string]string{shard.LabelName: name}}})
			must(s.t, err)
		},
	} {
		t.Run(title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t)
				defer s.end()
				s.start(s.options("a"))
				s.start(s.options("b"))
				s.settled(takeover)
				edit(s)
				s.settled(takeover)
				time.Sleep(20 * time.Second)
				s.settled(5 * time.Second)
				for _, p := range s.all {
					if n := p.share(); n < 33 {
						t.Errorf("%s has %d keys", p.name, n)
						s.dump()
					}
				}
			})
		})
	}
}

// TestFaults runs replicas on a server that fails at random.
func TestFaults(t *testing.T) {
	for seed := range longtest.N[uint64](4, 300) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 7))
			s := newScene(t)
			defer s.end()
			s.keys = 60
			t.Logf("seed %d", seed)
			for _, f := range []faults.Fault{
				{Status: apierrors.NewGenericServerResponse(http.StatusServiceUnavailable, "", leaseResource, "", "", 0, true), Chance: 0.05, Times: 40},
				{Status: apierrors.NewTooManyRequests("slow down", 1), Chance: 0.05, Times: 20},
				{Verb: faults.VerbWatch, CutEvents: 7, Chance: 0.3, Times: 20},
				{Verb: faults.VerbPatch, Delay: 3 * time.Second, Chance: 0.03, Times: 20},
				{Verb: faults.VerbPatch, CutBytes: 20, Chance: 0.05, Times: 20},
			} {
				f.Resource, f.Seed = leaseResource, seed
				must(t, s.server.Inject(f))
			}
			for range 3 + rng.IntN(3) {
				s.start(s.options(string(rune('a' + len(s.all)))))
			}
			for range 15 {
				time.Sleep(time.Duration(rng.Float64() * float64(8*time.Second)))
				p := s.all[rng.IntN(len(s.all))]
				switch rng.IntN(6) {
				case 0:
					p.cut.Store(true)
				case 1, 2:
					p.cut.Store(false)
				case 3:
					p.cut.Store(false)
					p.leave()
					s.start(s.options(p.name))
				case 4:
					if rng.IntN(3) == 0 {
						_, _ = fake.Delete[*leader.Lease](s.server, leaseKey(name))
					}
				case 5:
					s.start(s.options(string(rune('a' + len(s.all)))))
				}
			}
			s.server.ClearFaults()
			for _, p := range s.all {
				p.cut.Store(false)
			}
			s.settled(2 * takeover)
			time.Sleep(30 * time.Second)
			s.settled(5 * time.Second)
		})
	}
}
