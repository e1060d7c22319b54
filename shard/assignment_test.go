package shard_test

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/shard"
	"github.com/kinform/kinform/shard/leader"
)

// TestReadForbidden: the error names the one verb that Read needs.
func TestReadForbidden(t *testing.T) {
	server := fake.New(fake.Options{})
	must(t, fake.Register(server, shard.Kind, fake.Rules{}))
	must(t, server.Inject(faults.Fault{Verb: faults.VerbList, Resource: leaseResource, Status: apierrors.NewForbidden(leaseResource, "", errors.New("no RBAC"))}))
	_, err := shard.Read(t.Context(), client.Connection{URL: fake.URL, HTTP: server.Client()}, namespace, name)
	if failed := (*shard.RequestError)(nil); !errors.As(err, &failed) || !strings.Contains(err.Error(), "grant the verb list on leases") {
		t.Errorf("error %v", err)
	}
}

func TestRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		defer s.end()
		read := func() *shard.Assignment {
			t.Helper()
			a, err := shard.Read(t.Context(), client.Connection{URL: fake.URL, HTTP: s.server.Client()}, namespace, name)
			must(t, err)
			return a
		}
		unowned := func(when string) {
			t.Helper()
			if err := read().Check(); !errors.Is(err, shard.ErrUnowned) {
				t.Errorf("%s: %v", when, err)
			}
		}
		unowned("nothing is there")
		opts := s.options("b")
		opts.Weight = 3
		s.start(s.options("a"))
		b := s.start(opts)
		time.Sleep(5 * time.Second)
		unowned("it is not open")
		s.settled(takeover)
		time.Sleep(10 * time.Second)
		a := read()
		must(t, a.Check())
		if len(a.Members) != 2 || a.Members[0].Identity != "a" || a.Members[1].Weight != 3 || a.Members[1].ID != b.replica.Status().ID ||
			a.Members[1].LeaseDuration != shard.DefaultLeaseDuration || math.Abs(a.Members[1].Share-0.75) > 0.1 || time.Since(a.Members[0].Renewed) > 3*time.Second || !a.Open || a.Scheme != "key" || a.Epoch == 0 {
			t.Errorf("%+v", a)
		}
		if r := a.Ranges[len(a.Ranges)-1]; r.Last != math.MaxUint64 || r.Owner == "" || r.Number == 0 {
			t.Errorf("%+v", r)
		}
		if seen := b.replica.Assignment(); seen.Check() != nil || len(seen.Members) != 2 || seen.Epoch != a.Epoch || !reflect.DeepEqual(seen.Ranges, a.Ranges) {
			t.Errorf("the replica has seen %+v, want %+v", seen, a)
		}
		time.Sleep(shard.DefaultRenewDeadline)
		must(t, read().CheckRenewed(a))
		b.cut.Store(true)
		time.Sleep(time.Second) // what b has sent arrives
		before := read()
		time.Sleep(3 * time.Second) // so short that b keeps its Lease
		if err := read().CheckRenewed(before); !errors.Is(err, shard.ErrUnowned) || !strings.Contains(err.Error(), `"b", which has 7`) {
			t.Error(err)
		}
		if err := read().Check(); err != nil {
			t.Errorf("others cannot know yet: %v", err)
		}
		b.cut.Store(false)
		s.settled(takeover)
		time.Sleep(10 * time.Second)
		must(t, read().CheckRenewed(before)) // whoever has the ranges, it renews
		a = read()
		a.Ranges[0].ID = ""
		if err := a.Check(); !errors.Is(err, shard.ErrUnowned) || !strings.Contains(err.Error(), "belong to nobody") {
			t.Error(err)
		}
		s.delete(a.Members[1].Lease)
		unowned("a Lease is deleted")
		time.Sleep(time.Second)
		if st := b.replica.Status(); st.Lost != 1 || st.Expired != 0 {
			t.Errorf("b has lost %d Leases, %d by time", st.Lost, st.Expired)
		}
		s.edit(name, func(l *leader.Lease) { l.Annotations[shard.AnnotationAssignment] = "{}" })
		unowned("it was edited")
		_, err := shard.Read(t.Context(), client.Connection{URL: fake.URL, HTTP: fake.New(fake.Options{}).Client()}, namespace, name)
		if failed := new(shard.RequestError); !errors.As(err, &failed) {
			t.Error(err)
		}
	})
}
