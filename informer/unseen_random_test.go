package informer_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/longtest"
)

// TestRandomlyUnseen: of every object that reads have shown, after this process wrote it, a handler
// hears something later. Whatever happens meanwhile, no object comes back after its end.
func TestRandomlyUnseen(t *testing.T) {
	n := longtest.N[uint64](40, 5_000)
	if testing.Short() {
		n = 50
	}
	for seed := *firstSeed; seed < *firstSeed+n; seed++ {
		if !t.Run(fmt.Sprint("seed", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { (&unseenLife{life: newLife(t, seed), ended: map[types.UID]bool{}}).run() })
		}) {
			return
		}
	}
}

// unseenLife is one random schedule, with the steps of life and own writes.
type unseenLife struct {
	*life
	shown []sight

	mu    sync.Mutex
	heard []informer.Event[key, *widget]
	ended map[types.UID]bool
}

// sight is an object that a read has shown when the handler had got as many events as heard says.
type sight struct {
	key   key
	uid   types.UID
	heard int
}

func (l *unseenLife) run() {
	must1(l.inf.AddHandler(informer.HandlerFunc[key, *widget](l.hear), handlerOptions{}))(l.t)
	all := l.newMember()
	all.reg = must1(l.inf.AddHandler(all.history, handlerOptions{Name: all.name}))(l.t)
	l.handlers = l.handlers[:0] // so that it is not removed
	l.stop = run(l.t, l.inf)
	for range 100 {
		if l.rand.IntN(3) == 0 {
			l.own()
		} else {
			l.step()
		}
	}
	l.quiet()
	all.check(l.t, all.name)
	for _, s := range l.shown {
		if !l.toldAfter(s) {
			l.t.Errorf("a read has shown %v with uid %s, and no event came after that; the handler got %d events before", s.key, s.uid, s.heard)
		}
	}
	l.stop()
	l.loops.Wait()
}

func (l *unseenLife) hear(ev informer.Event[key, *widget]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heard = append(l.heard, ev)
	if ev.Type != informer.Deleted && l.ended[ev.Object.UID] {
		l.t.Errorf("%v with uid %s has come back: %v", ev.Key, ev.Object.UID, ev.Type)
	}
	if ev.Type == informer.Deleted || ev.Replaced {
		l.ended[ev.Old.UID] = true
	}
}

// own writes one of a few objects in the name of this process.
func (l *unseenLife) own() {
	k := key{Namespace: "a", Name: fmt.Sprint("w", l.rand.IntN(12))}
	l.mu.Lock()
	heard := len(l.heard)
	l.mu.Unlock()
	w, err := fake.Get[*widget](l.server, k)
	switch {
	case err != nil:
		w = must1(fake.Create(l.server, newWidget(k.Namespace, k.Name, "n1")))(l.t)
	case l.rand.IntN(3) == 0:
		gone := must1(fake.Delete[*widget](l.server, k))(l.t)
		_ = l.inf.RecordGone(k, gone.UID, gone.ResourceVersion) // an error if it does not run
		return
	default:
		w.Spec.Size++
		w = must1(fake.Update(l.server, w))(l.t)
	}
	if l.inf.RecordWrite(w, "") != nil {
		return
	}
	if got, ok := l.inf.Get(k); ok && got.UID == w.UID {
		l.shown = append(l.shown, sight{k, w.UID, heard})
	}
}

// toldAfter reports whether an event of the key came after a sight, or the handler knew the object.
func (l *unseenLife) toldAfter(s sight) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := false
	for n, ev := range l.heard {
		if ev.Key != s.key {
			continue
		}
		if n >= s.heard {
			return true
		}
		known = ev.Type != informer.Deleted && ev.Object.UID == s.uid
	}
	return known
}
