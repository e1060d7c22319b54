package informer_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faketest"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/longtest"
	"github.com/kinform/kinform/internal/objid"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// TestRandomOwnWrites runs many short lives of an informer whose process writes: beside writes of others,
// into and out of the selection, with answers that come late, lists and watches that lag, handlers that
// hold the commits up, and restarts. In one life of four the server is restored from a backup at times. In
// some, objects have no UID, the key function panics for some and an index for some states, or the informer
// looks for code that writes to objects.
// After each step, reads have what this process wrote or something newer. At the end the store has what
// the server has, and no write is ahead.
func TestRandomOwnWrites(t *testing.T) {
	n := longtest.N[uint64](100, 5_000)
	if testing.Short() {
		n = 50
	}
	for seed := *firstSeed; seed < *firstSeed+n; seed++ {
		if !t.Run(fmt.Sprint("seed", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newOwnLife(t, seed).run() })
		}) {
			return
		}
	}
}

// ownLife is one random schedule of own writes.
type ownLife struct {
	life
	restores bool
	bare     bool        // objects have no UID
	fragile  bool        // the key function panics for w4, and the index for states on a bad node
	restored bool        // reads may be of the server from before, until the informer notices
	noticed  atomic.Bool // since the last restore
	src      *lagging
	gate     *barrier
	boxed    *faketest.Histories[key, boxed[*widget]] // in lives with restores
	backup   *fake.Backup
	answers  []answer
	floor    map[key]floor
	lost     uint64 // number of lost writes that floor does not know any more
}

// answer is one that has not been recorded yet.
type answer struct {
	key    key
	object *widget
	gone   bool
	uid    bool // the deletion is recorded with its uid
	since  bool // the object has left the selection, or ended, since
	bad    bool // it has had a state that the store refuses, since
}

// floor is what reads of a key must have, or something newer.
type floor struct {
	rv   string
	uid  types.UID
	gone bool
	left bool // the object has left the selection, or ended, since
}

// selected are the objects that the source selects.
var selected = fake.Selection{LabelSelector: "part!=z"}

func newOwnLife(t *testing.T, seed uint64) *ownLife {
	r := rand.New(rand.NewPCG(seed, 29))
	l := &ownLife{
		life: life{t: t, rand: r, server: newServer(t)}, restores: seed%4 == 0, bare: seed%7 == 1, fragile: seed%5 == 2,
		gate: new(barrier), floor: map[key]floor{},
	}
	l.src = &lagging{Source: newPart(t, l.server, selected), watch: new(barrier), list: new(barrier)}
	opts := randomOptions(r)
	opts.Reflector.Backoff.Random = rand.New(rand.NewPCG(seed, 3)).Float64
	opts.OnError = func(err error) {
		l.note("OnError: %v", err)
		if errors.Is(err, reflector.ErrRestored) {
			l.noticed.Store(true)
		}
	}
	if seed%6 == 5 {
		opts.Mutations = informer.MutationsAll
	}
	src := reflector.Source[*widget](l.src)
	if seed%8 == 3 {
		src = decoding(src)
	}
	if l.bare {
		src = reflector.Map(src, func(w *widget) (*widget, error) { return l.cached(w), nil })
	}
	opts.Indexes = index.Of(byNode, index.New("strict", func(dst []string, w *widget) []string {
		if w.Spec.Node == badNode {
			panic("bad state")
		}
		return dst
	}))
	l.inf = must1(informer.New(src, l.key, opts))(t)
	informer.SetLag(l.inf, uint64(1+r.IntN(20)))
	if l.restores && seed%3 == 0 {
		informer.SetOwnLimit(l.inf, 2)
	}
	return l
}

// cached is what the cache has of w.
func (l *ownLife) cached(w *widget) *widget {
	if l.bare {
		copied := *w
		copied.UID = ""
		return &copied
	}
	return w
}

const badNode = "bad"

func (l *ownLife) key(w *widget) (key, error) {
	if l.usable(w.Name) {
		return store.ObjectKey(w)
	}
	panic("bad object")
}

func (l *ownLife) usable(name string) bool { return !l.fragile || name != "w4" }

func (l *ownLife) note(format string, args ...any) {
	if testing.Verbose() {
		l.t.Logf(format, args...)
	}
}

func (l *ownLife) run() {
	for range l.rand.IntN(20) {
		l.foreign()
	}
	must1(l.inf.AddHandler(informer.HandlerFunc[key, *widget](func(ev informer.Event[key, *widget]) {
		l.note("handler: %v %v %s->%s own %v unknown %v", ev.Type, ev.Key, rvOf(ev.Old), rvOf(ev.Object), ev.Own, ev.FinalStateUnknown)
		l.gate.wait(context.Background())
	}), handlerOptions{}))(l.t)
	if l.restores {
		l.boxed = historiesOf(l.t, l.inf)
	} else {
		for range 1 + l.rand.IntN(3) {
			l.addHandler()
		}
	}
	l.stop = run(l.t, l.inf)
	for range 100 {
		l.step()
		l.checkOwn()
		if l.t.Failed() {
			break
		}
	}
	for _, g := range []*barrier{l.gate, l.src.watch, l.src.list} {
		g.set(false)
	}
	for _, w := range must1(fake.List[*widget](l.server, selected))(l.t) {
		if w.Spec.Node == badNode {
			w.Spec.Node = "n"
			must1(fake.Update(l.server, w))(l.t)
		}
	}
	l.quiet()
	l.server.Bookmark()
	l.quiet()
	if l.restored && !l.noticed.Load() {
		l.unnoticed()
	}
	if !l.t.Failed() {
		l.end()
	}
	l.stop()
}

// unnoticed follows a restore that nobody has noticed, because the watch was at a version from before the
// backup. So only own writes are of the lost history. A list, and a few minutes, tell that.
func (l *ownLife) unnoticed() {
	if err := l.server.Compact(l.server.ResourceVersion()); err != nil {
		l.t.Fatal(err)
	}
	l.server.DropWatches()
	for range 15 {
		time.Sleep(time.Minute)
		must1(fake.Create(l.server, newWidget("b", "x"+l.server.ResourceVersion(), "n")))(l.t)
		l.server.Bookmark()
	}
	l.quiet()
}

func (l *ownLife) end() {
	l.checkOwn()
	l.checkStore()
	l.checkIndex()
	if n := l.inf.Stats().Writes; n != 0 {
		l.t.Errorf("%d writes are still ahead", n)
	}
	for _, m := range l.handlers {
		m.check(l.t, m.name)
	}
	if l.boxed == nil {
		return
	}
	if err := l.boxed.Err(); err != nil {
		l.t.Error(err)
	}
	n := 0
	for k, last := range l.boxed.Live() {
		n++
		if stored, _ := l.inf.Store().Get(k); stored != last.object {
			l.t.Errorf("a handler saw another %v last than the store has", k)
		}
	}
	if n != l.inf.Store().Len() {
		l.t.Errorf("a handler ended up with %d objects, the store with %d", n, l.inf.Store().Len())
	}
}

func (l *ownLife) checkStore() {
	if !l.bare && !l.fragile {
		diff, err := faketest.Diff(l.server, selected, l.inf.Store().Values())
		if err != nil || diff != "" {
			l.t.Errorf("the store is not the server's list (-server +store): %v\n%s", err, diff)
		}
		return
	}
	want := map[string]*widget{}
	for _, w := range must1(fake.List[*widget](l.server, selected))(l.t) {
		if l.usable(w.Name) {
			want[w.Name] = l.cached(w)
		}
	}
	got := map[string]*widget{}
	for w := range l.inf.Store().Values() {
		got[w.Name] = w
	}
	if !reflect.DeepEqual(got, want) {
		l.t.Errorf("the store has %v, the server %v", got, want)
	}
}

func (l *ownLife) step() {
	switch n := l.rand.IntN(100); {
	case n < 25:
		l.foreign()
	case n < 50:
		l.own()
	case n < 58:
		l.answer()
	case n < 61:
		l.note("drop")
		l.server.DropWatches()
	case n < 65:
		l.note("compact")
		if err := l.server.Compact(l.server.ResourceVersion()); err != nil {
			l.t.Fatal(err)
		}
	case n < 67:
		l.fault()
	case n < 71:
		l.note("bookmark")
		l.server.Bookmark()
	case n < 73:
		l.again()
	case n < 82:
		l.turn()
	case n < 84 && l.restores:
		l.restore()
	case n < 93:
		time.Sleep(time.Duration(l.rand.IntN(5000)) * time.Millisecond)
	case n < 94 && l.restores:
		time.Sleep(time.Duration(l.rand.IntN(300)) * time.Second)
	default:
		synctest.Wait()
	}
}

// turn shuts or opens a barrier.
func (l *ownLife) turn() {
	n := l.rand.IntN(3)
	shut := l.rand.IntN(2) == 0
	l.note("gate %s shut %v", []string{"handler", "watch", "list"}[n], shut)
	[]*barrier{l.gate, l.src.watch, l.src.list}[n].set(shut)
}

// again stops the informer and runs it again.
func (l *ownLife) again() {
	l.note("restart")
	l.gate.set(false)
	l.stop()
	for range l.rand.IntN(5) {
		[]func(){l.foreign, l.own, l.answer}[l.rand.IntN(3)]()
	}
	l.stop = run(l.t, l.inf)
}

// restore takes a backup, or restores the server from it.
func (l *ownLife) restore() {
	if l.backup == nil {
		l.note("backup at %s", l.server.ResourceVersion())
		l.backup = l.server.Backup()
		return
	}
	l.note("restore")
	if err := l.server.Restore(l.backup); err != nil {
		l.t.Fatal(err)
	}
	l.backup, l.answers = nil, nil
	l.floor, l.restored = map[key]floor{}, true
	l.noticed.Store(false)
	if l.rand.IntN(2) == 0 {
		l.server.JumpResourceVersion(l.rand.IntN(200))
	}
}

// foreign is a write of somebody else.
func (l *ownLife) foreign() { l.change() }

// own is a write of this process, whose answer may be recorded later or never.
func (l *ownLife) own() {
	a := l.change()
	a.uid = l.rand.IntN(2) == 0 && !l.bare
	switch l.rand.IntN(8) {
	case 0:
	case 1, 2:
		l.answers = append(l.answers, a)
	default:
		l.record(a)
	}
}

// answer records a late answer.
func (l *ownLife) answer() {
	if len(l.answers) == 0 {
		return
	}
	n := l.rand.IntN(len(l.answers))
	a := l.answers[n]
	l.answers = append(l.answers[:n:n], l.answers[n+1:]...)
	l.record(a)
}

func (l *ownLife) record(a answer) {
	var err error
	switch {
	case a.gone && a.uid:
		err = l.inf.RecordGone(a.key, a.object.UID, a.object.ResourceVersion)
	case a.gone:
		err = l.inf.RecordGone(a.key, "", a.object.ResourceVersion)
	default:
		err = l.inf.RecordWrite(l.cached(a.object), "")
	}
	l.note("record %v %s uid %s gone %v by uid %v: %v; %s", a.key, a.object.ResourceVersion, a.object.UID, a.gone, a.uid, err, dump(l.inf))
	if err != nil {
		panicked := (*informer.PanicError)(nil)
		if !errors.Is(err, informer.ErrStopped) && !errors.Is(err, informer.ErrHandlerBehind) && !errors.Is(err, informer.ErrTooManyWrites) && !(l.fragile && errors.As(err, &panicked)) {
			l.t.Error(err)
		}
		return
	}
	if a.bad {
		return // the watch may have brought a state that the store has refused
	}
	if f, ok := l.floor[a.key]; !l.restored && (!ok || older(f.rv, a.object.ResourceVersion)) {
		l.floor[a.key] = floor{a.object.ResourceVersion, a.object.UID, a.gone, a.since}
	}
}

// change creates, updates or deletes one of a few objects, in the selection or not.
func (l *ownLife) change() answer {
	k := key{Namespace: "a", Name: fmt.Sprint("w", l.rand.IntN(5))}
	w, err := fake.Get[*widget](l.server, k)
	label := []string{"x", "y", "z"}[l.rand.IntN(3)]
	a := answer{key: k}
	switch {
	case err != nil:
		a.object, err = fake.Create(l.server, partOf(k.Namespace, k.Name, label))
	case l.rand.IntN(3) == 0:
		a.object, err = fake.Delete[*widget](l.server, k)
		a.gone = true
	default:
		w.Labels["part"], w.Spec.Node, w.Spec.Size = label, fmt.Sprint("n", l.rand.IntN(3)), w.Spec.Size+1
		if l.fragile && l.rand.IntN(4) == 0 {
			w.Spec.Node = badNode
		}
		a.object, err = fake.Update(l.server, w)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	l.note("change %v %s uid %s part %s gone %v", k, a.object.ResourceVersion, a.object.UID, a.object.Labels["part"], a.gone)
	a.bad = a.object.Spec.Node == badNode && !a.gone
	a.since = a.gone || a.object.Labels["part"] == "z"
	if f, ok := l.floor[k]; ok && a.since {
		f.left = true
		l.floor[k] = f
	}
	for n := range l.answers {
		if l.answers[n].key == k {
			l.answers[n].since = l.answers[n].since || a.since
			l.answers[n].bad = l.answers[n].bad || a.bad
		}
	}
	return a
}

// checkOwn makes sure that no read is older than the newest write of this process.
// Lost writes may have been taken back.
func (l *ownLife) checkOwn() {
	l.t.Helper()
	var lost []key
	lost, l.lost, _ = l.inf.LostKeys(l.lost)
	for _, k := range lost {
		delete(l.floor, k)
	}
	for n := range 5 {
		l.checkPending(key{Namespace: "a", Name: fmt.Sprint("w", n)})
	}
	for k, f := range l.floor {
		got, ok := l.inf.Get(k)
		switch {
		case ok && f.gone && got.UID == f.uid && !l.bare:
			l.t.Errorf("%v: read %s of uid %s after its deletion at %s", k, got.ResourceVersion, f.uid, f.rv)
		case ok && older(got.ResourceVersion, f.rv):
			l.t.Errorf("%v: read %s after the write %s", k, got.ResourceVersion, f.rv)
		case !ok && !f.gone && !f.left:
			l.t.Errorf("%v: read nothing after the write %s", k, f.rv)
		}
	}
}

// checkPending makes sure that the store has the write which is ahead.
func (l *ownLife) checkPending(k key) {
	before, _ := l.inf.PendingWrite(k)
	got, ok := l.inf.Get(k)
	after, ahead := l.inf.PendingWrite(k)
	if ok && ahead && before == after && got.ResourceVersion != after {
		l.t.Errorf("%v: the write at %s is ahead, and the store has %s", k, after, got.ResourceVersion)
	}
}

// barrier holds up who waits for it while it is shut.
type barrier struct {
	mu   sync.Mutex
	shut chan struct{} // closed when it opens; nil while open
}

func (g *barrier) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case shut && g.shut == nil:
		g.shut = make(chan struct{})
	case !shut && g.shut != nil:
		close(g.shut)
		g.shut = nil
	}
}

func (g *barrier) wait(ctx context.Context) {
	g.mu.Lock()
	shut := g.shut
	g.mu.Unlock()
	if shut == nil {
		return
	}
	select {
	case <-shut:
	case <-ctx.Done():
	}
}

// lagging is a source whose lists and watches wait at barriers, with what the server has sent in hand.
type lagging struct {
	reflector.Source[*widget]
	watch, list *barrier
}

// Relist serves reflectors.
func (s *lagging) Relist(self reflector.Source[*widget], known func(objid.Identity) bool) reflector.Source[*widget] {
	return &lagging{s.Source.(*part).Relist(s.Source, known), s.watch, s.list}
}

func (s *lagging) List(ctx context.Context, opts metav1.ListOptions, yield func(reflector.Event[*widget], error) bool) (metav1.ListMeta, error) {
	return s.Source.List(ctx, opts, func(ev reflector.Event[*widget], err error) bool {
		s.list.wait(ctx)
		return yield(ev, err)
	})
}

func (s *lagging) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[reflector.Event[*widget], error] {
	return func(yield func(reflector.Event[*widget], error) bool) {
		for ev, err := range s.Source.Watch(ctx, opts) {
			if s.watch.wait(ctx); ctx.Err() != nil || !yield(ev, err) {
				return
			}
		}
	}
}

// TestConcurrentOwnWrites: some goroutines write, each its own objects, and read what they wrote, while the
// watch breaks off and the history is compacted.
func TestConcurrentOwnWrites(t *testing.T) {
	server := newServer(t)
	inf := newInformer(t, must1(fake.NewSource[*widget](server, selected))(t), informer.Options[*widget]{OnError: ignore, Pending: 5})
	informer.SetLag(inf, 50)
	must1(inf.AddHandler(newHistory(t, inf), handlerOptions{}))(t)
	must1(inf.AddHandler(newHistory(t, inf), handlerOptions{Coalesce: true}))(t)
	must1(inf.AddHandler(checked(t, inf, func(ev informer.Event[key, *widget]) {
		if ev.Type != informer.Deleted {
			_ = inf.RecordWrite(ev.Object, "") // nothing new
		}
	}), handlerOptions{}))(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- inf.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	<-inf.Synced()
	var wg sync.WaitGroup
	for g := range 4 {
		r := rand.New(rand.NewPCG(uint64(g), 31))
		wg.Go(func() {
			for range longtest.N(300, 5_000) {
				writeAndRead(t, server, inf, r, key{Namespace: "a", Name: fmt.Sprintf("w%d-%d", g, r.IntN(3))})
				switch r.IntN(50) {
				case 0:
					server.DropWatches()
				case 1:
					_ = server.Compact(server.ResourceVersion())
				}
			}
		})
	}
	wg.Wait()
	_ = must1(fake.Create(server, newWidget("a", "last", "n")))(t)
	err := inf.Store().WaitForRV(t.Context(), server.ResourceVersion())
	for errors.Is(err, informer.ErrHandlerBehind) { // the third handler has one processor with everything else
		err = inf.Store().WaitForRV(t.Context(), server.ResourceVersion())
	}
	if err != nil {
		t.Fatal(err)
	}
	inf.PendingWrite(key{}) // waits for the commit, which drops what it has passed
	if diff, err := faketest.Diff(server, selected, inf.Store().Values()); err != nil || diff != "" {
		t.Errorf("the store is not the server's list (-server +store): %v\n%s", err, diff)
	}
	if n := inf.Stats().Writes; n != 0 {
		t.Errorf("%d writes are still ahead", n)
	}
}

// writeAndRead writes an object that nobody else writes, and reads it.
func writeAndRead(t *testing.T, server *fake.Server, inf *informer.Informer[key, *widget], r *rand.Rand, k key) {
	w, err := fake.Get[*widget](server, k)
	gone := err == nil && r.IntN(4) == 0
	switch {
	case err != nil:
		w, err = fake.Create(server, newWidget(k.Namespace, k.Name, "n"))
	case gone:
		w, err = fake.Delete[*widget](server, k)
	default:
		w.Spec.Size++
		w, err = fake.Update(server, w)
	}
	if err != nil {
		t.Error(err)
		return
	}
	if gone {
		err = inf.RecordGone(k, w.UID, w.ResourceVersion)
	} else {
		err = inf.RecordWrite(w, "")
	}
	if err != nil {
		return // a handler is behind
	}
	switch got, ok := inf.Get(k); {
	case gone && ok:
		t.Errorf("%v: read %s after its deletion", k, got.ResourceVersion)
	case !gone && (!ok || got.ResourceVersion != w.ResourceVersion):
		t.Errorf("%v: read %v after the write %s", k, ok, w.ResourceVersion)
	}
}
