package reflector_test

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/internal/objid"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
)

type object = metav1.PartialObjectMetadata

// TestRandomRestores puts servers back to a backup that then overtake what a reflector has
// seen, and cannot repeat its events: because there were none since the list, or because the
// server has compacted them. The sink must have the server's objects, unless one of the
// objects that the reflector knew is as it was: then the backup may be newer than that object.
func TestRandomRestores(t *testing.T) {
	for _, idle := range []bool{true, false} {
		told, unknown := 0, 0
		for seed := range uint64(150) {
			t.Run(fmt.Sprintf("idle=%v/%d", idle, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					if restoreAtRandom(t, rand.New(rand.NewPCG(seed, 14)), idle) {
						told++
					} else {
						unknown++
					}
				})
			})
		}
		if told == 0 || unknown == 0 {
			t.Errorf("idle %v: %d restores that a known object tells, %d others", idle, told, unknown)
		}
	}
}

// restoreAtRandom reports whether a known object told of the restore.
func restoreAtRandom(t *testing.T, rng *rand.Rand, idle bool) bool {
	server, inner := widgetServer(t)
	src, sink := &gatedSource{Source: inner, mu: new(sync.Mutex)}, &keptObjects{}
	r, err := reflector.New(reflector.Source[*object](src), reflector.Sink[*object](sink),
		reflector.Options{Tuning: reflector.Tuning{DisableWatchList: rng.IntN(2) == 0}, OnError: func(error) {}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	begin := func() {
		go func() { ended <- r.Run(ctx) }()
		synctest.Wait()
	}

	write(t, server, rng, 10)
	if !idle {
		begin()
	}
	write(t, server, rng, rng.IntN(5))
	backup := server.Backup()
	write(t, server, rng, 1+rng.IntN(8))
	if idle {
		begin()
	}
	synctest.Wait()
	known := sink.witnesses()
	seen := number(t, server)

	src.mu.Lock()
	if err := server.Restore(backup); err != nil {
		t.Fatal(err)
	}
	for write(t, server, rng, 1+rng.IntN(3)); number(t, server) < seen; write(t, server, rng, 1) {
		if rng.IntN(3) == 0 {
			server.JumpResourceVersion(1)
		}
	}
	if !idle {
		if err := server.Compact(strconv.Itoa(seen)); err != nil {
			t.Fatal(err)
		}
	}
	now := contents(t, server)
	src.mu.Unlock()

	for key, version := range known {
		if now[key] == version {
			cancel()
			<-ended
			return false
		}
	}
	for range 2 {
		time.Sleep(30 * time.Second)
		if diff := cmp.Diff(contents(t, server), sink.all()); diff != "" {
			t.Errorf("the sink (-server +sink), %+v:\n%s", r.Stats(), diff)
		}
		write(t, server, rng, 3)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	return true
}

func number(t *testing.T, server *fake.Server) int {
	n, err := strconv.Atoi(server.ResourceVersion())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// contents are the versions of the server's objects.
func contents(t *testing.T, server *fake.Server) map[types.NamespacedName]string {
	list, err := fake.List[*object](server, fake.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	all := map[types.NamespacedName]string{}
	for _, o := range list {
		all[types.NamespacedName{Namespace: o.Namespace, Name: o.Name}] = version(o)
	}
	return all
}

func version(o *object) string { return string(o.UID) + " " + o.ResourceVersion }

// write makes n random writes that change something.
func write(t *testing.T, server *fake.Server, rng *rand.Rand, n int) {
	t.Helper()
	for range n {
		key := types.NamespacedName{Namespace: "n", Name: string(rune('a' + rng.IntN(6)))}
		o, err := fake.Get[*object](server, key)
		switch {
		case err != nil:
			o = &object{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
			_, err = fake.Create(server, o)
		case rng.IntN(3) == 0:
			_, err = fake.Delete[*object](server, key)
		default:
			o.Labels = map[string]string{"n": strconv.Itoa(rng.Int())}
			_, err = fake.Update(server, o)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// widgetServer returns a server of widgets, and its source of all of them.
func widgetServer(t *testing.T) (*fake.Server, *fake.Source[*object]) {
	t.Helper()
	server := fake.New(fake.Options{})
	if err := fake.Register(server, kind.Of[*object](schema.GroupVersion{Group: "example.com", Version: "v1"}, "widgets").Named("Widget"), fake.Rules{}); err != nil {
		t.Fatal(err)
	}
	source, err := fake.NewSource[*object](server, fake.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	return server, source
}

// gatedSource answers nothing while mu is held.
type gatedSource struct {
	*fake.Source[*object]
	mu *sync.Mutex
}

// Relist serves reflectors: relists pass the gate too.
func (s *gatedSource) Relist(self reflector.Source[*object], known func(objid.Identity) bool) reflector.Source[*object] {
	return &gatedSource{s.Source.Relist(s.Source, known).(*fake.Source[*object]), s.mu}
}

func (s *gatedSource) pass() {
	s.mu.Lock()
	defer s.mu.Unlock()
}

func (s *gatedSource) List(ctx context.Context, opts metav1.ListOptions, yield func(reflector.Event[*object], error) bool) (metav1.ListMeta, error) {
	s.pass()
	return s.Source.List(ctx, opts, yield)
}

func (s *gatedSource) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[reflector.Event[*object], error] {
	s.pass()
	return s.Source.Watch(ctx, opts)
}

// keptObjects is a sink with the objects of the collection, and with the newest events.
type keptObjects struct {
	mu     sync.Mutex
	list   map[types.NamespacedName]reflector.Event[*object]
	held   map[types.NamespacedName]reflector.Event[*object]
	events []reflector.Event[*object]
}

func (s *keptObjects) Listed(_ context.Context, ev reflector.Event[*object]) error {
	key := types.NamespacedName{Namespace: ev.Object.Namespace, Name: ev.Object.Name}
	if s.list == nil {
		s.list = map[types.NamespacedName]reflector.Event[*object]{}
	}
	if s.list[key] = ev; ev.Type == reflector.Deleted {
		delete(s.list, key)
	}
	return nil
}

// Lookup serves reflectors.
func (s *keptObjects) Lookup() func(objid.Identity) (*object, bool) {
	s.mu.Lock()
	held := maps.Clone(s.held)
	s.mu.Unlock()
	return func(id objid.Identity) (*object, bool) {
		ev, ok := held[id.NamespacedName]
		ok = ok && ev.Object.UID == id.UID && ev.ResourceVersion == id.ResourceVersion
		return ev.Object, ok
	}
}

func (s *keptObjects) Skipped(*reflector.ObjectError) {}
func (s *keptObjects) Discard()                       { s.list = nil }

func (s *keptObjects) Replace(context.Context, string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held, s.list, s.events = s.list, nil, nil
	return nil
}

func (s *keptObjects) Apply(_ context.Context, ev reflector.Event[*object]) error {
	if ev.Type == reflector.Bookmark {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		s.held = map[types.NamespacedName]reflector.Event[*object]{}
	}
	key := types.NamespacedName{Namespace: ev.Object.Namespace, Name: ev.Object.Name}
	if s.held[key] = ev; ev.Type == reflector.Deleted {
		delete(s.held, key)
	}
	s.events = append(s.events, ev)
	return nil
}

func (s *keptObjects) all() map[types.NamespacedName]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[types.NamespacedName]string{}
	for key, ev := range s.held {
		all[key] = version(ev.Object)
	}
	return all
}

// witnesses are the objects of the newest events, or the newest of the list.
func (s *keptObjects) witnesses() map[types.NamespacedName]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := map[types.NamespacedName]string{}
	if len(s.events) > 0 {
		for _, ev := range s.events[max(0, len(s.events)-4):] {
			key := types.NamespacedName{Namespace: ev.Object.Namespace, Name: ev.Object.Name}
			if held, ok := s.held[key]; ok {
				known[key] = version(held.Object)
			}
		}
		return known
	}
	newest := -1
	for key, ev := range s.held {
		if n, err := strconv.Atoi(ev.ResourceVersion); err == nil && n > newest {
			newest = n
			known = map[types.NamespacedName]string{key: version(ev.Object)}
		}
	}
	return known
}
