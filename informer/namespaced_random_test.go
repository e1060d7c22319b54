package informer_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/longtest"
)

// TestRandomNamespaces runs many short lives of an informer over namespaces in virtual time: random writes,
// faults, namespaces that come, go, and lose their permission, stops and restarts. At any time a read shows
// this process's own writes, and in the end the store has exactly what is in the namespaces.
func TestRandomNamespaces(t *testing.T) {
	n := longtest.N[uint64](100, 5_000)
	if testing.Short() {
		n = 50
	}
	for seed := *firstSeed; seed < *firstSeed+n; seed++ {
		if !t.Run(fmt.Sprint("seed", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newPlacesLife(t, seed).run() })
		}) {
			return
		}
	}
}

// placesLife is one random schedule. It borrows the writes and faults of life.
type placesLife struct {
	life
	places  *places
	members map[string]*part
	seen    *history
	floor   map[key]string // versions of this process's own writes that must not be read back
	late    []func() error // answers that have not been recorded yet
}

// placeNames are the namespaces that come and go. There is one more.
var placeNames = []string{"a", "b", "c"}

func newPlacesLife(t *testing.T, seed uint64) *placesLife {
	r := rand.New(rand.NewPCG(seed, 11))
	l := &placesLife{life: life{t: t, rand: r, server: newServer(t)}, members: map[string]*part{}, floor: map[key]string{}}
	l.places = newPlaces(t, randomOptions(r))
	l.inf = l.places.Informer
	informer.SetLag(l.inf, uint64(1+r.IntN(20)))
	l.seen = newHistory(t, l.inf)
	must1(l.inf.AddHandler(l.seen, handlerOptions{Unchanged: r.IntN(3) == 0}))(t)
	return l
}

func (l *placesLife) run() {
	for range l.rand.IntN(20) {
		l.write()
	}
	for range l.rand.IntN(5) {
		l.join()
	}
	l.stop = run(l.t, l.inf)
	for range 120 {
		l.step()
		l.checkOwn()
	}
	for _, p := range l.members {
		p.denied.Store(false)
	}
	l.quiet()
	l.check()
	l.stop()
}

func (l *placesLife) step() {
	switch n := l.rand.IntN(100); {
	case n < 50:
		l.write()
	case n < 54:
		l.server.DropWatches()
	case n < 57:
		if err := l.server.Compact(l.server.ResourceVersion()); err != nil {
			l.t.Fatal(err)
		}
	case n < 62:
		l.fault()
	case n < 65:
		l.server.Bookmark()
	case n < 66 && len(l.late) > 0:
		n := l.rand.IntN(len(l.late))
		if err := l.late[n](); err != nil && !errors.Is(err, informer.ErrStopped) && !errors.Is(err, informer.ErrHandlerBehind) {
			l.t.Error(err)
		}
		l.late = slices.Delete(l.late, n, n+1)
	case n < 70:
		l.join()
	case n < 75:
		l.leave()
	case n < 80:
		l.permit()
	case n < 83:
		l.floor = map[key]string{} // a stop forgets writes
		l.stop()
		for range l.rand.IntN(4) {
			[]func(){l.write, l.join, l.leave, l.permit}[l.rand.IntN(4)]()
		}
		l.floor = map[key]string{}
		l.stop = run(l.t, l.inf)
	case n < 95:
		time.Sleep(time.Duration(l.rand.IntN(5000)) * time.Millisecond)
	default:
		synctest.Wait()
	}
}

// join adds a namespace that is not there, or replaces its source.
func (l *placesLife) join() {
	name, p := l.newcomer(4)
	l.places.add(l.t, name, p)
}

// newcomer makes the source of a namespace, which it removes if it is there. One in deny is denied.
func (l *placesLife) newcomer(deny int) (name string, p *part) {
	name = placeNames[l.rand.IntN(len(placeNames))]
	if l.members[name] != nil {
		l.remove(name)
		if l.rand.IntN(2) == 0 {
			synctest.Wait()
		}
	}
	p = newPart(l.t, l.server, fake.Selection{Namespace: name})
	p.denied.Store(l.rand.IntN(deny) == 0)
	l.members[name] = p
	return name, p
}

func (l *placesLife) leave() {
	if name := l.any(); name != "" {
		l.remove(name)
	}
}

// any returns a namespace that is there, empty if there is none.
func (l *placesLife) any() string {
	names := slices.Sorted(maps.Keys(l.members))
	if len(names) == 0 {
		return ""
	}
	return names[l.rand.IntN(len(names))]
}

func (l *placesLife) remove(name string) {
	l.places.remove(name)
	delete(l.members, name)
	l.floor = map[key]string{} // its objects go at some time
}

// permit gives or takes a permission.
func (l *placesLife) permit() {
	name := l.any()
	if name == "" {
		return
	}
	p := l.members[name]
	p.denied.Store(!p.denied.Load())
	if p.denied.Load() {
		l.server.DropWatches()
	}
	l.floor = map[key]string{} // writes expire if nothing brings them for two minutes
}

// write creates, updates or deletes one of a few objects, and records that at times.
func (l *placesLife) write() {
	k := key{Namespace: string(rune('a' + l.rand.IntN(4))), Name: fmt.Sprint("w", l.rand.IntN(4))}
	w, err := fake.Get[*widget](l.server, k)
	deleted := false
	switch {
	case err != nil:
		w, err = fake.Create(l.server, partOf(k.Namespace, k.Name, string(rune('x'+l.rand.IntN(3)))))
	case l.rand.IntN(4) == 0:
		w, err = fake.Delete[*widget](l.server, k)
		deleted = true
	default:
		w.Labels["part"], w.Spec.Size = string(rune('x'+l.rand.IntN(3))), w.Spec.Size+1
		w, err = fake.Update(l.server, w)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	delete(l.floor, k)
	if !l.selects(w) || l.rand.IntN(2) == 0 {
		return
	}
	record := func() error { return l.inf.RecordWrite(w, "") }
	if uid := w.UID; deleted {
		if l.rand.IntN(2) == 0 {
			uid = ""
		}
		record = func() error { return l.inf.RecordGone(k, uid, w.ResourceVersion) }
	}
	if l.rand.IntN(4) == 0 {
		l.late = append(l.late, record)
		return
	}
	if record() == nil {
		l.floor[k] = w.ResourceVersion
	}
}

// selects reports whether w is in a namespace that has its permission.
func (l *placesLife) selects(w *widget) bool {
	p := l.members[w.Namespace]
	return p != nil && !p.denied.Load()
}

// checkOwn makes sure that no read is older than the newest write of this process.
func (l *placesLife) checkOwn() {
	l.t.Helper()
	for k, rv := range l.floor {
		truth, err := fake.Get[*widget](l.server, k)
		got, ok := l.inf.Get(k)
		switch {
		case ok && older(got.ResourceVersion, rv):
			l.t.Errorf("%v: read %s after the write %s", k, got.ResourceVersion, rv)
		case ok && err != nil:
			l.t.Errorf("%v: read %s after its deletion", k, got.ResourceVersion)
		case !ok && err == nil && truth.ResourceVersion == rv:
			l.t.Errorf("%v: read nothing after the write %s", k, rv)
		}
	}
}

func (l *placesLife) check() {
	l.t.Helper()
	want := map[key]string{}
	list := must1(fake.List[*widget](l.server, fake.Selection{}))(l.t)
	for _, w := range list {
		if l.selects(w) {
			want[key{Namespace: w.Namespace, Name: w.Name}] = w.ResourceVersion
		}
	}
	got := map[key]string{}
	for k, w := range l.inf.Store().All() {
		got[k] = w.ResourceVersion
	}
	if !maps.Equal(got, want) {
		l.t.Errorf("the store has %v, the namespaces %v", got, want)
	}
	l.checkIndex()
	l.seen.check(l.t, "the handler")
	objects := 0
	for _, m := range l.places.Stats().Namespaces {
		objects += m.Objects
		if m.Refused != nil || !m.Synced || m.Failing.Err != nil {
			l.t.Errorf("a namespace is not well: %+v", m)
		}
	}
	if objects != len(want) {
		l.t.Errorf("the namespaces have %d objects of %d", objects, len(want))
	}
	if len(l.members) > 0 {
		if rv := l.inf.Store().ResourceVersion(); rv != l.server.ResourceVersion() {
			l.t.Errorf("the store is at %s, the server at %s", rv, l.server.ResourceVersion())
		}
	}
}
