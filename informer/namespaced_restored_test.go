package informer_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/longtest"
	"github.com/kinform/kinform/internal/objid"
	"github.com/kinform/kinform/reflector"
)

// slowPart is a part whose lists and watches take their time.
type slowPart struct {
	*part
	deaf bool // it does not learn that a watch broke off

	mu   *sync.Mutex
	rand *rand.Rand // guarded by mu
}

func (p *slowPart) Relist(self reflector.Source[*widget], known func(objid.Identity) bool) reflector.Source[*widget] {
	return &slowPart{part: p.part.Relist(self, known).(*part), deaf: p.deaf, mu: p.mu, rand: p.rand}
}

func (p *slowPart) pause(ctx context.Context) {
	p.mu.Lock()
	d := time.Duration(max(0, p.rand.IntN(9000)-6000)+1) * time.Millisecond
	p.mu.Unlock()
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func (p *slowPart) List(ctx context.Context, opts metav1.ListOptions, yield func(reflector.Event[*widget], error) bool) (metav1.ListMeta, error) {
	p.pause(ctx)
	list, err := p.part.List(ctx, opts, yield)
	p.pause(ctx)
	return list, err
}

func (p *slowPart) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[reflector.Event[*widget], error] {
	return func(yield func(reflector.Event[*widget], error) bool) {
		p.pause(ctx)
		for ev, err := range p.part.Watch(ctx, opts) {
			if _, refused := err.(apierrors.APIStatus); err != nil && p.deaf && !refused {
				<-ctx.Done()
				return
			}
			if !yield(ev, err) {
				return
			}
		}
		if p.deaf {
			<-ctx.Done()
		}
	}
}

// TestRandomRestoredNamespaces is TestRandomNamespaces with restores of the server, which some namespaces notice
// and others do not, and which it may have overtaken when they ask. Handlers are slow, and wait for
// versions. After one more restore, which a namespace surely notices, the store must have exactly what
// they have, none may list without end, and Run must end.
func TestRandomRestoredNamespaces(t *testing.T) {
	n := longtest.N[uint64](50, 5_000)
	for seed := *firstSeed; seed < *firstSeed+n; seed++ {
		if !t.Run(fmt.Sprint("seed", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newRestoredLife(t, seed).run() })
		}) {
			return
		}
	}
}

type restoredLife struct {
	placesLife
	backups []*fake.Backup // of the present history, the newest last
	waits   sync.WaitGroup
	log     []string
}

func (l *restoredLife) say(f string, args ...any) {
	l.log = append(l.log, fmt.Sprintf("%v ", time.Now().Format("05.000"))+fmt.Sprintf(f, args...))
}

func newRestoredLife(t *testing.T, seed uint64) *restoredLife {
	r := rand.New(rand.NewPCG(seed, 77))
	l := &restoredLife{placesLife: placesLife{life: life{t: t, rand: r, server: newServer(t)}, members: map[string]*part{}, floor: map[key]string{}}}
	opts := randomOptions(r)
	l.places = newPlaces(t, opts)
	l.inf = l.places.Informer
	informer.SetLag(l.inf, uint64(1+r.IntN(20)))
	return l
}

func (l *restoredLife) join() {
	name, p := l.newcomer(6)
	s := &slowPart{part: p, deaf: l.rand.IntN(4) == 0, mu: new(sync.Mutex), rand: rand.New(rand.NewPCG(l.rand.Uint64(), 1))}
	l.say("join %s denied %v deaf %v", name, p.denied.Load(), s.deaf)
	if l.rand.IntN(2) == 0 || s.deaf {
		l.places.add(l.t, name, s)
	} else {
		l.places.add(l.t, name, p)
	}
}

func (l *restoredLife) restore() {
	if len(l.backups) == 0 {
		return
	}
	b := l.backups[l.rand.IntN(len(l.backups))]
	must1(0, l.server.Restore(b))(l.t)
	l.say("restored to %s", l.server.ResourceVersion())
	l.backups = l.backups[:slices.Index(l.backups, b)+1] // the others are of what was lost
	if l.rand.IntN(3) == 0 {
		for range l.rand.IntN(15) {
			l.write()
		}
	}
}

func (l *restoredLife) step() {
	switch n := l.rand.IntN(100); {
	case n < 45:
		l.write()
	case n < 48:
		l.server.DropWatches()
	case n < 49:
		must1(0, l.server.Compact(l.server.ResourceVersion()))(l.t)
	case n < 52:
		l.fault()
	case n < 55:
		l.server.Bookmark()
	case n < 59:
		l.join()
	case n < 62:
		if name := l.any(); name != "" {
			l.say("leave %s", name)
			l.remove(name)
		}
	case n < 65:
		l.permit()
	case n < 67:
		l.say("stop")
		l.stop()
		for range l.rand.IntN(4) {
			[]func(){l.write, l.join, l.leave, l.permit, l.restore}[l.rand.IntN(5)]()
		}
		l.stop = run(l.t, l.inf)
	case n < 71:
		l.say("backup at %s", l.server.ResourceVersion())
		l.backups = append(l.backups, l.server.Backup())
	case n < 76:
		l.restore()
	case n < 80:
		rv := l.server.ResourceVersion()
		l.waits.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
			defer cancel()
			_ = l.inf.WaitForRV(ctx, rv)
		})
	case n < 95:
		time.Sleep(time.Duration(l.rand.IntN(5000)) * time.Millisecond)
	default:
		synctest.Wait()
	}
}

func (l *restoredLife) run() {
	for range l.rand.IntN(20) {
		l.write()
	}
	for range l.rand.IntN(5) {
		l.join()
	}
	seen := historiesOf(l.t, l.inf)
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(l.rand.Uint64(), 2))
	must1(l.inf.AddHandler(informer.HandlerFunc[key, *widget](func(ev informer.Event[key, *widget]) {
		mu.Lock()
		dawdles, waits, pause := r.IntN(5) == 0, r.IntN(10) == 0, time.Duration(1+r.IntN(800))*time.Millisecond
		mu.Unlock()
		if dawdles {
			time.Sleep(pause)
		}
		if waits {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
			defer cancel()
			_ = l.inf.WaitForRV(ctx, ev.Object.ResourceVersion)
		}
	}), handlerOptions{}))(l.t)
	l.stop = run(l.t, l.inf)
	for range 150 {
		l.step()
	}
	for _, p := range l.members {
		p.denied.Store(false)
	}
	l.server.ClearFaults()
	l.restoreAgain()
	l.compare()
	l.stop()
	l.waits.Wait()
	if err := seen.Err(); err != nil {
		l.t.Error(err)
	}
	if l.t.Failed() {
		for _, line := range l.log {
			l.t.Log(line)
		}
	}
}

// restoreAgain adds a namespace that surely notices one more restore, so that all list again. Then
// they list no more.
func (l *restoredLife) restoreAgain() {
	l.members["e"] = newPart(l.t, l.server, fake.Selection{Namespace: "e"})
	l.places.add(l.t, "e", l.members["e"])
	l.server.DropWatches()
	l.quiet()
	backup := l.server.Backup()
	for n := range 3 {
		must1(fake.Create(l.server, newWidget("e", fmt.Sprint("w", n), "n")))(l.t)
	}
	synctest.Wait()
	must1(0, l.server.Restore(backup))(l.t)
	l.quiet()
	before := l.inf.Stats()
	l.quiet()
	after := l.inf.Stats()
	if n := int(after.Lists + after.WatchLists - before.Lists - before.WatchLists); n > 2*len(l.members) {
		l.t.Errorf("lists without end: %+v, %+v", before.Relists, after.Relists)
	}
}

func (l *restoredLife) compare() {
	want, got := map[key]*widget{}, map[key]*widget{}
	for _, w := range must1(fake.List[*widget](l.server, fake.Selection{}))(l.t) {
		if l.selects(w) {
			want[key{Namespace: w.Namespace, Name: w.Name}] = w
		}
	}
	for k, w := range l.inf.Store().All() {
		got[k] = w
	}
	if diff := cmp.Diff(want, got); diff != "" {
		l.t.Errorf("(-server +store) %s", diff)
	}
	l.checkIndex()
	for _, m := range l.places.Stats().Namespaces {
		n := len(must1(fake.List[*widget](l.server, fake.Selection{Namespace: m.Namespace}))(l.t))
		if m.Refused != nil || !m.Synced || m.Failing.Err != nil || m.Objects != n {
			l.t.Errorf("a namespace is not well, want %d: %+v", n, m)
		}
	}
	if len(l.members) > 0 {
		if rv := l.inf.Store().ResourceVersion(); rv != l.server.ResourceVersion() {
			l.t.Errorf("the store is at %s, the server at %s", rv, l.server.ResourceVersion())
		}
	}
}
