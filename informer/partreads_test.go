package informer_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/longtest"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/shard"
)

// slowSource is a source whose answers take their time, so that much happens meanwhile.
type slowSource struct {
	reflector.Source[*widget]
	pause func()
}

func (s slowSource) List(ctx context.Context, opts metav1.ListOptions, yield func(reflector.Event[*widget], error) bool) (metav1.ListMeta, error) {
	s.pause()
	defer s.pause()
	return s.Source.List(ctx, opts, func(ev reflector.Event[*widget], err error) bool {
		s.pause()
		return yield(ev, err)
	})
}

func (s slowSource) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[reflector.Event[*widget], error] {
	return func(yield func(reflector.Event[*widget], error) bool) {
		s.pause()
		for ev, err := range s.Source.Watch(ctx, opts) {
			s.pause()
			if !yield(ev, err) {
				return
			}
		}
	}
}

// TestRandomPartsReads checks that what stays in the set is never away while ranges come and go:
// reads have all recorded writes, and handlers get no deletion of an object that exists.
func TestRandomPartsReads(t *testing.T) {
	for seed := *firstSeed; seed < *firstSeed+longtest.N[uint64](50, 10_000); seed++ {
		if !t.Run(fmt.Sprint("seed", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newPartReads(t, seed).run() })
		}) {
			return
		}
	}
}

type partReads struct {
	partLife
	all  []*informer.Informer[key, *widget]
	mine map[key]*widget // the newest states; nil after a deletion
}

const stays = topHash / 2 // hashes up to here are always in the set

func newPartReads(t *testing.T, seed uint64) *partReads {
	r := rand.New(rand.NewPCG(seed, 23))
	l := &partReads{mine: map[key]*widget{}}
	l.partLife = partLife{life: life{t: t, rand: r, server: newShardServer(t, r.IntN(2) == 0)}, set: new(shard.Hashes), hash: byName}
	part := l.randomPart()
	for n := range 2 {
		pauses, most := rand.New(rand.NewPCG(seed, uint64(30+n))), 1+r.IntN(1500)
		var mu sync.Mutex
		slow := func() {
			mu.Lock()
			pause := time.Duration(max(0, pauses.IntN(3*most)-2*most)) * time.Millisecond
			mu.Unlock()
			time.Sleep(pause)
		}
		u := newDivided(t, part, slowSource{source(t, l.server), slow}, randomOptions(r))
		l.all = append(l.all, u)
		l.handler(u)
	}
	l.inf = l.all[0]
	return l
}

func (l *partReads) handler(u *informer.Informer[key, *widget]) {
	must1(u.AddHandler(checked(l.t, u, func(ev informer.Event[key, *widget]) {
		if l.hash(ev.Object) > stays {
			return
		}
		now, err := fake.Get[*widget](l.server, ev.Key)
		if ev.Type == informer.Deleted && err == nil && now.UID == ev.Object.UID {
			l.t.Errorf("%s %s is deleted, and exists at %s", ev.Key, ev.Object.ResourceVersion, now.ResourceVersion)
		}
	}), handlerOptions{}))(l.t)
}

func (l *partReads) record(k key, w, deleted *widget) {
	for _, u := range l.all {
		var err error
		if w != nil {
			err = u.RecordWrite(w, "")
		} else {
			err = u.RecordGone(k, deleted.UID, l.server.ResourceVersion())
		}
		if err != nil {
			l.t.Error(err)
		}
	}
	l.mine[k] = w
}

func (l *partReads) write() {
	k := key{Namespace: "a", Name: fmt.Sprint("w", l.rand.IntN(30))}
	w, err := fake.Get[*widget](l.server, k)
	switch {
	case err != nil:
		l.record(k, must1(fake.Create(l.server, newWidget(k.Namespace, k.Name, "n")))(l.t), nil)
	case l.rand.IntN(3) == 0:
		_ = must1(fake.Delete[*widget](l.server, k))(l.t)
		l.record(k, nil, w)
	default:
		w.Spec.Size++
		l.record(k, must1(fake.Update(l.server, w))(l.t), nil)
	}
}

func (l *partReads) read() {
	for n, u := range l.all {
		for k, want := range l.mine {
			got, ok := u.Get(k)
			switch {
			case want == nil && ok && l.hash(got) <= stays:
				l.t.Errorf("informer %d: %s %s is there, and deleted", n, k, got.ResourceVersion)
			case want != nil && l.hash(want) <= stays && (!ok || got.ResourceVersion != want.ResourceVersion):
				l.t.Errorf("informer %d: %s: read %v, want %s", n, k, got, want.ResourceVersion)
			}
		}
	}
}

func (l *partReads) move() {
	ranges := []shard.HashRange{{First: 0, Last: stays}}
	for range l.rand.IntN(3) {
		a, b := l.rand.Uint64(), l.rand.Uint64()
		ranges = append(ranges, shard.HashRange{First: min(a, b), Last: max(a, b)})
	}
	if err := l.set.Set(ranges...); err != nil {
		l.t.Fatal(err)
	}
}

func (l *partReads) run() {
	l.move()
	var stops []func()
	for _, u := range l.all {
		stops = append(stops, run(l.t, u))
	}
	if err := l.set.WaitForLists(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
	faulty := l.rand.IntN(2) == 0
	for range 150 {
		switch n := l.rand.IntN(100); {
		case n < 50:
			l.write()
		case n < 65:
			l.move()
		case n < 67 && faulty:
			l.server.DropWatches()
		case n < 69 && faulty:
			if err := l.server.Compact(l.server.ResourceVersion()); err != nil {
				l.t.Fatal(err)
			}
		case n < 71 && faulty:
			l.fault()
		case n < 72:
			l.handler(l.all[l.rand.IntN(2)])
		case n < 90:
			time.Sleep(time.Duration(l.rand.IntN(2000)) * time.Millisecond)
		default:
			synctest.Wait()
		}
		l.read()
		if l.t.Failed() {
			break
		}
	}
	l.server.ClearFaults()
	if err := l.set.WaitForLists(l.t.Context()); err != nil {
		l.t.Error(err)
	}
	time.Sleep(30 * time.Second)
	l.server.Bookmark() // a real server sends some each minute: they show that writes outside the part do not come
	l.quiet()
	for n, u := range l.all {
		count := 0
		for _, w := range must1(fake.List[*widget](l.server, fake.Selection{}))(l.t) {
			if in(l.set.Ranges(), l.hash(w)) {
				count++
				if got, ok := u.Store().Get(key{Namespace: w.Namespace, Name: w.Name}); !ok || got.ResourceVersion != w.ResourceVersion {
					l.t.Errorf("informer %d lacks %s", n, w.Name)
				}
			}
		}
		if u.Store().Len() != count {
			l.t.Errorf("informer %d has %d objects, want %d", n, u.Store().Len(), count)
		}
		if u.LostWrites() > 0 && !l.silent { // a silent watch tells of no write for minutes
			l.t.Errorf("informer %d has lost %d writes", n, u.LostWrites())
		}
	}
	for _, stop := range stops {
		stop()
	}
}
