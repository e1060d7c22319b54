package informer_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/reflector"
)

// TestRandomSchedules runs many short lives of an informer in virtual time: random
// writes, faults of every kind, handlers that come, go and dawdle. Each life must end
// with the store equal to the server and with legal histories.
func TestRandomSchedules(t *testing.T) {
	seeds := uint64(2000)
	if testing.Short() {
		seeds = 100
	}
	for seed := range seeds {
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

	histories []*history
	names     []string
	regs      []*informer.Registration
}

func newLife(t *testing.T, seed uint64) *life {
	r := rand.New(rand.NewPCG(seed, 1))
	l := &life{t: t, rand: r, server: newServer(t)}
	l.inf = newInformer(t, source(t, l.server), informer.Options[*widget]{
		OnError:      ignore,
		PageSize:     int64(r.IntN(5)) - 1,
		Pending:      1 + r.IntN(20),
		WatchTimeout: time.Duration(1+r.IntN(60)) * time.Second,
		Backoff:      reflector.Backoff{Random: rand.New(rand.NewPCG(seed, 3)).Float64},
	})
	return l
}

func (l *life) run() {
	for range l.rand.IntN(30) {
		l.write()
	}
	if l.rand.IntN(2) == 0 {
		l.addHandler()
	}
	stop := run(l.t, l.inf)
	for range 100 {
		l.step()
	}
	l.quiet()
	l.check()
	stop()
}

func (l *life) step() {
	switch n := l.rand.IntN(100); {
	case n < 60:
		l.write()
	case n < 64:
		l.server.DropWatches()
	case n < 68:
		if err := l.server.Compact(l.server.ResourceVersion()); err != nil {
			l.t.Fatal(err)
		}
	case n < 74:
		l.fault()
	case n < 77:
		l.server.Bookmark()
	case n < 81:
		l.addHandler()
	case n < 84:
		if len(l.regs) > 0 {
			l.regs[l.rand.IntN(len(l.regs))].Remove()
		}
	case n < 96:
		time.Sleep(time.Duration(l.rand.IntN(5000)) * time.Millisecond)
	default:
		synctest.Wait()
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
	f := fake.Fault{Times: 1 + l.rand.IntN(3), Skip: l.rand.IntN(2)}
	if l.rand.IntN(2) == 0 {
		f.Verb = fake.VerbWatch
	} else {
		f.Verb = fake.VerbList
	}
	switch l.rand.IntN(6) {
	case 0:
		f.Status = fake.Refusal(429, metav1.StatusReasonTooManyRequests, 1+l.rand.IntN(3))
	case 1:
		f.Status = fake.Refusal(500, metav1.StatusReasonInternalError, 0)
	case 2:
		f.Status = fake.Refusal(403, metav1.StatusReasonForbidden, 0)
	case 3:
		f.Status = fake.Refusal(410, metav1.StatusReasonExpired, 0)
	case 4:
		f.CutEvents = 1 + l.rand.IntN(4)
	case 5:
		f.Verb, f.Silent = fake.VerbWatch, true
	}
	if err := l.server.Inject(f); err != nil {
		l.t.Fatal(err)
	}
}

// addHandler adds one that checks all it sees, and that takes its time for some.
func (l *life) addHandler() {
	h := newHistory(l.inf)
	slow, r := l.rand.IntN(3) == 0, rand.New(rand.NewPCG(l.rand.Uint64(), 2))
	reg := must1(l.inf.AddHandler(informer.HandlerFunc[key, *widget](func(ev informer.Event[key, *widget]) {
		h.Handle(ev)
		if slow && r.IntN(4) == 0 {
			time.Sleep(time.Duration(r.IntN(1000)) * time.Millisecond)
		}
	})))(l.t)
	l.histories = append(l.histories, h)
	l.names = append(l.names, fmt.Sprint("handler ", len(l.histories)))
	l.regs = append(l.regs, reg)
}

// quiet ends the faults and lets everything catch up. A hung watch ends with its timeout.
func (l *life) quiet() {
	l.server.ClearFaults()
	time.Sleep(time.Hour)
	synctest.Wait()
}

func (l *life) check() {
	l.t.Helper()
	diff, err := fake.Diff(l.server, fake.Selection{}, l.inf.Store().Values())
	if err != nil || diff != "" {
		l.t.Errorf("the store is not the server's list (-server +store): %v\n%s", err, diff)
	}
	l.checkIndex()
	for n, h := range l.histories {
		if isClosed(l.regs[n].Done()) {
			h.checkEvents(l.t, l.names[n])
			continue
		}
		h.check(l.t, l.names[n])
		if !isClosed(l.regs[n].Synced()) {
			l.t.Errorf("%s is not synced", l.names[n])
		}
	}
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
