package informer_test

import (
	"context"
	"flag"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faketest"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/longtest"
	"github.com/kinform/kinform/reflector"
)

var (
	seeds     = flag.Uint64("seeds", longtest.N[uint64](60, 10_000), "number of random schedules; 10000 take minutes")
	firstSeed = flag.Uint64("seed", 0, "the first of them")
)

// TestRandomSchedules runs many short lives of an informer in virtual time: random
// writes, faults of every kind, stops and restarts, handlers with all kinds of options that
// come, go and dawdle. Each life must end with the store equal to the server and with legal
// histories.
func TestRandomSchedules(t *testing.T) {
	n := *seeds
	if testing.Short() {
		n = min(n, 100)
	}
	for seed := *firstSeed; seed < *firstSeed+n; seed++ {
		if !t.Run(fmt.Sprint("seed", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newLife(t, seed).run() })
		}) {
			return
		}
	}
}

// life is one random schedule.
type life struct {
	t      *testing.T
	rand   *rand.Rand
	server *fake.Server
	inf    *informer.Informer[key, *widget]

	silent   bool // there was a fault that makes a watch silent
	stop     func()
	handlers []*member
	loops    sync.WaitGroup
}

// member is a handler, or a loop over events.
type member struct {
	*history
	name string
	reg  *informer.Registration // nil for a loop
	left chan struct{}          // closed when the loop has ended
}

// restless is a source that says that it is idle after a number of events only. After one, the
// committer commits all that follows. It has no Relist either.
type restless struct {
	reflector.Source[*widget]
	marks int
}

func (s *restless) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[reflector.Event[*widget], error] {
	return func(yield func(reflector.Event[*widget], error) bool) {
		lists := opts.SendInitialEvents != nil
		for ev, err := range s.Source.Watch(ctx, opts) {
			if ev.Idle = err == nil && !lists && s.marks > 0; ev.Idle {
				s.marks--
			}
			lists = lists && !ev.InitialEventsEnd
			if !yield(ev, err) {
				return
			}
		}
	}
}

func newLife(t *testing.T, seed uint64) *life {
	r := rand.New(rand.NewPCG(seed, 1))
	l := &life{t: t, rand: r, server: newServer(t)}
	src := reflector.Source[*widget](source(t, l.server))
	switch seed % 4 {
	case 2:
		src = &restless{src, int(seed % 8 / 4)}
	case 3:
		src = decoding(src)
	}
	opts := randomOptions(r)
	opts.Reflector.Backoff.Random = rand.New(rand.NewPCG(seed, 3)).Float64
	l.inf = newInformer(t, src, opts)
	informer.SetLag(l.inf, uint64(1+r.IntN(20)))
	return l
}

func (l *life) run() {
	for range l.rand.IntN(30) {
		l.write()
	}
	if l.rand.IntN(2) == 0 {
		l.addHandler()
	}
	l.stop = run(l.t, l.inf)
	for range 100 {
		l.step()
	}
	l.quiet()
	l.check()
	l.stop()
	l.loops.Wait()
}

// randomOptions returns options of an informer.
func randomOptions(r *rand.Rand) informer.Options[*widget] {
	return informer.Options[*widget]{
		OnError: ignore,
		Pending: 1 + r.IntN(20),
		Reflector: reflector.Tuning{
			PageSize:         int64(r.IntN(5)) - 1,
			WatchTimeout:     time.Duration(1+r.IntN(60)) * time.Second,
			DisableWatchList: r.IntN(2) == 0,
		},
	}
}

func (l *life) step() {
	switch n := l.rand.IntN(100); {
	case n < 58:
		l.write()
	case n < 62:
		l.server.DropWatches()
	case n < 66:
		if err := l.server.Compact(l.server.ResourceVersion()); err != nil {
			l.t.Fatal(err)
		}
	case n < 72:
		l.fault()
	case n < 75:
		l.server.Bookmark()
	case n < 79:
		l.addHandler()
	case n < 80:
		l.addLoop()
	case n < 83:
		l.removeHandler()
	case n < 85:
		l.restart()
	case n < 96:
		time.Sleep(time.Duration(l.rand.IntN(5000)) * time.Millisecond)
	default:
		synctest.Wait()
	}
}

// restart stops the informer and runs it again, with things happening in between.
func (l *life) restart() {
	l.stop()
	for range l.rand.IntN(5) {
		switch l.rand.IntN(4) {
		case 0:
			l.addHandler()
		case 1:
			l.removeHandler()
		default:
			l.write()
		}
	}
	l.stop = run(l.t, l.inf)
}

func (l *life) removeHandler() {
	if len(l.handlers) == 0 {
		return
	}
	m := l.handlers[l.rand.IntN(len(l.handlers))]
	switch {
	case m.reg == nil:
	case l.rand.IntN(2) == 0:
		m.reg.Drain()
	default:
		m.reg.Remove()
	}
}

// write creates, updates or deletes one of a few objects.
func (l *life) write() {
	k := key{Namespace: "a", Name: fmt.Sprint("w", l.rand.IntN(12))}
	w, err := fake.Get[*widget](l.server, k)
	switch {
	case err != nil:
		_, err = fake.Create(l.server, newWidget(k.Namespace, k.Name, fmt.Sprint("n", l.rand.IntN(3))))
	case l.rand.IntN(3) == 0:
		_, err = fake.Delete[*widget](l.server, k)
	default:
		w.Spec.Node, w.Spec.Size = fmt.Sprint("n", l.rand.IntN(3)), w.Spec.Size+1
		_, err = fake.Update(l.server, w)
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

func (l *life) fault() {
	f := faults.Fault{Times: 1 + l.rand.IntN(3), Skip: l.rand.IntN(2)}
	if l.rand.IntN(2) == 0 {
		f.Verb = faults.VerbWatch
	} else {
		f.Verb = faults.VerbList
	}
	switch l.rand.IntN(6) {
	case 0:
		f.Status = faults.Refusal(429, metav1.StatusReasonTooManyRequests, 1+l.rand.IntN(3))
	case 1:
		f.Status = faults.Refusal(500, metav1.StatusReasonInternalError, 0)
	case 2:
		f.Status = faults.Refusal(403, metav1.StatusReasonForbidden, 0)
	case 3:
		f.Status = faults.Refusal(410, metav1.StatusReasonExpired, 0)
	case 4:
		f.CutEvents = 1 + l.rand.IntN(4)
	case 5:
		f.Verb, f.Silent = faults.VerbWatch, true
		l.silent = true
	}
	if err := l.server.Inject(f); err != nil {
		l.t.Fatal(err)
	}
}

// addHandler adds one that checks all it sees, that wants this or that, and that takes its
// time for some.
func (l *life) addHandler() {
	m := l.newMember()
	handle := l.dawdling(m)
	m.reg = must1(l.inf.AddHandler(informer.HandlerFunc[key, *widget](handle), l.options(m)))(l.t)
}

// addLoop adds a loop over the events, which ends by itself at times.
func (l *life) addLoop() {
	m := l.newMember()
	handle, opts := l.dawdling(m), l.options(m)
	m.left = make(chan struct{})
	leaves := l.rand.IntN(40)
	l.loops.Go(func() {
		defer close(m.left)
		for ev := range l.inf.Events(context.Background(), opts) {
			handle(ev)
			if leaves--; leaves == 0 {
				return
			}
		}
	})
}

func (l *life) newMember() *member {
	m := &member{history: newHistory(l.t, l.inf), name: fmt.Sprint("handler ", len(l.handlers))}
	l.handlers = append(l.handlers, m)
	return m
}

func (l *life) options(m *member) handlerOptions {
	opts := handlerOptions{Name: m.name}
	if l.rand.IntN(3) == 0 {
		node := fmt.Sprint("n", l.rand.IntN(3))
		opts.Filter = func(w *widget) bool { return w.Spec.Node == node }
		m.passes = opts.Filter
	}
	if l.rand.IntN(3) == 0 {
		opts.Resync = time.Duration(1+l.rand.IntN(20)) * time.Second
	}
	opts.Unchanged = l.rand.IntN(3) == 0
	if l.rand.IntN(3) == 0 {
		opts.Coalesce = true
	}
	m.name = fmt.Sprintf("%+v", opts)
	m.syncs = opts.Unchanged || opts.Resync > 0
	return opts
}

func (l *life) dawdling(m *member) func(informer.Event[key, *widget]) {
	slow, r := l.rand.IntN(3) == 0, rand.New(rand.NewPCG(l.rand.Uint64(), 2))
	return func(ev informer.Event[key, *widget]) {
		m.Handle(ev)
		if slow && r.IntN(4) == 0 {
			time.Sleep(time.Duration(r.IntN(1000)) * time.Millisecond)
		}
	}
}

// quiet ends the faults and lets everything catch up. A hung watch ends with its timeout.
func (l *life) quiet() {
	l.server.ClearFaults()
	time.Sleep(time.Hour)
	synctest.Wait()
}

func (l *life) check() {
	l.t.Helper()
	diff, err := faketest.Diff(l.server, fake.Selection{}, l.inf.Store().Values())
	if err != nil || diff != "" {
		l.t.Errorf("the store is not the server's list (-server +store): %v\n%s", err, diff)
	}
	l.checkIndex()
	live := 0
	for _, m := range l.handlers {
		if m.ended() {
			m.checkEvents(l.t, m.name)
			continue
		}
		live++
		m.check(l.t, m.name)
		if m.reg != nil && !isClosed(m.reg.Synced()) {
			l.t.Errorf("%s is not synced", m.name)
		}
	}
	if n := len(l.inf.Handlers()); n != live {
		l.t.Errorf("the informer has %d handlers, want %d", n, live)
	}
}

func (m *member) ended() bool {
	if m.reg == nil {
		return isClosed(m.left)
	}
	return isClosed(m.reg.Done())
}

func (l *life) checkIndex() {
	l.t.Helper()
	count := map[string]int{}
	for w := range l.inf.Store().Values() {
		count[w.Spec.Node]++
	}
	for n := range 3 {
		node := fmt.Sprint("n", n)
		if got := len(byNode.Get(l.inf.Store(), node)); got != count[node] {
			l.t.Errorf("the index has %d objects on %s, the store %d", got, node, count[node])
		}
	}
}
