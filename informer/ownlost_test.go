package informer_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/reflector"
)

// A write of a history that the server has lost, however far its version is above the server's, is undone once it
// counts as lost, and list or watch have brought something of the object.
func TestLostWriteIsUndone(t *testing.T) {
	const far = 1_000_000
	for name, c := range map[string]struct {
		do   func(src *byHand[*widget], inf *informer.Informer[key, *widget])
		want string
	}{
		"by an event": {func(src *byHand[*widget], inf *informer.Informer[key, *widget]) {
			src.send(reflector.Modified, 22, at("w", 22))
		}, "22"},
		"by a deletion": {func(src *byHand[*widget], inf *informer.Informer[key, *widget]) {
			src.send(reflector.Deleted, 22, at("w", 22))
		}, ""},
		"by a list that has it": {func(src *byHand[*widget], inf *informer.Informer[key, *widget]) {
			src.set(listOf("30", at("w", 25)))
			src.fail(errGone)
		}, "25"},
		"by a list that has it unchanged": {func(src *byHand[*widget], inf *informer.Informer[key, *widget]) {
			src.set(listOf("30", at("w", 10)))
			src.fail(errGone)
		}, "10"},
		"by a list without it": {func(src *byHand[*widget], inf *informer.Informer[key, *widget]) {
			src.set(listOf("30"))
			src.fail(errGone)
		}, ""},
		"not by other objects": {func(src *byHand[*widget], inf *informer.Informer[key, *widget]) {
			src.send(reflector.Added, 22, at("x", 22))
		}, fmt.Sprint(far)},
	} {
		t.Run(name, func(t *testing.T) {
			withByHand(t, informer.Options[*widget]{}, func(src *byHand[*widget], inf *informer.Informer[key, *widget]) {
				events := heard(t, inf)
				must(t, inf.RecordWrite(at("w", far), ""))
				c.do(src, inf)
				if got := version(inf, "w"); got != fmt.Sprint(far) {
					t.Errorf("w is at %q at once, want the write", got)
				}
				for rv := range 10 {
					time.Sleep(time.Minute)
					src.bookmark(100 + rv)
				}
				if got := version(inf, "w"); got != c.want {
					t.Errorf("w is at %q ten minutes later, want %q (%s; %s)", got, c.want, events(), dump(inf))
				}
			})
		})
	}
}

// So is a deletion, with a UID or without.
func TestLostDeletionIsUndone(t *testing.T) {
	for _, uid := range []types.UID{"", "uid"} {
		for _, rv := range []int{20, 1_000_000} {
			t.Run(fmt.Sprintf("uid=%q at %d", uid, rv), func(t *testing.T) {
				withByHand(t, informer.Options[*widget]{}, func(src *byHand[*widget], inf *informer.Informer[key, *widget]) {
					events := heard(t, inf)
					must(t, inf.RecordGone(key{Namespace: "a", Name: "w"}, uid, fmt.Sprint(rv)))
					src.send(reflector.Modified, 15, at("w", 15))
					if got := version(inf, "w"); got != "" {
						t.Errorf("w is at %s at once", got)
					}
					for rv := range 10 {
						time.Sleep(time.Minute)
						src.bookmark(100 + rv)
					}
					if got := version(inf, "w"); got != "15" || inf.Stats().Writes != 0 {
						t.Errorf("w is at %q ten minutes later, want 15 (%s; %s)", got, events(), dump(inf))
					}
				})
			})
		}
	}
}

// A watch that is silent tells nothing, so the write stays whatever came before.
func TestWriteStaysWhileTheWatchIsSilent(t *testing.T) {
	withByHand(t, informer.Options[*widget]{}, func(src *byHand[*widget], inf *informer.Informer[key, *widget]) {
		must(t, inf.RecordWrite(at("w", 20), ""))
		must(t, inf.RecordWrite(at("w", 21), ""))
		must(t, inf.RecordWrite(at("x", 22), ""))
		src.send(reflector.Modified, 20, at("w", 20))
		time.Sleep(time.Hour)
		if w, x := version(inf, "w"), version(inf, "x"); w != "21" || x != "22" {
			t.Errorf("w is at %q, x at %q, want 21 and 22", w, x)
		}
	})
}

// A lost write that is undone is lost once more: then a handle asks the server for the object.
func TestUndoneWriteIsToldOf(t *testing.T) {
	withByHand(t, informer.Options[*widget]{}, func(src *byHand[*widget], inf *informer.Informer[key, *widget]) {
		must(t, inf.RecordWrite(at("w", 1000), ""))
		src.send(reflector.Modified, 22, at("w", 22))
		time.Sleep(3 * time.Minute)
		_, seen, _ := inf.LostKeys(0)
		src.bookmark(30)
		time.Sleep(2 * time.Minute)
		if got := version(inf, "w"); got != "22" {
			t.Fatalf("w is at %q, want 22", got)
		}
		if keys, _, _ := inf.LostKeys(seen); len(keys) != 1 {
			t.Errorf("lost keys %v when the write is undone", keys)
		}
		if n := inf.Stats().LostWrites; n != 1 {
			t.Errorf("%d lost writes", n)
		}
		must(t, inf.RecordWrite(at("w", 40), ""))
		if got := version(inf, "w"); got != "40" {
			t.Errorf("w is at %q after another write, want 40", got)
		}
	})
}

// The list of a namespace tells only of its own keys.
func TestLostWriteIsUndoneInNamespace(t *testing.T) {
	withPlaces(t, func(u *places, a, b *byHand[*widget]) {
		must(t, u.RecordWrite(at("w", 1_000_000), ""))
		must(t, u.RecordWrite(at("x", 1_000_001), ""))
		must(t, u.RecordGone(key{Namespace: "a", Name: "y"}, "", "1000002"))
		a.send(reflector.Added, 15, at("y", 15))
		b.set(listOf("20"))
		b.fail(errGone)
		for rv := range 10 {
			time.Sleep(time.Minute)
			a.bookmark(100 + rv)
			b.bookmark(100 + rv)
		}
		if w, x, y := version(u.AsInformer(), "w"), version(u.AsInformer(), "x"), version(u.AsInformer(), "y"); w != "1000000" || x != "1000001" || y != "15" {
			t.Errorf("w is at %q, x at %q, y at %q, want 1000000, 1000001 and 15: b cannot have them", w, x, y)
		}
		a.set(listOf("200", at("w", 10), at("y", 15)))
		a.fail(errGone)
		for rv := range 10 {
			time.Sleep(time.Minute)
			a.bookmark(300 + rv)
			b.bookmark(300 + rv)
		}
		if w, x, n := version(u.AsInformer(), "w"), version(u.AsInformer(), "x"), u.Stats().Writes; w != "10" || x != "" || n != 0 {
			t.Errorf("w is at %q, x at %q, want 10 and none; %d writes are ahead", w, x, n)
		}
	})
}

// withPlaces runs test with an informer over namespace a, which holds a/w at version 10, and b.
func withPlaces(t *testing.T, test func(u *places, a, b *byHand[*widget])) {
	synctest.Test(t, func(t *testing.T) {
		u := newPlaces(t, informer.Options[*widget]{OnError: ignore, Reflector: reflector.Tuning{DisableWatchList: true, IdleTimeout: -1}})
		a := &byHand[*widget]{events: make(chan byHandEvent[*widget])}
		a.set(listOf("10", at("w", 10)))
		u.add(t, "a", a)
		b := &byHand[*widget]{events: make(chan byHandEvent[*widget])}
		b.set(listOf("10"))
		u.add(t, "b", b)
		defer run(t, u.AsInformer())()
		test(u, a, b)
	})
}

// What makes room for other writes leaves the store, as a write that the watch has passed.
func TestMakingRoomLeavesNothing(t *testing.T) {
	withByHand(t, informer.Options[*widget]{OnError: ignore}, func(src *byHand[*widget], inf *informer.Informer[key, *widget]) {
		write := func(first, n int) {
			for i := range n {
				must(t, inf.RecordWrite(at(fmt.Sprint("n", first+i), 20+first+i), ""))
			}
		}
		write(0, 10_000)
		time.Sleep(3 * time.Minute)
		write(10_000, 5)
		src.bookmark(100_000)
		if got := inf.Store().Len(); got != 1 || version(inf, "w") != "10" {
			t.Errorf("%d objects are left, want w alone: %.200s", got, dump(inf))
		}
	})
}

// A write that the store refuses keeps no other state out, and is not waited for.
func TestRefusedWriteLeavesNoTrace(t *testing.T) {
	var errs errorsOf
	withByHand(t, informer.Options[*widget]{Indexes: index.Of(panics), OnError: errs.add}, func(src *byHand[*widget], inf *informer.Informer[key, *widget]) {
		for _, bad := range []*widget{badAt("w", 22), badAt("y", 40)} {
			if err := inf.RecordWrite(bad, ""); err == nil {
				t.Fatal("no error")
			}
		}
		if n := inf.Stats().Writes; n != 0 {
			t.Errorf("%d writes are ahead", n)
		}
		src.send(reflector.Modified, 15, at("w", 15))
		if got := version(inf, "w"); got != "15" {
			t.Errorf("w is at %q, want 15", got)
		}
		src.send(reflector.Modified, 22, badAt("w", 22))
		if got := version(inf, "w"); got != "15" {
			t.Errorf("w is at %q, want 15, the last usable state", got)
		}
		src.send(reflector.Added, 35, at("y", 35))
		if got := version(inf, "y"); got != "35" {
			t.Errorf("y is at %q, want 35", got)
		}
		time.Sleep(10 * time.Minute)
	})
	if lost, ok := find[*informer.LostWriteError](&errs); ok {
		t.Errorf("%v, which was never recorded", lost)
	}
}

// What was put aside for the write before stays with it, if another one is refused.
func TestRefusedWriteKeepsAside(t *testing.T) {
	withByHand(t, informer.Options[*widget]{Indexes: index.Of(panics)}, func(src *byHand[*widget], inf *informer.Informer[key, *widget]) {
		must(t, inf.RecordWrite(at("w", 1000), ""))
		src.send(reflector.Modified, 15, at("w", 15))
		if err := inf.RecordWrite(badAt("w", 1001), ""); err == nil {
			t.Fatal("no error")
		}
		if rv, _ := inf.PendingWrite(key{Namespace: "a", Name: "w"}); rv != "1000" {
			t.Errorf("the write at %q is ahead, want 1000", rv)
		}
		src.bookmark(1000)
		if got := version(inf, "w"); got != "15" {
			t.Errorf("w is at %q, want 15", got)
		}
	})
}

// If what was put aside cannot be stored, the store has no object rather than a lost write.
func TestAsideThatIsRefused(t *testing.T) {
	var errs errorsOf
	withByHand(t, informer.Options[*widget]{Indexes: index.Of(panics), OnError: errs.add}, func(src *byHand[*widget], inf *informer.Informer[key, *widget]) {
		events := heard(t, inf)
		must(t, inf.RecordWrite(at("w", 20), ""))
		src.send(reflector.Modified, 15, badAt("w", 15))
		src.bookmark(30)
		if got := version(inf, "w"); got != "" || events() != "U w@20*, D w@20?" {
			t.Errorf("w is at %q, which the watch has passed (%s)", got, events())
		}
	})
	var bad *reflector.ObjectError
	if bad, _ = find[*reflector.ObjectError](&errs); bad == nil || !errors.As(bad, new(*informer.PanicError)) {
		t.Errorf("the bad object is not reported: %v", errs.all)
	}
}

// A lost deletion is reported as one, with a UID or without.
func TestLostDeletionSaysSo(t *testing.T) {
	for _, uid := range []types.UID{"", "uid"} {
		var errs errorsOf
		withByHand(t, informer.Options[*widget]{OnError: errs.add}, func(_ *byHand[*widget], inf *informer.Informer[key, *widget]) {
			must(t, inf.RecordGone(key{Namespace: "a", Name: "w"}, uid, "20"))
			time.Sleep(3 * time.Minute)
		})
		if lost, ok := find[*informer.LostWriteError](&errs); !ok || !lost.Deleted {
			t.Errorf("uid=%q: got %v, want a lost deletion", uid, errs.all)
		}
	}
}

// A deletion of what the watch has shown makes no room for another write: the object would come back.
func TestDeletionMakesNoRoom(t *testing.T) {
	withByHand(t, informer.Options[*widget]{OnError: ignore}, func(_ *byHand[*widget], inf *informer.Informer[key, *widget]) {
		informer.SetOwnLimit(inf, 1)
		must(t, inf.RecordGone(key{Namespace: "a", Name: "w"}, "uid", "50"))
		time.Sleep(3 * time.Minute)
		if err := inf.RecordWrite(at("x", 60), ""); !errors.Is(err, informer.ErrTooManyWrites) {
			t.Errorf("another write: %v, want ErrTooManyWrites", err)
		}
		if got := version(inf, "w"); got != "" {
			t.Errorf("w is back at %s", got)
		}
	})
}

// After a restore, only a deletion that did not happen there is lost.
func TestDeletionsAndRestore(t *testing.T) {
	var errs errorsOf
	withByHand(t, informer.Options[*widget]{OnError: errs.add}, func(src *byHand[*widget], inf *informer.Informer[key, *widget]) {
		src.send(reflector.Added, 11, at("x", 11))
		must(t, inf.RecordGone(key{Namespace: "a", Name: "w"}, "uid", "20"))
		must(t, inf.RecordGone(key{Namespace: "a", Name: "x"}, "uid", "21"))
		src.set(listOf("5", at("x", 4)))
		src.fail(errGone)
		if w, x, lost := version(inf, "w"), version(inf, "x"), inf.Stats().LostWrites; w != "" || x != "4" || lost != 1 {
			t.Errorf("w is at %q, x at %q, %d lost writes", w, x, lost)
		}
	})
	if lost, ok := find[*informer.LostWriteError](&errs); !ok || lost.Key != "a/x" || !lost.Deleted {
		t.Errorf("got %v, want the lost deletion of x", errs.all)
	}
}

// What leaves the store to make room gives way to the state before it, which has its own version, also if the object
// does not carry it.
func TestMakingRoomForProjection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, x := key{Name: "w"}, key{Name: "x"}
		src := &byHand[projection]{events: make(chan byHandEvent[projection])}
		src.set(func(metav1.ListOptions) ([]reflector.Event[projection], string) {
			return []reflector.Event[projection]{{Type: reflector.Added, ResourceVersion: "10", Object: &projected{Key: w, Text: "10"}}}, "10"
		})
		inf := must1(informer.New(src, projection.key, informer.Options[projection]{Reflector: byHandTuning, OnError: ignore}))(t)
		informer.SetOwnLimit(inf, 1)
		defer run(t, inf)()
		must(t, inf.RecordWrite(&projected{Key: w, Text: "1000"}, "1000"))
		time.Sleep(3 * time.Minute)
		must(t, inf.RecordWrite(&projected{Key: x, Text: "30"}, "30"))
		src.send(reflector.Added, 30, &projected{Key: x, Text: "30"})
		if got, _ := inf.Get(w); got == nil || got.Text != "10" {
			t.Fatalf("w is %v, want the state at 10", got)
		}
		must(t, inf.RecordGone(w, "", "40"))
		if got, ok := inf.Get(w); ok {
			t.Errorf("w is %v after its deletion at 40", got)
		}
	})
}

// A deletion was of a history that the server has lost, and this process deletes the object again. So the first one
// hides nothing that comes after the second.
func TestGoneAgainInOlderHistory(t *testing.T) {
	withByHand(t, informer.Options[*widget]{OnError: ignore}, func(src *byHand[*widget], inf *informer.Informer[key, *widget]) {
		w := key{Namespace: "a", Name: "w"}
		must(t, inf.RecordGone(w, "uid", "1000"))
		src.send(reflector.Modified, 15, at("w", 15))
		src.bookmark(20)
		must(t, inf.RecordGone(w, "uid", "15"))
		src.send(reflector.Deleted, 21, at("w", 21))
		src.send(reflector.Added, 22, another(at("w", 22)))
		if got := version(inf, "w"); got != "22" {
			t.Errorf("w is at %q, want the new one at 22; %s", got, dump(inf))
		}
	})
}
