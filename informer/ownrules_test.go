package informer_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/reflector"
)

// byHand is a source whose lists are what the test sets, and whose watch brings what the test sends, and ends in
// time. An error that is not of an object breaks the watch off.
type byHand[T any] struct {
	mu     sync.Mutex
	lists  int
	list   func(opts metav1.ListOptions) ([]reflector.Event[T], string)
	gate   chan struct{} // a list waits for it, if set
	events chan byHandEvent[T]
}

// byHandEvent is an event or an error of a watch.
type byHandEvent[T any] struct {
	ev  reflector.Event[T]
	err error
}

func (m *byHand[T]) Resource() string { return "things.example.com" }
func (m *byHand[T]) List(ctx context.Context, opts metav1.ListOptions, yield func(reflector.Event[T], error) bool) (metav1.ListMeta, error) {
	m.mu.Lock()
	m.lists++
	list, gate := m.list, m.gate
	m.mu.Unlock()
	if gate != nil {
		<-gate
	}
	all, rv := list(opts)
	for _, ev := range all {
		var err error
		if ev.Type == 0 {
			err = &reflector.ObjectError{Resource: "things", Key: ev.ResourceVersion, Err: errors.New("bad")}
			ev = reflector.Event[T]{}
		}
		if !yield(ev, err) {
			return metav1.ListMeta{}, reflector.ErrListStopped
		}
	}
	return metav1.ListMeta{ResourceVersion: rv}, nil
}
func (m *byHand[T]) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[reflector.Event[T], error] {
	return func(yield func(reflector.Event[T], error) bool) {
		if opts.SendInitialEvents != nil {
			yield(reflector.Event[T]{}, errors.ErrUnsupported)
			return
		}
		ends := time.NewTimer(time.Duration(*opts.TimeoutSeconds) * time.Second)
		defer ends.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ends.C:
				return
			case ev := <-m.events:
				if !yield(ev.ev, ev.err) {
					return
				}
				var bad *reflector.ObjectError
				if ev.err != nil && !errors.As(ev.err, &bad) {
					return
				}
			}
		}
	}
}
func (m *byHand[T]) send(typ reflector.EventType, rv int, obj T) {
	m.events <- byHandEvent[T]{ev: reflector.Event[T]{Type: typ, ResourceVersion: strconv.Itoa(rv), Object: obj}}
	synctest.Wait()
}
func (m *byHand[T]) sendNow(typ reflector.EventType, rv int, obj T) {
	m.events <- byHandEvent[T]{ev: reflector.Event[T]{Type: typ, ResourceVersion: strconv.Itoa(rv), Object: obj}}
}
func (m *byHand[T]) bookmark(rv int) { m.send(reflector.Bookmark, rv, *new(T)) }
func (m *byHand[T]) fail(err error) {
	m.events <- byHandEvent[T]{err: err}
	time.Sleep(time.Minute)
	synctest.Wait()
}

func (m *byHand[T]) set(list func(opts metav1.ListOptions) ([]reflector.Event[T], string)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = list
}

// listOf is a list at a version.
func listOf(rv string, all ...*widget) func(metav1.ListOptions) ([]reflector.Event[*widget], string) {
	return func(opts metav1.ListOptions) (evs []reflector.Event[*widget], _ string) {
		for _, w := range all {
			if name, ok := strings.CutPrefix(opts.FieldSelector, "metadata.name="); ok && !strings.HasPrefix(name, w.Name) {
				continue
			}
			evs = append(evs, reflector.Event[*widget]{Type: reflector.Added, ResourceVersion: w.ResourceVersion, Object: w})
		}
		return evs, rv
	}
}

// byHandTuning is for a source by hand, which streams no list and may be silent.
var byHandTuning = reflector.Tuning{DisableWatchList: true, IdleTimeout: -1}

// withByHand runs test with an informer of widgets that holds a/w at version 10.
func withByHand(t *testing.T, opts informer.Options[*widget], test func(src *byHand[*widget], inf *informer.Informer[key, *widget])) {
	synctest.Test(t, func(t *testing.T) {
		src := &byHand[*widget]{events: make(chan byHandEvent[*widget])}
		src.set(listOf("10", at("w", 10)))
		opts.Reflector = byHandTuning
		if opts.OnError == nil {
			opts.OnError = func(err error) { t.Logf("OnError: %v", err) }
		}
		inf := newInformer(t, src, opts)
		stop := run(t, inf)
		test(src, inf)
		stop()
	})
}

// dump says what an informer has.
func dump(inf *informer.Informer[key, *widget]) string {
	var all []string
	for k, w := range inf.Store().All() {
		all = append(all, k.Name+"@"+w.ResourceVersion)
	}
	return strings.Join(all, " ") + " rv " + inf.Store().ResourceVersion() + fmt.Sprint(" ahead ", inf.Stats().Writes)
}

// After a restore that was noticed while no write was ahead, writes of the new history are taken.
func TestWriteAfterRestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := metaOf("c", "33", "9", "")
		src := &broken{
			before: []*widget{metaOf("a", "1", "5", ""), metaOf("c", "3", "7", "")},
			after:  []*widget{metaOf("a", "1", "5", ""), asked},
			asked:  asked,
			breaks: make(chan struct{}), events: make(chan reflector.Event[*widget]),
		}
		inf := newInformer(t, src, informer.Options[*widget]{Reflector: reflector.Tuning{DisableWatchList: true}, OnError: func(err error) { t.Log(err) }})
		stop := run(t, inf)
		defer stop()
		src.events <- reflector.Event[*widget]{Type: reflector.Modified, ResourceVersion: "1000", Object: metaOf("a", "1", "1000", "")}
		synctest.Wait()
		if err := inf.RecordWrite(metaOf("a", "1", "1000", ""), ""); err != nil { // the watch was faster
			t.Fatal(err)
		}
		src.breaks <- struct{}{}
		time.Sleep(time.Minute)
		synctest.Wait()
		t.Log(dump(inf))
		if inf.Store().ResourceVersion() != "20" {
			t.Fatalf("at %s", inf.Store().ResourceVersion())
		}
		if err := inf.RecordWrite(metaOf("d", "4", "25", ""), ""); err != nil {
			t.Fatal(err)
		}
		if _, ok := inf.Get(key{Namespace: "n", Name: "d"}); !ok {
			t.Error("a write after the restore is not in the store")
		}
	})
}

// panics is an index that cannot be evaluated for objects of size 666.
var panics = index.New("panics", func(dst []string, w *widget) []string {
	if w.Spec.Size == 666 {
		panic("bad size")
	}
	return dst
})

// badAt is a widget that the index panics for.
func badAt(name string, rv int) *widget {
	w := at(name, rv)
	w.Spec.Size = 666
	return w
}

// A write that an index function refuses leaves the one before in place.
func TestRefusedWrite(t *testing.T) {
	withByHand(t, informer.Options[*widget]{Indexes: index.Of(panics)}, func(src *byHand[*widget], inf *informer.Informer[key, *widget]) {
		events := heard(t, inf)
		if err := inf.RecordWrite(at("w", 20), ""); err != nil {
			t.Fatal(err)
		}
		if err := inf.RecordWrite(badAt("w", 22), ""); err == nil {
			t.Fatal("no error")
		}
		src.send(reflector.Modified, 15, at("w", 15))
		if got := version(inf, "w"); got != "20" {
			t.Errorf("at %s, want 20 (%s)", got, events())
		}
	})
}

// A write of a history that the server has lost does not take away what the watch has shown.
func TestWriteOfAnotherHistory(t *testing.T) {
	withByHand(t, informer.Options[*widget]{}, func(src *byHand[*widget], inf *informer.Informer[key, *widget]) {
		events := heard(t, inf)
		if err := inf.RecordWrite(at("w", 1000), ""); err != nil {
			t.Fatal(err)
		}
		src.send(reflector.Modified, 510, at("w", 510))
		src.bookmark(1001)
		if got := version(inf, "w"); got != "510" {
			t.Errorf("at %q, want 510, which the watch has brought and not taken back (%s)", got, events())
		}
	})
}

// If the event of a write cannot be used, the write stays.
func TestWriteWithUnusableEvent(t *testing.T) {
	withByHand(t, informer.Options[*widget]{}, func(src *byHand[*widget], inf *informer.Informer[key, *widget]) {
		events := heard(t, inf)
		if err := inf.RecordWrite(at("w", 20), ""); err != nil {
			t.Fatal(err)
		}
		src.events <- byHandEvent[*widget]{err: &reflector.ObjectError{Resource: "things", Key: "a/w", ResourceVersion: "20", Type: reflector.Modified, Err: errors.New("bad")}}
		src.bookmark(30)
		if got := version(inf, "w"); got == "" {
			t.Errorf("it is gone because its event could not be decoded (%s)", events())
		}
	})
}

// If a list has the written object, and it cannot be used, the write stays.
func TestWriteWithUnusableList(t *testing.T) {
	withByHand(t, informer.Options[*widget]{}, func(src *byHand[*widget], inf *informer.Informer[key, *widget]) {
		events := heard(t, inf)
		if err := inf.RecordWrite(at("w", 20), ""); err != nil {
			t.Fatal(err)
		}
		src.set(func(metav1.ListOptions) ([]reflector.Event[*widget], string) {
			return []reflector.Event[*widget]{{ResourceVersion: "a/w"}}, "30"
		})
		src.fail(errGone)
		t.Log(dump(inf))
		if got := version(inf, "w"); got == "" {
			t.Errorf("it is gone because its event could not be decoded (%s)", events())
		}
	})
}

// A projection without metadata does not carry the UID that RecordGone names.
func TestGoneProjection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := key{Name: "w"}
		at := func(node string) projection { return &projected{Key: w, Text: node} }
		src := &live[projection]{object: at("n10"), events: make(chan reflector.Event[projection])}
		inf, err := informer.New(src, projection.key, informer.Options[projection]{Reflector: reflector.Tuning{DisableWatchList: true, IdleTimeout: -1}})
		if err != nil {
			t.Fatal(err)
		}
		stop := run(t, inf)
		defer stop()
		if err := inf.RecordGone(w, "uid", "10"); err != nil {
			t.Error(err)
		}
		if p, ok := inf.Get(w); ok {
			t.Errorf("%v is there after RecordGone", p)
		}
	})
}

// A state from before an own write, and the state of that write, come in one batch: there is nothing new.
func TestWriteOfProjectionIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := key{Name: "w"}
		at := func(node string) projection { return &projected{Key: w, Text: node} }
		src := &byHand[projection]{events: make(chan byHandEvent[projection])}
		src.set(func(metav1.ListOptions) ([]reflector.Event[projection], string) {
			return []reflector.Event[projection]{{Type: reflector.Added, ResourceVersion: "10", Object: at("n10")}}, "10"
		})
		inf, err := informer.New(src, projection.key, informer.Options[projection]{Reflector: reflector.Tuning{DisableWatchList: true, IdleTimeout: -1}})
		if err != nil {
			t.Fatal(err)
		}
		informer.SetLag(inf, 1)
		goOn := make(chan struct{})
		var got []string
		must1(inf.AddHandler(informer.HandlerFunc[key, projection](func(ev informer.Event[key, projection]) {
			if !ev.Initial {
				<-goOn
				got = append(got, fmt.Sprint(ev.Type, " ", ev.Key.Name, " ", ev.Object.text(), " own ", ev.Own))
			}
		}), informer.HandlerOptions[projection]{}))(t)
		stop := run(t, inf)
		defer stop()
		for n := range 4 {
			src.send(reflector.Added, 11+n, &projected{Key: key{Name: fmt.Sprint(n)}})
		}
		if err := inf.RecordWrite(at("n20"), "20"); err != nil {
			t.Error(err)
		}
		src.send(reflector.Modified, 18, at("n18"))
		src.send(reflector.Modified, 20, at("n20"))
		close(goOn)
		synctest.Wait()
		n := 0
		for _, e := range got {
			if strings.Contains(e, " w ") {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d events: %q", n, got)
		}
	})
}

// withBlocked runs test with an informer whose commits wait for a handler, from setBlock to goOn.
func withBlocked(t *testing.T, test func(src *byHand[*widget], inf *informer.Informer[key, *widget], goOn, setBlock func())) {
	withByHand(t, informer.Options[*widget]{}, func(src *byHand[*widget], inf *informer.Informer[key, *widget]) {
		informer.SetLag(inf, 1)
		goOn := make(chan struct{})
		block := false
		must1(inf.AddHandler(informer.HandlerFunc[key, *widget](func(ev informer.Event[key, *widget]) {
			t.Logf("%v %s %s->%s own %v", ev.Type, ev.Key.Name, rvOf(ev.Old), rvOf(ev.Object), ev.Own)
			if !ev.Initial && block {
				<-goOn
			}
		}), informer.HandlerOptions[*widget]{}))(t)
		synctest.Wait()
		test(src, inf, func() { block = false; close(goOn); synctest.Wait() }, func() { block = true })
	})
}

// rvOf is the version of w, "-" for none.
func rvOf(w *widget) string {
	if w == nil {
		return "-"
	}
	return w.ResourceVersion
}

// If the watch has brought the deletion already, nothing is waited for: no write is lost.
func TestGoneAfterItsEvent(t *testing.T) {
	withByHand(t, informer.Options[*widget]{}, func(src *byHand[*widget], inf *informer.Informer[key, *widget]) {
		w := at("w", 10)
		src.send(reflector.Deleted, 11, at("w", 11))
		if err := inf.RecordGone(key{Namespace: "a", Name: "w"}, w.UID, "10"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if s := inf.Stats(); s.Writes != 0 || s.LostWrites != 0 {
			t.Errorf("%d writes ahead, %d lost", s.Writes, s.LostWrites)
		}
		// The state is above what the watch has reached, so the object is yet to come and to go.
		if err := inf.RecordGone(key{Namespace: "a", Name: "x"}, "other", "20"); err != nil {
			t.Fatal(err)
		}
		if s := inf.Stats(); s.Writes != 1 {
			t.Errorf("%d writes ahead, want the deletion of x", s.Writes)
		}
	})
}

// A list that was compared with the store before a deletion was recorded says nothing about it, whether the
// deletion was meant or not.
func TestGoneWhileListInFlight(t *testing.T) {
	for _, uid := range []types.UID{"", "uid"} {
		t.Run(fmt.Sprintf("uid=%q", uid), func(t *testing.T) {
			withBlocked(t, func(src *byHand[*widget], inf *informer.Informer[key, *widget], goOn, setBlock func()) {
				all := []*widget{at("w", 10)}
				for n := range 20 {
					all = append(all, at(fmt.Sprint("x", n), 11+n))
					src.send(reflector.Added, 11+n, at(fmt.Sprint("x", n), 11+n))
				}
				setBlock()
				for n := range 2 {
					all = append(all, at(fmt.Sprint("y", n), 31+n))
					src.send(reflector.Added, 31+n, at(fmt.Sprint("y", n), 31+n))
				}
				src.set(listOf("50", all...))
				src.fail(errGone) // the list waits for the handler
				t.Log("before: ", dump(inf), " lists ", src.lists)
				if uid == "" {
					if err := inf.RecordGone(key{Namespace: "a", Name: "w"}, "", "40"); err != nil {
						t.Fatal(err)
					}
					goOn()
					src.bookmark(60)
					t.Log("after: ", dump(inf))
					if got := version(inf, "w"); got != "10" {
						t.Errorf("at %q, hidden for good", got)
					}
					return
				}
				if err := inf.RecordGone(key{Namespace: "a", Name: "w"}, uid, "10"); err != nil {
					t.Fatal(err)
				}
				goOn()
				t.Log("after: ", dump(inf))
				src.send(reflector.Modified, 55, at("w", 55)) // before the deletion at 60
				if got := version(inf, "w"); got != "" {
					t.Errorf("at %q after RecordGone", got)
				}
			})
		})
	}
}

// A source lists the very object that was recorded.
func TestListOfWrittenPointer(t *testing.T) {
	withByHand(t, informer.Options[*widget]{}, func(src *byHand[*widget], inf *informer.Informer[key, *widget]) {
		events := heard(t, inf)
		all := []*widget{at("w", 10)}
		for n := range 20 {
			all = append(all, at(fmt.Sprint("x", n), 11+n))
			src.send(reflector.Added, 11+n, all[n+1])
		}
		events()
		all[0] = at("w", 40)
		if err := inf.RecordWrite(all[0], ""); err != nil {
			t.Fatal(err)
		}
		src.set(listOf("50", all...))
		src.fail(errGone)
		t.Log(dump(inf))
		if got := version(inf, "w"); got != "40" {
			t.Errorf("at %q: %s", got, events())
		}
	})
}

// A coalescing handler that saw writes before the first list, and was left behind, hears of their ends.
func TestCoalescingBeforeList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &byHand[*widget]{events: make(chan byHandEvent[*widget]), gate: make(chan struct{})}
		src.set(listOf("30", at("w", 10)))
		inf := newInformer(t, src, informer.Options[*widget]{OnError: ignore, Reflector: reflector.Tuning{DisableWatchList: true, IdleTimeout: -1}})
		informer.SetLag(inf, 2)
		goOn := make(chan struct{})
		var got []string
		must1(inf.AddHandler(informer.HandlerFunc[key, *widget](func(ev informer.Event[key, *widget]) {
			got = append(got, fmt.Sprint(ev.Type, " ", ev.Key.Name, " own ", ev.Own))
			<-goOn
		}), informer.HandlerOptions[*widget]{Coalesce: true}))(t)
		stop := run(t, inf)
		defer stop()
		if err := inf.RecordWrite(at("x", 20), ""); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := inf.RecordGone(key{Namespace: "a", Name: "x"}, "uid", "20"); err != nil {
			t.Fatal(err)
		}
		src.gate <- struct{}{}
		synctest.Wait()
		for n := range 3 {
			src.send(reflector.Added, 31+n, at(fmt.Sprint("y", n), 31+n))
		}
		close(goOn)
		synctest.Wait()
		t.Log(dump(inf), got)
		deleted := false
		for _, e := range got {
			deleted = deleted || strings.HasPrefix(e, "Deleted x")
		}
		if !deleted {
			t.Errorf("the handler saw x added and never deleted: %q", got)
		}
	})
}

// A write of the lost history, recorded while the list of the restored server waits for a handler, is lost.
func TestRewoundListInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := metaOf("c", "33", "9", "")
		src := &broken{
			before: []*widget{metaOf("a", "1", "5", ""), metaOf("c", "3", "7", "")},
			after:  []*widget{metaOf("a", "1", "5", ""), asked},
			asked:  asked,
			breaks: make(chan struct{}), events: make(chan reflector.Event[*widget]),
		}
		var lost []string
		inf := newInformer(t, src, informer.Options[*widget]{Reflector: reflector.Tuning{DisableWatchList: true, IdleTimeout: -1}, OnError: func(err error) {
			var l *informer.LostWriteError
			if errors.As(err, &l) {
				lost = append(lost, l.Key)
			}
		}})
		informer.SetLag(inf, 1)
		goOn := make(chan struct{})
		must1(inf.AddHandler(informer.HandlerFunc[key, *widget](func(ev informer.Event[key, *widget]) {
			if !ev.Initial {
				<-goOn
			}
		}), informer.HandlerOptions[*widget]{}))(t)
		stop := run(t, inf)
		defer stop()
		for n := range 4 {
			src.events <- reflector.Event[*widget]{Type: reflector.Modified, ResourceVersion: fmt.Sprint(1000 + n), Object: metaOf("a", "1", fmt.Sprint(1000+n), "")}
			synctest.Wait()
		}
		src.breaks <- struct{}{}
		time.Sleep(time.Minute)
		synctest.Wait()
		t.Log(dump(inf))
		if err := inf.RecordWrite(metaOf("d", "4", "1005", ""), ""); err != nil {
			t.Fatal(err)
		}
		close(goOn)
		synctest.Wait()
		t.Log(dump(inf))
		src.events <- reflector.Event[*widget]{Type: reflector.Bookmark, ResourceVersion: "2000"}
		time.Sleep(time.Hour)
		synctest.Wait()
		if _, ok := inf.Get(key{Namespace: "n", Name: "d"}); ok {
			t.Errorf("a lost write is left over for good, reported lost: %q, %s", lost, dump(inf))
		}
	})
}

// A write that is ahead at the end of Run counts as lost in the next one.
func TestLostInNextRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &byHand[*widget]{events: make(chan byHandEvent[*widget])}
		src.set(listOf("10", at("w", 10)))
		var errs errorsOf
		inf := newInformer(t, src, informer.Options[*widget]{OnError: errs.add, Reflector: reflector.Tuning{DisableWatchList: true, IdleTimeout: -1}})
		stop := run(t, inf)
		if err := inf.RecordWrite(at("x", 20), ""); err != nil {
			t.Fatal(err)
		}
		stop()
		stop = run(t, inf)
		defer stop()
		time.Sleep(time.Hour)
		if _, ok := find[*informer.LostWriteError](&errs); !ok {
			t.Errorf("no LostWriteError an hour after; lost %d, %s", inf.LostWrites(), dump(inf))
		}
	})
}

// Writes, watches and commits of several namespaces get along, whatever the order of their locks.
func TestNamespacesWriteWhileWatching(t *testing.T) {
	u := newPlaces(t, informer.Options[*widget]{OnError: ignore, Reflector: reflector.Tuning{DisableWatchList: true, IdleTimeout: -1}})
	src := map[string]*byHand[*widget]{}
	for _, ns := range []string{"a", "b"} {
		s := &byHand[*widget]{events: make(chan byHandEvent[*widget])}
		s.set(listOf("10"))
		src[ns] = s
		u.add(t, ns, s)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- u.Run(ctx) }()
	<-u.Synced()
	var mu sync.Mutex
	rv := 100
	next := func() int { mu.Lock(); defer mu.Unlock(); rv++; return rv }
	var wg sync.WaitGroup
	for _, ns := range []string{"a", "b"} {
		// some stay ahead, so that there is something to settle
		for n := range 200 {
			w := newWidget(ns, fmt.Sprint("far", n), "n")
			w.UID, w.ResourceVersion = "u", "1000000"
			_ = u.RecordWrite(w, "")
		}
		wg.Go(func() {
			for n := range 1000 {
				w := newWidget(ns, fmt.Sprint("w", n%5), "n")
				w.UID, w.ResourceVersion = types.UID(fmt.Sprint(n)), strconv.Itoa(next())
				src[ns].sendNow(reflector.Added, must1(strconv.Atoi(w.ResourceVersion))(t), w)
				_ = u.RecordWrite(w, "")
				gone := next()
				_ = u.RecordGone(key{Namespace: ns, Name: w.Name}, w.UID, strconv.Itoa(gone))
				last := *w
				last.ResourceVersion = strconv.Itoa(gone)
				src[ns].sendNow(reflector.Deleted, gone, &last)
			}
		})
	}
	wg.Wait()
	cancel()
	<-ended
}

// An object that is written over and over takes no more room than one that is written once.
func TestHotKeyTakesNoRoom(t *testing.T) {
	for _, silent := range []bool{true, false} {
		withByHand(t, informer.Options[*widget]{}, func(src *byHand[*widget], inf *informer.Informer[key, *widget]) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			const n = 100_000
			for i := range n {
				if err := inf.RecordWrite(at("w", 20+i), ""); err != nil {
					t.Fatal(err)
				}
				if !silent && i%100 == 0 {
					src.bookmark(20 + i - 50)
				}
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > n {
				t.Errorf("silent %v: %d writes of one object take %d bytes", silent, n, grown)
			}
			runtime.KeepAlive(inf)
		})
	}
}
