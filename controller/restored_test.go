package controller_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/longtest"
	"github.com/kinform/kinform/reflector"
)

// TestRandomRestores runs random schedules of writes through a handle and by others while the server is restored
// to earlier backups and gives its versions out again. The watch and the answers to writes may come late, so that
// writes of a lost history are ahead of the watch, or recorded after the restore. A server that goes on, as each
// does, says what there is: minutes later the cache has exactly that.
//
// In every other schedule, there are several restores, the history is lost, and the informer is restarted. Then a
// restore may go unnoticed (package reflector), and what there is comes with the next list. In the others there is
// one restore, and the first write after it makes an object which nobody has seen, so no list is needed.
func TestRandomRestores(t *testing.T) {
	for seed := range longtest.N[uint64](200, 10_000) {
		synctest.Test(t, func(t *testing.T) { newRestored(t, seed).live() })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// restored is one random schedule.
type restored struct {
	t       *testing.T
	dice    *rand.Rand
	once    bool // there is one restore, and no list is needed
	server  *fake.Server
	line    *lateLine
	h       *controller.Handle[*gadget]
	stop    func()
	backups []*fake.Backup // of the present history, the newest last
	before  bool           // nothing was written since the restore
	ever    bool           // there was a restore
	answers sync.WaitGroup
	written int

	mu  sync.Mutex
	log []string
}

func newRestored(t *testing.T, seed uint64) *restored {
	r := &restored{t: t, dice: rand.New(rand.NewPCG(seed, 83)), once: seed%2 == 0}
	r.server, _ = setup(t)
	r.line = &lateLine{next: r.server.Client().Transport}
	jitter := r.dice.Float64()
	opts := controller.OpenOptions[*gadget]{Informer: informer.Options[*gadget]{
		OnError: func(err error) { r.note("OnError: %v", err) },
		Reflector: reflector.Tuning{
			DisableWatchList: r.dice.IntN(2) == 0, Backoff: reflector.Backoff{Random: func() float64 { return jitter }},
		},
	}}
	if r.once {
		opts.Informer.Reflector.WatchTimeout = 24 * time.Hour // a watch that ended at its time asks for no history
	}
	if r.dice.IntN(3) == 0 {
		opts.Namespaces = informer.NewNamespaces("a", "b")
	}
	r.h = controller.Open(client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: r.line}}, gadgetKind, opts)
	return r
}

func (r *restored) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := fmt.Sprintf("%s server at %s, cache at %s: ", time.Now().Format("04:05.000"), r.server.ResourceVersion(), r.h.AsInformer().Store().ResourceVersion())
	r.log = append(r.log, at+fmt.Sprintf(format, args...))
}

func (r *restored) live() {
	r.stop = started(r.t, r.h.Run)
	for range 10 + r.dice.IntN(31) {
		r.step()
		r.pause()
	}
	r.line.hold(false)
	r.server.ClearFaults()
	r.answers.Wait()
	r.server.JumpResourceVersion(100) // more than a history has
	if !r.once {
		ok(r.t, r.server.Compact(r.server.ResourceVersion()))
		r.server.DropWatches()
	}
	r.goOn()
	r.compare()
	r.stop()
	if r.t.Failed() {
		r.t.Log(strings.Join(r.log, "\n"))
	}
}

// goOn is what goes on in a cluster: other resources are written, and bookmarks tell.
func (r *restored) goOn() {
	for range 15 {
		r.server.JumpResourceVersion(1)
		r.server.Bookmark()
		time.Sleep(time.Minute)
	}
	synctest.Wait()
}

func (r *restored) compare() {
	want, got := map[string]*gadget{}, map[string]*gadget{}
	for _, g := range done(fake.List[*gadget](r.server, fake.Selection{})) {
		want[g.Name] = g
	}
	for _, g := range r.h.List("", nil) {
		got[g.Name] = g
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.t.Errorf("the cache (-server +cache):\n%s", diff)
	}
}

func (r *restored) pause() {
	switch r.dice.IntN(6) {
	case 0:
		time.Sleep(time.Duration(r.dice.IntN(3000)) * time.Millisecond)
	case 1:
		time.Sleep(time.Duration(r.dice.IntN(30)) * time.Second)
	case 2:
		time.Sleep(time.Duration(r.dice.IntN(120)) * time.Second)
	}
	synctest.Wait()
}

func (r *restored) step() {
	switch n := r.dice.IntN(90); {
	case n < 30:
		r.own()
	case n < 50:
		r.foreign()
	case n < 58:
		r.note("backup")
		r.backups = append(r.backups, r.server.Backup())
	case n < 68:
		r.restore()
	case n < 78:
		late := r.dice.IntN(2) == 0
		r.note("hold %v", late)
		r.line.hold(late)
		if r.once {
			time.AfterFunc(time.Minute, func() { r.line.hold(false) }) // before it is idle, or a list follows
		}
	case n < 82:
		r.note("drop")
		r.server.DropWatches()
	case n < 83:
		r.note("jump")
		r.server.JumpResourceVersion(r.dice.IntN(8))
	case n < 85:
		r.note("catch up: %v", r.catchUp())
	case r.once:
		r.note("bookmark")
		r.server.Bookmark()
	case n < 87:
		r.note("silence")
		ok(r.t, r.server.Inject(faults.Fault{Verb: faults.VerbWatch, Silent: true, After: r.dice.IntN(3)}))
		r.server.DropWatches()
	case n < 88:
		ok(r.t, r.server.Compact(r.server.ResourceVersion()))
	default:
		r.note("restart")
		r.line.hold(false)
		r.stop()
		r.stop = started(r.t, r.h.Run)
	}
}

func (r *restored) catchUp() error {
	ctx, cancel := context.WithTimeout(r.t.Context(), 10*time.Second)
	defer cancel()
	return r.h.CatchUp(ctx)
}

// restore puts the server back to one of the backups. The others are of what is lost then.
func (r *restored) restore() {
	if len(r.backups) == 0 || r.once && r.ever {
		return
	}
	n := r.dice.IntN(len(r.backups))
	ok(r.t, r.server.Restore(r.backups[n]))
	r.backups, r.ever, r.before = r.backups[:n+1], true, true
	r.note("restored")
}

// next returns what to write next, and to which object.
func (r *restored) next() (k key, owner string) {
	if r.written++; r.once && r.before {
		create(r.t, r.server, newGadget("new", ""))
	}
	r.before = false
	return key{Namespace: "a", Name: fmt.Sprint("k", r.dice.IntN(3))}, fmt.Sprint("v", r.written)
}

// own writes through the handle. The answer may come late.
func (r *restored) own() {
	k, owner := r.next()
	kind, late := r.dice.IntN(5), time.Duration(max(0, r.dice.IntN(200)-140))*time.Second
	cached, has := r.h.Cached(k)
	if kind == 1 && !has {
		return
	}
	r.line.delay(late)
	r.answers.Go(func() {
		ctx, cancel := context.WithTimeout(r.t.Context(), 5*time.Minute)
		defer cancel()
		var err error
		switch kind {
		case 0:
			_, err = r.h.Create(ctx, newGadget(k.Name, owner), metav1.CreateOptions{})
		case 1:
			g := cached.DeepCopy()
			g.Owner = owner
			_, err = r.h.Update(ctx, g, metav1.UpdateOptions{})
		case 2:
			_, err = r.h.Patch(ctx, k, types.MergePatchType, fmt.Appendf(nil, `{"owner":%q}`, owner), metav1.PatchOptions{})
		case 3:
			err = r.h.Delete(ctx, k, metav1.DeleteOptions{})
		default:
			_, _, err = controller.CreateOrUpdate(ctx, r.h, newGadget(k.Name, ""), func(g *gadget) error {
				g.Owner = owner
				return nil
			})
		}
		r.note("own %s %s of %s, %v later: %v", []string{"create", "update", "patch", "delete", "create or update"}[kind], owner, k.Name, late, err)
	})
	synctest.Wait()
}

// foreign is a write of somebody else.
func (r *restored) foreign() {
	k, owner := r.next()
	g, err := fake.Get[*gadget](r.server, k)
	switch {
	case err != nil:
		create(r.t, r.server, newGadget(k.Name, owner))
	case r.dice.IntN(3) == 0:
		done(fake.Delete[*gadget](r.server, k))
	default:
		g.Owner = owner
		done(fake.Update(r.server, g))
	}
	r.note("foreign %s of %s", owner, k.Name)
}

// lateLine is a transport whose watches can be held up, and that brings the answer to a write late.
type lateLine struct {
	next http.RoundTripper

	mu   sync.Mutex
	held chan struct{} // closed when the watches go on; nil if they do
	late time.Duration // of the next answer to a write
}

func (l *lateLine) hold(held bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case held && l.held == nil:
		l.held = make(chan struct{})
	case !held && l.held != nil:
		close(l.held)
		l.held = nil
	}
}

func (l *lateLine) delay(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.late = d
}

func (l *lateLine) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := l.next.RoundTrip(r)
	switch {
	case err != nil:
	case r.Method != http.MethodGet:
		l.mu.Lock()
		late := l.late
		l.late = 0
		l.mu.Unlock()
		time.Sleep(late)
	case r.URL.Query().Has("watch"):
		answer.Body = &lateBody{answer.Body, l, r.Context()}
	}
	return answer, err
}

// lateBody is the body of a watch.
type lateBody struct {
	io.ReadCloser
	line *lateLine
	ctx  context.Context
}

func (b *lateBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.line.mu.Lock()
	held := b.line.held
	b.line.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-b.ctx.Done():
		}
	}
	return n, err
}
