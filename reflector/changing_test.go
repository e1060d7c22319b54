package reflector

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/internal/longtest"
	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/internal/picking"
)

// names is a set of names, each of one letter.
type names string

func (n names) has(o metaObject) bool { return strings.Contains(string(n), o.Name) }

// without returns the names that are not in the other set.
func (n names) without(other names) names {
	return names(slices.DeleteFunc([]byte(n), func(b byte) bool { return strings.IndexByte(string(other), b) >= 0 }))
}

// choice is a selection by names. The server does not select.
type choice struct {
	mu                                   sync.Mutex
	wanted, asked, before, keeps, listed names
	changed                              func(less bool) error
}

var _ picking.Selector[metaObject] = (*choice)(nil)

// set changes the selection.
func (c *choice) set(wanted names) error {
	c.mu.Lock()
	kept := c.keeps.without(c.keeps.without(wanted))
	less := kept != c.keeps
	c.wanted, c.keeps, c.listed = wanted, kept, c.listed.without(c.listed.without(wanted))
	changed := c.changed
	c.mu.Unlock()
	return changed(less)
}

// locked does something with the lock held.
func (c *choice) locked(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do()
}

func (c *choice) Follow(changed func(less bool) error, _ func(context.Context) error) (func(), error) {
	c.changed = changed
	return func() {}, nil
}

func (c *choice) Begin() bool {
	c.locked(func() { c.keeps, c.asked = c.wanted, c.wanted })
	return c.asked != ""
}

func (c *choice) Listed()  { c.locked(func() { c.listed, c.before = c.keeps, c.asked }) }
func (c *choice) Dropped() { c.locked(func() { c.asked = c.before }) }

func (c *choice) Due() (due bool) {
	c.locked(func() { due = c.wanted.without(c.listed) != "" })
	return due
}

func (c *choice) Request(*metav1.ListOptions)        {}
func (c *choice) CheckList(metav1.ListMeta) error    { return nil }
func (c *choice) Asked(obj metaObject) (bool, error) { return c.asked.has(obj), nil }
func (c *choice) Selects(obj metaObject) (selects bool) {
	c.locked(func() { selects = c.keeps.has(obj) })
	return selects
}

// chosen is a sink of what a choice selects.
type chosen struct {
	mirror
	mu   sync.Mutex
	by   *choice
	late time.Duration // of Prune
}

func (s *chosen) Replace(ctx context.Context, rv string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.mirror.Replace(ctx, rv)
	s.drop()
	return err
}

func (s *chosen) Apply(ctx context.Context, ev Event[metaObject]) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.drop()
	return s.mirror.Apply(ctx, ev)
}

func (s *chosen) Prune(context.Context) error {
	time.Sleep(s.late)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop()
	return nil
}

func (s *chosen) Flush(context.Context) error { return nil }

// drop forgets what is not selected. Called with the lock held.
func (s *chosen) drop() {
	for name, o := range s.has {
		if !s.by.Selects(o) {
			delete(s.has, name)
		}
	}
}

// contents are the sink's contents.
func (s *chosen) contents() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return contents(s.has)
}

// slow is a server whose lists take a second, and fail while fails is set, unless they are of one object.
type slow struct {
	*past
	fails string // the word of a failure; guarded by past.mu
}

func (s *slow) List(ctx context.Context, opts metav1.ListOptions, yield func(Event[metaObject], error) bool) (metav1.ListMeta, error) {
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return metav1.ListMeta{}, ctx.Err()
	}
	s.mu.Lock()
	fails := s.fails
	s.mu.Unlock()
	if fails != "" && opts.Limit != 1 {
		return metav1.ListMeta{}, failure(fails, 0)
	}
	return s.past.List(ctx, opts, yield)
}

// selected are the contents of the server that the names select.
func (s *slow) selected(by names) string {
	all := map[string]metaObject{}
	for name, o := range s.look().objects {
		if by.has(o) {
			all[name] = o
		}
	}
	return contents(all)
}

// pick runs a reflector of what a choice selects of a source, until the test's function returns.
func pick(t *testing.T, src Source[metaObject], onError func(error), test func(*choice, *chosen, *Reflector[metaObject])) {
	by := new(choice)
	to := &chosen{mirror: mirror{has: map[string]metaObject{}}, by: by}
	r, err := New(Select(src, picking.Selector[metaObject](by)), Sink[metaObject](to), Options{Tuning: listsOnly, OnError: onError})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- r.Run(ctx) }()
	synctest.Wait()
	test(by, to, r)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// sixObjects is a server with the objects a to f.
func sixObjects(watch course) *slow {
	server := &slow{past: &past{
		courses: &courses{breaker: new(Breaker), next: func(int) course { return watch }},
		present: present{archive: archive{at: 100, objects: map[string]metaObject{}}},
	}}
	for _, name := range "abcdef" {
		server.write(string(name), false)
	}
	return server
}

// fail makes lists fail with a word from now on, or work if it is empty.
func (s *slow) fail(word string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails = word
}

// choose is pick of sixObjects, of which no report may say that they were restored.
func choose(t *testing.T, watch course, test func(*slow, *choice, *chosen, *Reflector[metaObject])) {
	synctest.Test(t, func(t *testing.T) {
		server := sixObjects(watch)
		notRestored := func(err error) {
			if errors.Is(err, ErrRestored) {
				t.Error(err)
			}
		}
		pick(t, server, notRestored, func(by *choice, to *chosen, r *Reflector[metaObject]) { test(server, by, to, r) })
	})
}

// TestSelectionFollowsChanges: whatever fails while the selection and the server's objects change, the sink
// never has an object outside of the selection, and in the end it has all that are in it.
func TestSelectionFollowsChanges(t *testing.T) {
	for seed := range uint64(longtest.N(100, 3000)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 71))
			watch := course{lasts: []time.Duration{asAsked, time.Second, 20 * time.Second}[random.IntN(3)], err: []string{"", "eof"}[random.IntN(2)]}
			choose(t, watch, func(server *slow, by *choice, to *chosen, r *Reflector[metaObject]) {
				to.late = time.Duration(random.IntN(2)) * 100 * time.Millisecond
				for range 60 {
					switch random.IntN(5) {
					case 0, 1:
						var wanted names
						for _, name := range "abcdef" {
							if random.IntN(2) == 0 {
								wanted += names(name)
							}
						}
						if err := by.set(wanted); err != nil {
							t.Fatal(err)
						}
					case 2:
						server.fail([]string{"", "unavailable", "busy", "eof"}[random.IntN(4)])
					default:
						server.change(func(now *present) { now.write(string("abcdef"[random.IntN(6)]), random.IntN(4) == 0) })
					}
					to.mu.Lock()
					for name := range to.has {
						if !strings.Contains(string(by.wanted), name) {
							t.Errorf("the sink has %s, and %q is selected", name, by.wanted)
						}
					}
					to.mu.Unlock()
					time.Sleep(time.Duration(random.Int64N(int64(3 * time.Second))))
				}
				server.fail("")
				time.Sleep(5 * time.Minute)
				if got, want := to.contents(), server.selected(by.wanted); got != want {
					t.Errorf("the sink has\n%s\nand of %q the server has\n%s\n%+v", got, by.wanted, want, r.Stats().Relists)
				}
			})
		})
	}
}

// TestSelectionGetsLess: that costs no request, and the watch goes on.
func TestSelectionGetsLess(t *testing.T) {
	choose(t, course{lasts: time.Hour}, func(server *slow, by *choice, to *chosen, r *Reflector[metaObject]) {
		if err := by.set("abc"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		before := r.Stats()
		for _, wanted := range []names{"ab", "a"} {
			if err := by.set(wanted); err != nil {
				t.Fatal(err)
			}
			server.change(func(now *present) { now.write("a", false); now.write("b", false) })
			time.Sleep(5 * time.Second)
			if got, want := to.contents(), server.selected(wanted); got != want {
				t.Errorf("%q: the sink has %s, want %s", wanted, got, want)
			}
		}
		if after := r.Stats(); after.Lists != before.Lists || after.Watches != before.Watches {
			t.Errorf("%d lists and %d watches, before %d and %d", after.Lists, after.Watches, before.Lists, before.Watches)
		}
	})
}

// TestSelectionWatchesWhileListsFail: the list for what has come fails, and the watch for the rest goes on. If
// what has come leaves again, and lists work, nothing was lost.
func TestSelectionWatchesWhileListsFail(t *testing.T) {
	for _, word := range []string{"unavailable", "busy", "eof"} {
		fails := word
		choose(t, course{lasts: time.Hour}, func(server *slow, by *choice, to *chosen, r *Reflector[metaObject]) {
			if err := by.set("ab"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			for _, wanted := range []names{"abc", "ab"} {
				server.fail(fails)
				if err := by.set(wanted); err != nil {
					t.Fatal(err)
				}
				fails = "" // the checks of the server while lists failed may have left a doubt, which needs a list
				for range 10 {
					time.Sleep(20 * time.Second)
					server.change(func(now *present) { now.write("a", false); now.write("b", len(now.log)%2 == 0); now.write("c", false) })
					time.Sleep(5 * time.Second)
					if got, want := to.contents(), server.selected("ab"); got != want {
						t.Errorf("%s, %q: the sink has %s, want %s: %+v", word, wanted, got, want, r.Stats().Relists)
					}
				}
			}
			if n := r.Stats().Relists.Moved; n < 5 || n > 25 {
				t.Errorf("%s: %d lists in 250 s", word, n)
			}
			if err := by.set("bc"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			if got, want := to.contents(), server.selected("bc"); got != want {
				t.Errorf("%s: the sink has %s, want %s", word, got, want)
			}
		})
	}
}

// TestSelectionComesDuringAWait: what has come is listed at once, and does not wait for the end of a pause
// before the next watch.
func TestSelectionComesDuringAWait(t *testing.T) {
	choose(t, course{refused: "unavailable"}, func(server *slow, by *choice, to *chosen, r *Reflector[metaObject]) {
		if err := by.set("a"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		if err := by.set("ab"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2100 * time.Millisecond) // a list takes a second, and another one may be in progress
		if got, want := to.contents(), server.selected("ab"); got != want {
			t.Errorf("the sink has %s, want %s", got, want)
		}
	})
}

// TestSelectionNeedsAPruner: a sink that cannot give objects up is refused with the resource's name.
func TestSelectionNeedsAPruner(t *testing.T) {
	source := Select(Source[metaObject](&slow{past: &past{courses: new(courses)}}), picking.Selector[metaObject](new(choice)))
	if _, err := New(source, Sink[metaObject](&mirror{}), Options{}); !errors.Is(err, mistake.NoPruner) || !strings.HasPrefix(err.Error(), "pods: ") {
		t.Error(err)
	}
	if Select[metaObject](nil, new(choice)) != nil || Select(source, nil) != nil {
		t.Error("a source of nothing")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}
