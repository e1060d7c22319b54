package reflector

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/internal/longtest"
)

// past is a server of courses with a history, which can be restored. Its lists select by name.
type past struct {
	*courses
	present // guarded by courses.mu
}

// present is the state of such a server.
type present struct {
	archive
	swallows bool // watches bring nothing
	restores int
}

func (s *past) look() present {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.present
}

func (s *past) change(do func(*present)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do(&s.present)
}

// archive is what a server has stored. Nobody writes to its parts in place.
type archive struct {
	objects map[string]metaObject
	log     []Event[metaObject]
	at      int
}

// write changes or deletes the object with the name.
func (h *archive) write(name string, gone bool) {
	old := h.objects[name]
	if gone && old == nil {
		return
	}
	h.at++
	v := strconv.Itoa(h.at)
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name + v), ResourceVersion: v}}
	ev := Event[metaObject]{Type: Added, Object: o, ResourceVersion: v}
	if old != nil {
		o.UID, ev.Type = old.UID, Modified
	}
	h.objects = maps.Clone(h.objects)
	if h.objects[name] = o; gone {
		ev.Type = Deleted
		delete(h.objects, name)
	}
	h.log = append(slices.Clip(h.log), ev)
}

func (s *past) List(ctx context.Context, opts metav1.ListOptions, yield func(Event[metaObject], error) bool) (metav1.ListMeta, error) {
	a := AttemptOf(ctx)
	a.Send()
	a.Connected(nil)
	a.Answered()
	if opts.Limit == 1 && s.check != "" {
		return metav1.ListMeta{}, failure(s.check, 0)
	}
	a.Accepted()
	now := s.look()
	if from, _ := strconv.Atoi(opts.ResourceVersion); from > now.at {
		return metav1.ListMeta{}, failure("too-large", 0)
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(opts.FieldSelector, "metadata.name="), ",")
	for _, o := range now.objects {
		if (name == "" || name == o.Name) && !yield(Event[metaObject]{Type: Added, Object: o, ResourceVersion: o.ResourceVersion}, nil) {
			return metav1.ListMeta{}, ErrListStopped
		}
	}
	return metav1.ListMeta{ResourceVersion: strconv.Itoa(now.at)}, nil
}

func (s *past) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[Event[metaObject], error] {
	return func(yield func(Event[metaObject], error) bool) {
		c, err := s.accept(ctx)
		if err != nil {
			yield(Event[metaObject]{}, err)
			return
		}
		from, _ := strconv.Atoi(opts.ResourceVersion)
		for end, restores := time.Now().Add(c.lasts), s.look().restores; time.Now().Before(end); {
			now := s.look()
			if now.restores != restores {
				yield(Event[metaObject]{}, failure("eof", 0))
				return
			}
			for _, ev := range now.log {
				if n, _ := strconv.Atoi(ev.ResourceVersion); n > from && !now.swallows {
					if from = n; !yield(ev, nil) {
						return
					}
				}
			}
			select {
			case <-ctx.Done():
				yield(Event[metaObject]{}, ctx.Err())
				return
			case <-time.After(min(time.Second, time.Until(end))):
			}
		}
		if c.err != "" {
			yield(Event[metaObject]{}, failure(c.err, 0))
		}
	}
}

// mirror is a sink into which only newer states of a key enter, unless the reflector says that the server may
// have been restored.
type mirror struct {
	sink[metaObject]
	has, listed map[string]metaObject
	rewound     bool
}

func (m *mirror) Listed(_ context.Context, ev Event[metaObject]) error {
	if m.listed == nil {
		m.listed = map[string]metaObject{}
	}
	m.listed[ev.Object.Name] = ev.Object
	return nil
}

func (m *mirror) Replace(context.Context, string) error {
	has := map[string]metaObject{}
	for name, o := range m.listed {
		if has[name] = o; m.rewound {
			continue
		}
		if old := m.has[name]; old != nil && old.UID == o.UID && isOlder(o.ResourceVersion, old.ResourceVersion) {
			has[name] = old
		}
	}
	m.has, m.listed, m.rewound = has, nil, false
	return nil
}

func (m *mirror) Discard()     { m.listed = nil }
func (m *mirror) Rewound(bool) { m.rewound = true }

func (m *mirror) Apply(_ context.Context, ev Event[metaObject]) error {
	switch {
	case ev.Type == Bookmark:
	case ev.Type == Deleted:
		delete(m.has, ev.Object.Name)
	default:
		m.has[ev.Object.Name] = ev.Object
	}
	return nil
}

// contents are the names, uids and versions of objects.
func contents(objects map[string]metaObject) string {
	var all []string
	for name, o := range objects {
		all = append(all, fmt.Sprint(name, " ", o.UID, " ", o.ResourceVersion))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// TestNoRestoreHidesInSilence: a server loses its newest writes and overtakes the newest version seen, while
// watches end early or fail, and bring something or nothing. In the end the sink is right.
func TestNoRestoreHidesInSilence(t *testing.T) {
	for seed := range uint64(longtest.N(50, 1500)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random, script := rand.New(rand.NewPCG(seed, 5)), rand.New(rand.NewPCG(seed, 6))
				pick := func(words ...string) string { return words[random.IntN(len(words))] }
				kinds := make([]course, 1+random.IntN(3))
				for k := range kinds {
					limit := []time.Duration{time.Second, 5 * time.Second, 40 * time.Second, 110 * time.Second}[random.IntN(4)]
					kinds[k] = course{lasts: 1 + time.Duration(random.Int64N(int64(limit)))}
					switch random.IntN(4) {
					case 0:
						kinds[k].err = pick("eof", "internal", "unavailable", "http2")
					case 1:
						kinds[k].refused = pick("busy", "unavailable", "internal")
					default: // a list follows two in a row that end at once and in order, without a check
						kinds[k].lasts += time.Second
					}
				}
				s := &past{courses: &courses{breaker: new(Breaker), next: func(n int) course {
					if n == 0 {
						return course{lasts: time.Minute}
					}
					return kinds[random.IntN(len(kinds))]
				}}, present: present{archive: archive{at: 100, objects: map[string]metaObject{}}}}
				for k := range 3 {
					s.write(fmt.Sprint("o", k), false)
				}
				to := &mirror{has: map[string]metaObject{}}
				r, err := New[metaObject](s, to, Options{Tuning: listsOnly, OnError: func(error) {}})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
				defer cancel()
				ended := make(chan error)
				go func() { ended <- r.Run(ctx) }()
				time.Sleep(10 * time.Second)
				writes := func(n int) {
					for range n {
						s.change(func(now *present) { now.write(fmt.Sprint("o", script.IntN(4)), script.IntN(5) == 0) })
						time.Sleep(time.Second)
					}
				}
				writes(script.IntN(4))
				backup := s.look().archive
				writes(script.IntN(4))
				s.change(func(now *present) { now.write("last", false) }) // a deletion would leave nothing to ask for
				time.Sleep(time.Minute)
				s.change(func(now *present) { now.swallows = true })
				time.Sleep(4*time.Minute + time.Duration(script.Int64N(int64(20*time.Minute))))
				var seen string
				s.change(func(now *present) {
					if seen = r.Stats().SeenVersion; seen != strconv.Itoa(now.at) {
						seen = ""
					}
					for now.archive = backup; now.at < 130; {
						now.write(fmt.Sprint("z", script.IntN(3)), false)
					}
					now.restores++
					now.swallows = script.IntN(2) == 0
				})
				<-ctx.Done()
				if err := <-ended; err != nil {
					t.Error(err)
				}
				if got, want := contents(to.has), contents(s.objects); seen != "" && got != want {
					t.Errorf("restored at %d, %s seen, watches %+v: the sink has\n%s\nand the server\n%s\n%+v", backup.at, seen, kinds, got, want, r.Stats().Relists)
				}
			})
		})
	}
}
