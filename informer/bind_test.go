package informer_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/reflector"
)

func nodeOf(dst []string, w *widget) []string {
	if w.Spec.Node == "bad" {
		panic("bad node")
	}
	return append(dst, w.Spec.Node)
}

// withNodes runs an informer with an index of nodes that holds a/w at version 10.
func withNodes(t *testing.T, test func(src *live[*widget], inf *informer.Informer[key, *widget], byNode informer.Index[key, *widget, string])) {
	synctest.Test(t, func(t *testing.T) {
		src := &live[*widget]{object: at("w", 10), events: make(chan reflector.Event[*widget])}
		nodes := index.New("node", nodeOf)
		inf := newInformer(t, src, informer.Options[*widget]{
			Indexes: index.Of(nodes), OnError: ignore, Reflector: reflector.Tuning{DisableWatchList: true, IdleTimeout: -1},
		})
		byNode := informer.AddIndex(inf, nodes)
		stop := run(t, inf)
		test(src, inf, byNode)
		stop()
	})
}

func on(node string, w *widget) *widget {
	w.Spec.Node = node
	return w
}

// versionsOf returns what an index read found, in order, with versions.
func versionsOf(objs []*widget) string {
	var all []string
	for _, w := range objs {
		all = append(all, w.Name+"@"+w.ResourceVersion)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func TestIndexSeesOwnWrites(t *testing.T) {
	withNodes(t, func(src *live[*widget], inf *informer.Informer[key, *widget], byNode informer.Index[key, *widget, string]) {
		expect := func(when, n, m string) {
			t.Helper()
			if got := versionsOf(byNode.Get("n")); got != n {
				t.Errorf("%s: on n %q, want %q", when, got, n)
			}
			if got := versionsOf(byNode.Get("m")); got != m {
				t.Errorf("%s: on m %q, want %q", when, got, m)
			}
			if got, keys := byNode.Count("n"), byNode.Keys("n"); got != len(strings.Fields(n)) || len(keys) != got {
				t.Errorf("%s: %d on n, keys %v", when, got, keys)
			}
		}
		record := func(err error) {
			t.Helper()
			if err != nil {
				t.Error(err)
			}
		}
		w := key{Namespace: "a", Name: "w"}
		expect("listed", "w@10", "")
		record(inf.RecordWrite(at("new", 20), ""))
		expect("created", "new@20 w@10", "")
		record(inf.RecordWrite(on("m", at("w", 21)), ""))
		expect("moved", "new@20", "w@21")
		src.send(reflector.Modified, 15, at("w", 15))
		expect("somebody's change from before", "new@20", "w@21")
		src.send(reflector.Modified, 21, on("m", at("w", 21)))
		expect("caught up", "", "w@21")
		var broken *informer.PanicError
		if err := inf.RecordWrite(on("bad", at("w", 22)), ""); !errors.As(err, &broken) {
			t.Errorf("an object that the index cannot have: %v", err)
		}
		expect("refused", "", "w@21")
		record(inf.RecordGone(w, "uid", "22"))
		src.bookmark(30)
		expect("gone", "", "")
		src.send(reflector.Deleted, 31, on("m", at("w", 31)))
		src.send(reflector.Added, 32, at("w", 32))
		expect("made anew", "w@32", "")
	})
}

// What is wrong with an index is kept, and is the error of Run and of waits: no read and no add of it panics.
func TestAddIndexRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := index.New("node", nodeOf)
		inf := newInformer(t, &live[*widget]{object: at("w", 10)}, informer.Options[*widget]{Indexes: index.Of(nodes), OnError: ignore})
		if informer.AddIndex(inf, nodes); inf.Err() != nil {
			t.Errorf("the index of the options: %v", inf.Err())
		}
		twin := informer.AddIndex(inf, index.New("node", nodeOf))
		none := informer.AddIndex[key, *widget, string](inf, nil)
		blank := informer.AddIndex(inf, index.By[*widget, string]("blank", nil))
		lost := informer.AddIndex((*informer.Informer[key, *widget])(nil), nodes)
		for _, ix := range []informer.Index[key, *widget, string]{twin, none, blank, lost, {}} {
			if ix.Count("n") != 0 || ix.Get("n") != nil || ix.Keys("n") != nil || ix.AsInformer() == nil && ix.Values(nil, at("w", 1)) != nil {
				t.Errorf("%+v finds something", ix)
			}
		}
		if lost.AsInformer() != nil || none.AsInformer() != nil {
			t.Error("an index of no informer has one")
		}
		for _, err := range []error{inf.Err(), inf.Run(t.Context()), inf.WaitForSync(t.Context())} {
			text := fmt.Sprint(err)
			if !errors.Is(err, index.ErrDuplicate) || !errors.Is(err, index.ErrInvalid) || strings.Count(text, "things.example.com in namespace a: ") != 3 || !strings.Contains(text, `"blank"`) {
				t.Errorf("not all that is wrong: %v", err)
			}
			for _, next := range []string{"the index is nil: make it with", `"blank": invalid index definition: it has no function: pass one`} {
				if !strings.Contains(text, next) {
					t.Errorf("%v does not say %q", err, next)
				}
			}
		}
	})
}

// An index that is added while the informer runs, and is wrong, ends nothing: OnError gets it.
func TestAddIndexLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reported []error
		src := &live[*widget]{object: at("w", 10), events: make(chan reflector.Event[*widget])}
		inf := newInformer(t, src, informer.Options[*widget]{
			OnError: func(err error) { reported = append(reported, err) }, Reflector: reflector.Tuning{DisableWatchList: true, IdleTimeout: -1},
		})
		stop := run(t, inf)
		if byName := informer.AddIndex(inf, index.By("name", func(w *widget) string { return w.Name })); byName.Count("w") != 1 || !slices.Equal(byName.Values([]string{"a"}, at("w", 1)), []string{"a", "w"}) {
			t.Error("a late index lacks what the store has")
		}
		informer.AddIndex(inf, index.By("name", func(w *widget) string { return w.Name }))
		if len(reported) != 1 || !errors.Is(reported[0], index.ErrDuplicate) || !errors.Is(inf.Err(), index.ErrDuplicate) {
			t.Errorf("OnError got %v, Err is %v", reported, inf.Err())
		}
		stop()
	})
}

// A failed informer can be used like any other, and its Run says why it failed.
func TestFailed(t *testing.T) {
	cause := errors.New("no such kind")
	inf := informer.Failed[*widget]("things", cause)
	if _, err := inf.AddHandler(informer.HandlerFunc[key, *widget](func(informer.Event[key, *widget]) {}), informer.HandlerOptions[*widget]{}); err != nil {
		t.Error(err)
	}
	if byName := informer.AddIndex(inf, index.By("name", func(w *widget) string { return w.Name })); byName.Count("w") != 0 || len(inf.List()) != 0 || inf.Resource() != "things" {
		t.Error("it has objects")
	}
	for _, err := range []error{inf.Err(), inf.Run(t.Context()), inf.WaitForSync(t.Context())} {
		if !errors.Is(err, cause) {
			t.Errorf("got %v", err)
		}
	}
	if err := inf.RecordWrite(at("w", 1), ""); !errors.Is(err, cause) && !errors.Is(err, informer.ErrStopped) {
		t.Errorf("a write: %v", err)
	}
}

// RecordGone hides one object, whatever its version, and no other.
func TestRecordGone(t *testing.T) {
	other := func(rv int) *widget {
		w := at("w", rv)
		w.UID = "other"
		return w
	}
	w := key{Namespace: "a", Name: "w"}
	for name, c := range map[string]struct {
		do   func(t *testing.T, src *live[*widget], inf *informer.Informer[key, *widget]) error
		want string
	}{
		"nothing comes": {func(_ *testing.T, src *live[*widget], inf *informer.Informer[key, *widget]) error {
			return inf.RecordGone(w, "uid", "10")
		}, ""},
		"changes from before come": {func(_ *testing.T, src *live[*widget], inf *informer.Informer[key, *widget]) error {
			err := inf.RecordGone(w, "uid", "10")
			src.send(reflector.Modified, 20, at("w", 20))
			return err
		}, ""},
		"another comes": {func(_ *testing.T, src *live[*widget], inf *informer.Informer[key, *widget]) error {
			err := inf.RecordGone(w, "uid", "10")
			src.send(reflector.Deleted, 20, at("w", 20))
			src.send(reflector.Added, 21, other(21))
			return err
		}, "21"},
		"another was there": {func(_ *testing.T, src *live[*widget], inf *informer.Informer[key, *widget]) error {
			return inf.RecordGone(w, "earlier", "10")
		}, "10"},
		"a write of it is told late": {func(_ *testing.T, src *live[*widget], inf *informer.Informer[key, *widget]) error {
			return errors.Join(inf.RecordGone(w, "uid", "10"), inf.RecordWrite(at("w", 20), ""))
		}, ""},
		"a newer write of it was told": {func(_ *testing.T, src *live[*widget], inf *informer.Informer[key, *widget]) error {
			return errors.Join(inf.RecordWrite(at("w", 20), ""), inf.RecordGone(w, "uid", "10"))
		}, ""},
		"it was made anew": {func(_ *testing.T, src *live[*widget], inf *informer.Informer[key, *widget]) error {
			return errors.Join(inf.RecordGone(w, "uid", "10"), inf.RecordWrite(other(20), ""))
		}, "20"},
		"it was made anew, told in the other order": {func(_ *testing.T, src *live[*widget], inf *informer.Informer[key, *widget]) error {
			return errors.Join(inf.RecordWrite(other(20), ""), inf.RecordGone(w, "uid", "10"))
		}, "20"},
		"without a uid, not reached": {func(_ *testing.T, src *live[*widget], inf *informer.Informer[key, *widget]) error {
			err := inf.RecordGone(w, "", "30")
			src.send(reflector.Modified, 20, at("w", 20))
			return err
		}, ""},
		"without a uid, and it was not deleted": {func(_ *testing.T, src *live[*widget], inf *informer.Informer[key, *widget]) error {
			err := inf.RecordGone(w, "", "30")
			src.send(reflector.Modified, 20, at("w", 20))
			src.bookmark(30)
			return err
		}, "20"},
	} {
		t.Run(name, func(t *testing.T) {
			var heard errorsOf
			withLive(t, &heard, func(src *live[*widget], inf *informer.Informer[key, *widget]) {
				if err := c.do(t, src, inf); err != nil {
					t.Error(err)
				}
				if got := version(inf, "w"); got != c.want {
					t.Errorf("at %q, want %q", got, c.want)
				}
			})
		})
	}
}

// TestIndexReadsAreAtomic: while commits bring what was written, no read misses an object or
// finds it twice.
func TestIndexReadsAreAtomic(t *testing.T) {
	src := &live[*widget]{object: at("w", 10), events: make(chan reflector.Event[*widget])}
	nodes := index.New("node", nodeOf)
	inf := newInformer(t, src, informer.Options[*widget]{
		Indexes: index.Of(nodes), OnError: ignore, Reflector: reflector.Tuning{DisableWatchList: true, IdleTimeout: -1},
	})
	byNode := informer.AddIndex(inf, nodes)
	ended := make(chan error, 1)
	go func() { ended <- inf.Run(t.Context()) }()
	<-inf.Synced()
	for rv := 11; rv < 3000; rv++ {
		if err := inf.RecordWrite(at("w", rv), ""); err != nil {
			t.Fatal(err)
		}
		sent := make(chan struct{})
		go func() {
			src.events <- reflector.Event[*widget]{Type: reflector.Modified, ResourceVersion: strconv.Itoa(rv), Object: at("w", rv)}
			close(sent)
		}()
		for range 1 + rand.IntN(20) {
			if got, want := versionsOf(byNode.Get("n")), fmt.Sprint("w@", rv); got != want {
				t.Fatalf("found %q, want %q", got, want)
			}
		}
		<-sent
	}
}

// A read calls no index function, however many own writes are ahead. An index that is bound later finds
// them as well.
func TestIndexHasOwnWrites(t *testing.T) {
	calls := 0
	nodes := index.New("node", func(dst []string, w *widget) []string { calls++; return append(dst, w.Spec.Node, w.Spec.Node) })
	synctest.Test(t, func(t *testing.T) {
		src := &live[*widget]{object: at("w", 10), events: make(chan reflector.Event[*widget])}
		inf := newInformer(t, src, informer.Options[*widget]{
			Indexes: index.Of(nodes), OnError: ignore, Reflector: reflector.Tuning{DisableWatchList: true, IdleTimeout: -1},
		})
		early := informer.AddIndex(inf, nodes)
		stop := run(t, inf)
		synctest.Wait()
		for n := range 100 {
			if err := inf.RecordWrite(on("m", at(fmt.Sprint("new", n), 20)), ""); err != nil {
				t.Fatal(err)
			}
		}
		before := calls
		again := informer.AddIndex(inf, nodes)
		for range 10 {
			if early.Count("m") != 100 || again.Count("m") != 100 || early.Count("n") != 1 {
				t.Fatalf("%d and %d objects on m, %d on n", early.Count("m"), again.Count("m"), early.Count("n"))
			}
		}
		if calls != before {
			t.Errorf("%d calls of the index function by reads", calls-before)
		}
		late := index.New("late", nodeOf)
		if err := inf.AddIndexes(late); err != nil {
			t.Fatal(err)
		}
		if got := informer.AddIndex(inf, late).Count("m"); got != 100 {
			t.Errorf("an index that was bound late finds %d", got)
		}
		if err := inf.RecordWrite(on("n", at("new0", 21)), ""); err != nil {
			t.Fatal(err)
		}
		if got, moved := early.Count("m"), early.Count("n"); got != 99 || moved != 2 {
			t.Errorf("after a move %d are on m and %d on n", got, moved)
		}
		stop()
		if got := early.Count("m") + early.Count("n"); got != 101 {
			t.Errorf("%d objects after the end of Run", got)
		}
	})
}
