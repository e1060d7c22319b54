package informer_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faketest"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// live is a source of T's with one object at version 10, and with a watch that the test
// feeds.
type live[T any] struct {
	object T
	events chan reflector.Event[T]
}

func (l *live[T]) Resource() string { return "things.example.com in namespace a" }

func (l *live[T]) List(_ context.Context, _ metav1.ListOptions, yield func(reflector.Event[T], error) bool) (metav1.ListMeta, error) {
	yield(reflector.Event[T]{Type: reflector.Added, ResourceVersion: "10", Object: l.object}, nil)
	return metav1.ListMeta{ResourceVersion: "10"}, nil
}

func (l *live[T]) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[reflector.Event[T], error] {
	return func(yield func(reflector.Event[T], error) bool) {
		if opts.SendInitialEvents != nil {
			yield(reflector.Event[T]{}, errors.ErrUnsupported) // no streaming lists
			return
		}
		for {
			select {
			case <-ctx.Done():
				return
			case ev := <-l.events:
				if !yield(ev, nil) {
					return
				}
			}
		}
	}
}

// send has the watch bring an event.
func (l *live[T]) send(typ reflector.EventType, rv int, obj T) {
	l.events <- reflector.Event[T]{Type: typ, ResourceVersion: strconv.Itoa(rv), Object: obj}
	synctest.Wait()
}

func (l *live[T]) bookmark(rv int) { l.send(reflector.Bookmark, rv, *new(T)) }

// at is a widget at a version.
func at(name string, rv int) *widget {
	w := newWidget("a", name, "n")
	w.ResourceVersion = strconv.Itoa(rv)
	w.UID = "uid"
	return w
}

// withLive runs an informer of widgets that holds a/w at version 10.
func withLive(t *testing.T, heard *errorsOf, test func(src *live[*widget], inf *informer.Informer[key, *widget])) {
	synctest.Test(t, func(t *testing.T) {
		src := &live[*widget]{object: at("w", 10), events: make(chan reflector.Event[*widget])}
		inf := newInformer(t, src, informer.Options[*widget]{OnError: heard.add, Reflector: reflector.Tuning{DisableWatchList: true, IdleTimeout: -1}})
		stop := run(t, inf)
		test(src, inf)
		stop()
	})
}

// version returns the version under which inf has name, "" for none.
func version(inf *informer.Informer[key, *widget], name string) string {
	w, ok := inf.Get(key{Namespace: "a", Name: name})
	if !ok {
		return ""
	}
	return w.ResourceVersion
}

// another is w with another UID.
func another(w *widget) *widget {
	w.UID = "another"
	return w
}

func TestWritten(t *testing.T) {
	var heard errorsOf
	withLive(t, &heard, func(src *live[*widget], inf *informer.Informer[key, *widget]) {
		expect := func(when, name, want string) {
			t.Helper()
			if got := version(inf, name); got != want {
				t.Errorf("%s: %s at %q, want %q", when, name, got, want)
			}
			got := ""
			for _, w := range informer.NewLister(inf).In("a").List(nil) {
				if w.Name == name {
					got += w.ResourceVersion
				}
			}
			if got != want {
				t.Errorf("%s: %s listed at %q, want %q", when, name, got, want)
			}
		}
		write := func(w *widget) {
			t.Helper()
			if err := inf.RecordWrite(w, ""); err != nil {
				t.Error(err)
			}
		}
		write(at("w", 20))
		expect("updated", "w", "20")
		write(at("w", 15))
		expect("an older answer came later", "w", "20")
		write(at("w", 9))
		expect("one that the store has", "w", "20")
		write(at("new", 21))
		expect("created", "new", "21")
		if w, _ := inf.Store().Get(key{Namespace: "a", Name: "w"}); w.ResourceVersion != "20" || inf.Store().Len() != 2 || inf.Store().ResourceVersion() != "10" {
			t.Error("the store does not have the writes, or has moved its version")
		}
		src.send(reflector.Modified, 12, at("w", 12))
		expect("somebody's change from before", "w", "20")
		src.send(reflector.Modified, 20, at("w", 20))
		expect("caught up", "w", "20")
		src.send(reflector.Modified, 22, at("w", 22))
		expect("and went on", "w", "22")
		expect("which passed the other", "new", "") // it was deleted meanwhile, or is not ours
		write(at("w", 22))
		src.bookmark(30)
		write(at("w", 29))
		expect("older than a bookmark", "w", "22")
	})
	if len(heard.all) > 0 {
		t.Errorf("OnError heard %v", heard.all)
	}
}

func TestDeleted(t *testing.T) {
	for _, c := range []struct {
		name string
		rv   string
		do   func(src *live[*widget])
		want string
	}{
		{"nothing happens", "10", func(*live[*widget]) {}, ""},
		{"other objects change", "10", func(src *live[*widget]) { src.bookmark(40) }, ""},
		{"it was changed before", "30", func(src *live[*widget]) { src.send(reflector.Modified, 20, at("w", 20)) }, ""},
		{"it is gone", "10", func(src *live[*widget]) { src.send(reflector.Deleted, 30, at("w", 30)) }, ""},
		{"it was changed before its end", "10", func(src *live[*widget]) { src.send(reflector.Modified, 30, at("w", 30)) }, ""},
		{"there is a new one", "30", func(src *live[*widget]) {
			src.send(reflector.Deleted, 30, at("w", 30))
			src.send(reflector.Added, 31, another(at("w", 31)))
		}, "31"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var heard errorsOf
			withLive(t, &heard, func(src *live[*widget], inf *informer.Informer[key, *widget]) {
				if err := inf.RecordGone(key{Namespace: "a", Name: "w"}, "uid", c.rv); err != nil {
					t.Error(err)
				}
				if got := version(inf, "w"); got != "" {
					t.Errorf("it is there, at %s, after it was deleted", got)
				}
				c.do(src)
				if got := version(inf, "w"); got != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
				if got := len(informer.NewLister(inf).List(nil)); (got > 0) != (c.want != "") {
					t.Errorf("%d objects listed", got)
				}
			})
		})
	}
}

// TestWrittenAfterDeleted: the write of what was deleted may be told of after the deletion.
func TestWrittenAfterDeleted(t *testing.T) {
	for told, want := range map[int]string{19: "", 20: "", 21: "21"} {
		var heard errorsOf
		withLive(t, &heard, func(src *live[*widget], inf *informer.Informer[key, *widget]) {
			if err := inf.RecordGone(key{Namespace: "a", Name: "w"}, "", "20"); err != nil {
				t.Error(err)
			}
			if err := inf.RecordWrite(at("w", told), ""); err != nil {
				t.Error(err)
			}
			if got := version(inf, "w"); got != want {
				t.Errorf("deleted at 20, then written at %d: got %q, want %q", told, got, want)
			}
		})
	}
}

// TestWrittenExpires: what the watch does not bring is reported, and stays until the watch passes it.
func TestWrittenExpires(t *testing.T) {
	var heard errorsOf
	withLive(t, &heard, func(src *live[*widget], inf *informer.Informer[key, *widget]) {
		if err := errors.Join(inf.RecordWrite(at("w", 20), ""), inf.RecordGone(key{Name: "x"}, "", "21")); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		if err := inf.RecordWrite(at("later", 22), ""); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		if version(inf, "w") != "20" || version(inf, "later") != "22" {
			t.Errorf("w at %s, later at %s", version(inf, "w"), version(inf, "later"))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if version(inf, "w") != "20" || version(inf, "later") != "22" {
			t.Error("writes went without a sign from the watch")
		}
		src.bookmark(23)
		if version(inf, "w") != "10" || version(inf, "later") != "" || inf.Stats().Writes != 0 {
			t.Error("the watch has passed the writes, and they are there")
		}
	})
	if len(heard.all) != 3 {
		t.Errorf("OnError heard %v, want three lost writes", heard.all)
	}
	lost, ok := find[*informer.LostWriteError](&heard)
	if !ok || lost.Key != "a/w" || lost.ResourceVersion != "20" || lost.Deleted {
		t.Errorf("OnError heard %v", heard.all)
	}
}

// TestLostKeys: lost writes are named, the last thousands of them.
func TestLostKeys(t *testing.T) {
	var heard errorsOf
	var inf *informer.Informer[key, *widget]
	expect := func(when string, since uint64, first string, count int, total uint64, complete bool) {
		t.Helper()
		keys, now, all := inf.LostKeys(since)
		if len(keys) != count || now != total || now != inf.LostWrites() || all != complete || count > 0 && keys[0].Name != first {
			t.Errorf("%s: %d keys, the first %v, of %d lost, all: %v", when, len(keys), keys[:min(count, 1)], now, all)
		}
	}
	withLive(t, &heard, func(src *live[*widget], i *informer.Informer[key, *widget]) {
		inf = i
		lose := func(n int) {
			for m := range n {
				if err := inf.RecordWrite(at("w", 20+m), ""); err != nil {
					t.Fatal(err)
				}
				time.Sleep(2*time.Minute + time.Second)
			}
		}
		expect("at first", 0, "", 0, 0, true)
		lose(1)
		expect("one lost", 0, "w", 1, 1, true)
		expect("of later ones", 1, "", 0, 1, true)
		expect("of what is not lost yet", 9, "", 0, 1, true)
		src.bookmark(20)
		for n := range 9_999 {
			if err := inf.RecordGone(key{Name: fmt.Sprint(n)}, "", "21"); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2*time.Minute + time.Second)
		expect("as many as are known", 0, "w", 10_000, 10_000, true)
		src.bookmark(25) // makes room
		if err := inf.RecordWrite(at("last", 30), ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2*time.Minute + time.Second)
		expect("one more", 10_000, "last", 1, 10_001, true)
	})
	if keys, _, all := inf.LostKeys(0); all || len(keys) < 5_000 || len(keys) > 10_000 {
		t.Errorf("all: %v, %d keys", all, len(keys))
	}
}

// TestWrittenRefuses what it could not be right about.
func TestWrittenRefuses(t *testing.T) {
	var heard errorsOf
	withLive(t, &heard, func(src *live[*widget], inf *informer.Informer[key, *widget]) {
		idle := newInformer(t, src, informer.Options[*widget]{})
		if err := idle.RecordWrite(at("w", 20), ""); !errors.Is(err, informer.ErrStopped) {
			t.Errorf("before Run: %v", err)
		}
		if err := inf.RecordWrite(newWidget("a", "w", "n"), ""); !errors.Is(err, store.ErrResourceVersion) {
			t.Errorf("without a version: %v", err)
		}
		if err := inf.RecordWrite(newWidget("a", "", "n"), "20"); err == nil {
			t.Error("without a name: no error")
		}
		if err := inf.RecordGone(key{}, "", "20"); err == nil {
			t.Error("of no key: no error")
		}
		if err := inf.RecordGone(key{Name: "w"}, "", "new"); !errors.Is(err, store.ErrResourceVersion) || !strings.HasPrefix(err.Error(), "things.example.com in namespace a: w: ") {
			t.Errorf("with a version that does not compare: %v", err)
		}
		for n := range 10_000 {
			if err := inf.RecordWrite(at(fmt.Sprint(n), 20), ""); err != nil {
				t.Fatal(err)
			}
		}
		if err := inf.RecordWrite(at("one more", 20), ""); !errors.Is(err, informer.ErrTooManyWrites) {
			t.Errorf("one too many: %v", err)
		}
		if err := inf.RecordWrite(at("7", 21), ""); err != nil || version(inf, "7") != "21" {
			t.Errorf("one that is ahead already: %v", err)
		}
		src.bookmark(20)
		if err := inf.RecordWrite(at("one more", 21), ""); err != nil {
			t.Errorf("after the watch has caught up: %v", err)
		}
	})
}

// TestWrittenProjection: objects without metadata, whose versions come with the events.
func TestWrittenProjection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := key{Name: "w"}
		at := func(node string) projection { return &projected{Key: w, Text: node} }
		src := &live[projection]{object: at("n10"), events: make(chan reflector.Event[projection])}
		inf, err := informer.New(src, projection.key, informer.Options[projection]{Reflector: reflector.Tuning{DisableWatchList: true, IdleTimeout: -1}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- inf.Run(ctx) }()
		synctest.Wait()
		expect := func(when, want string) {
			t.Helper()
			if p, _ := inf.Get(w); p.text() != want {
				t.Errorf("%s: %q, want %q", when, p.text(), want)
			}
		}
		if err := inf.RecordWrite(at("n20"), ""); !errors.Is(err, store.ErrResourceVersion) {
			t.Errorf("without a version: %v", err)
		}
		if err := inf.RecordWrite(at("n20"), "20"); err != nil {
			t.Error(err)
		}
		expect("written", "n20")
		src.send(reflector.Modified, 15, at("n15"))
		expect("a change from before", "n20")
		src.send(reflector.Modified, 25, at("n25"))
		expect("a change from after", "n25")
		if err := inf.RecordGone(w, "", "26"); err != nil {
			t.Error(err)
		}
		expect("deleted", "")
		src.send(reflector.Deleted, 26, at("n25"))
		expect("the watch brings that", "")
		src.send(reflector.Added, 27, at("n27"))
		expect("made anew", "n27")
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run returned %v", err)
		}
	})
}

// TestDeletedAndRemade: of objects without versions only the order of the changes says
// that one is newer than a deletion, here in one commit with it.
func TestDeletedAndRemade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		must1(fake.Create(server, newWidget("a", "w", "old")))(t)
		src := reflector.Map(source(t, server), func(w *widget) (projection, error) {
			return &projected{Key: key{Namespace: w.Namespace, Name: w.Name}, Text: w.Spec.Node}, nil
		})
		inf, err := informer.New(src, projection.key, informer.Options[projection]{})
		if err != nil {
			t.Fatal(err)
		}
		informer.SetLag(inf, 1)
		goOn := make(chan struct{})
		var seen faketest.Histories[key, projection]
		must1(inf.AddHandler(informer.HandlerFunc[key, projection](func(ev informer.Event[key, projection]) {
			record(&seen, ev)
			if !ev.Initial {
				<-goOn // and so does the store wait
			}
		}), informer.HandlerOptions[projection]{}))(t)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- inf.Run(ctx) }()
		synctest.Wait()
		for n := range 5 {
			must1(fake.Create(server, newWidget("b", fmt.Sprint(n), "n")))(t)
			synctest.Wait()
		}
		k := key{Namespace: "a", Name: "w"}
		if err := inf.RecordGone(k, "", must1(fake.Delete[*widget](server, k))(t).ResourceVersion); err != nil {
			t.Fatal(err)
		}
		must1(fake.Create(server, newWidget("a", "w", "new")))(t)
		synctest.Wait()
		if p, ok := inf.Get(k); ok {
			t.Errorf("%v is there after it was deleted", p)
		}
		close(goOn)
		synctest.Wait()
		if p, _ := inf.Get(k); p.text() != "new" {
			t.Errorf("%q is there, want the new one", p.text())
		}
		cancel()
		if err := errors.Join(<-ended, seen.Err()); err != nil {
			t.Errorf("Run returned, or the handler found, %v", err)
		}
	})
}

// TestDeletedThenRelist: a list from before a deletion repeats the object that was deleted,
// which is not news of it.
func TestDeletedThenRelist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lists := make(chan struct{})
		list := func(rv string) scriptedList {
			return scriptedList{rv, []scripted{ev(reflector.Added, "10", newWidget("a", "w", "n"))}}
		}
		src := &slowScript{script{lists: []scriptedList{list("10"), list("15")}, watches: [][]scripted{{{err: errGone}}}}, lists}
		inf := newInformer(t, src, informer.Options[*widget]{OnError: ignore, Reflector: reflector.Tuning{DisableWatchList: true, IdleTimeout: -1}})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- inf.Run(ctx) }()
		lists <- struct{}{}
		<-inf.Synced()
		if err := inf.RecordGone(key{Namespace: "a", Name: "w"}, "", "16"); err != nil {
			t.Fatal(err)
		}
		lists <- struct{}{}
		synctest.Wait()
		if rv := inf.Store().ResourceVersion(); rv != "15" {
			t.Fatalf("the store is at %s", rv)
		}
		if got := version(inf, "w"); got != "" {
			t.Errorf("it is there, at %s, after it was deleted", got)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run returned %v", err)
		}
	})
}

// slowScript is a script whose lists wait to be let go on.
type slowScript struct {
	script
	goOn chan struct{}
}

func (s *slowScript) List(ctx context.Context, opts metav1.ListOptions, yield func(reflector.Event[*widget], error) bool) (metav1.ListMeta, error) {
	select {
	case <-s.goOn:
	case <-ctx.Done():
		return metav1.ListMeta{}, ctx.Err()
	}
	return s.script.List(ctx, opts, yield)
}

// TestWrittenOutlivesRun: the store keeps a write that the watch has not brought, and the first list of the
// next Run takes it back only if it is as new.
func TestWrittenOutlivesRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		w := must1(fake.Create(server, newWidget("a", "w", "n")))(t)
		inf := newInformer(t, source(t, server), informer.Options[*widget]{})
		stop := run(t, inf)
		ahead := *w
		ahead.ResourceVersion = "1000"
		if err := inf.RecordWrite(&ahead, ""); err != nil || version(inf, "w") != "1000" {
			t.Errorf("RecordWrite returned %v, reads are at %s", err, version(inf, "w"))
		}
		stop()
		if got := version(inf, "w"); got != "1000" {
			t.Errorf("at %s after Run, want the write", got)
		}
		stop = run(t, inf)
		if got := version(inf, "w"); got != "1000" || inf.Stats().Writes != 1 {
			t.Errorf("at %s in the next Run, with %d writes ahead, want the write", got, inf.Stats().Writes)
		}
		stop()
	})
}

// TestReadYourWrites: a read directly after a write returns that write or a later one, at any
// speed of the watch.
func TestReadYourWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		inf := newInformer(t, source(t, server), informer.Options[*widget]{OnError: ignore})
		stop := run(t, inf)
		defer stop()
		lister := informer.NewLister(inf)
		for n := range 2000 {
			k := key{Namespace: fmt.Sprint("ns", n%3), Name: "w"}
			w, err := fake.Get[*widget](server, k)
			switch {
			case err != nil:
				w = must1(fake.Create(server, newWidget(k.Namespace, k.Name, "n")))(t)
				err = inf.RecordWrite(w, "")
			case n%7 == 0:
				w = must1(fake.Delete[*widget](server, k))(t)
				if err := inf.RecordGone(k, "", w.ResourceVersion); err != nil {
					t.Fatal(err)
				}
				if _, err := lister.Get(k); err == nil {
					t.Fatalf("%d: %v was deleted and is there", n, k)
				}
				continue
			default:
				w.Spec.Size++
				w = must1(fake.Update(server, w))(t)
				err = inf.RecordWrite(w, "")
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := lister.Get(k)
			if err != nil || got.ResourceVersion != w.ResourceVersion {
				t.Fatalf("%d: wrote %s, read %v, %v", n, w.ResourceVersion, got, err)
			}
			if objs := lister.In(k.Namespace).List(nil); len(objs) != 1 || objs[0].ResourceVersion != w.ResourceVersion {
				t.Fatalf("%d: wrote %s, listed %v", n, w.ResourceVersion, objs)
			}
		}
	})
}
