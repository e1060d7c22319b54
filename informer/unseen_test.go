package informer_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/reflector"
)

// heard returns a function that returns the events since the handler was added: the first letter of
// the type, the name and the version of each, a question mark if the final state is unknown, and a star
// if the event is own.
func heard(t *testing.T, inf *informer.Informer[key, *widget]) func() string {
	var events []string
	must1(inf.AddHandler(informer.HandlerFunc[key, *widget](func(ev informer.Event[key, *widget]) {
		text := ev.Type.String()[:1] + " " + ev.Key.Name + "@" + ev.Object.ResourceVersion
		if ev.FinalStateUnknown {
			text += "?"
		}
		if ev.Own {
			text += "*"
		}
		if !ev.Initial {
			events = append(events, text)
		}
	}), informer.HandlerOptions[*widget]{}))(t)
	return func() string {
		synctest.Wait()
		return strings.Join(events, ", ")
	}
}

// TestUnseen: handlers get what was recorded at once, and all that becomes of it.
func TestUnseen(t *testing.T) {
	x, w := key{Namespace: "a", Name: "x"}, key{Namespace: "a", Name: "w"}
	of := func(uid types.UID, obj *widget) *widget {
		obj.UID = uid
		return obj
	}
	for name, test := range map[string]struct {
		do   func(src *live[*widget], inf *informer.Informer[key, *widget]) error
		want string
	}{
		"came and went unseen": {func(src *live[*widget], inf *informer.Informer[key, *widget]) error {
			defer src.bookmark(25)
			return inf.RecordWrite(at("x", 20), "")
		}, "A x@20*, D x@20?"},
		"the watch is behind": {func(src *live[*widget], inf *informer.Informer[key, *widget]) error {
			defer src.bookmark(19)
			return inf.RecordWrite(at("x", 20), "")
		}, "A x@20*"},
		"the watch brings it": {func(src *live[*widget], inf *informer.Informer[key, *widget]) error {
			err := inf.RecordWrite(at("x", 20), "")
			src.send(reflector.Added, 20, at("x", 20))
			src.bookmark(25)
			return err
		}, "A x@20*"},
		"the watch brings all of it": {func(src *live[*widget], inf *informer.Informer[key, *widget]) error {
			err := inf.RecordWrite(at("x", 20), "")
			src.events <- reflector.Event[*widget]{Type: reflector.Added, ResourceVersion: "20", Object: at("x", 20)}
			src.send(reflector.Deleted, 21, at("x", 21))
			src.bookmark(25)
			return err
		}, "A x@20*, D x@21"},
		"the watch brings an older state": {func(src *live[*widget], inf *informer.Informer[key, *widget]) error {
			err := errors.Join(inf.RecordWrite(at("x", 20), ""), inf.RecordWrite(at("x", 22), ""))
			src.send(reflector.Added, 20, at("x", 20))
			src.send(reflector.Deleted, 23, at("x", 23))
			return err
		}, "A x@20*, U x@22*, D x@23"},
		"the newest state": {func(src *live[*widget], inf *informer.Informer[key, *widget]) error {
			err := errors.Join(inf.RecordWrite(at("x", 20), ""), inf.RecordWrite(at("x", 22), ""))
			src.bookmark(21)
			src.bookmark(25)
			return err
		}, "A x@20*, U x@22*, D x@22?"},
		"the write is lost": {func(src *live[*widget], inf *informer.Informer[key, *widget]) error {
			err := inf.RecordWrite(at("x", 20), "")
			time.Sleep(3 * time.Minute)
			src.bookmark(25)
			return err
		}, "A x@20*, D x@20?"},
		"deleted by this process": {func(src *live[*widget], inf *informer.Informer[key, *widget]) error {
			err := errors.Join(inf.RecordWrite(at("x", 20), ""), inf.RecordGone(x, "uid", "20"))
			src.bookmark(25)
			return err
		}, "A x@20*, D x@20?*"},
		"a deletion alone": {func(src *live[*widget], inf *informer.Informer[key, *widget]) error {
			defer src.bookmark(25)
			return inf.RecordGone(x, "", "20")
		}, ""},
		"another object has the name": {func(src *live[*widget], inf *informer.Informer[key, *widget]) error {
			err := inf.RecordWrite(at("x", 20), "")
			src.send(reflector.Added, 23, of("second", at("x", 23)))
			src.bookmark(25)
			return err
		}, "A x@20*, U x@23"},
		"the store has had it": {func(src *live[*widget], inf *informer.Informer[key, *widget]) error {
			err := inf.RecordWrite(at("w", 20), "")
			src.send(reflector.Deleted, 21, at("w", 21))
			src.bookmark(25)
			return err
		}, "U w@20*, D w@21"},
		"made anew": {func(src *live[*widget], inf *informer.Informer[key, *widget]) error {
			err := errors.Join(inf.RecordGone(w, "uid", "10"), inf.RecordWrite(of("second", at("w", 20)), ""))
			src.send(reflector.Deleted, 19, at("w", 19))
			src.bookmark(25)
			return err
		}, "D w@10?*, A w@20*, D w@20?"},
	} {
		t.Run(name, func(t *testing.T) {
			var errs errorsOf
			withLive(t, &errs, func(src *live[*widget], inf *informer.Informer[key, *widget]) {
				events := heard(t, inf)
				if err := test.do(src, inf); err != nil {
					t.Error(err)
				}
				if got := events(); got != test.want {
					t.Errorf("handlers heard %q, want %q", got, test.want)
				}
			})
		})
	}
}

// Only the namespace of an object tells that it is gone.
func TestUnseenInNamespace(t *testing.T) {
	inNamespaceB := newWidget("b", "w", "n")
	inNamespaceB.ResourceVersion, inNamespaceB.UID = "10", "other"
	for _, leaves := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			u := newPlaces(t, informer.Options[*widget]{OnError: ignore, Reflector: reflector.Tuning{DisableWatchList: true, IdleTimeout: -1}})
			a := &live[*widget]{object: at("w", 10), events: make(chan reflector.Event[*widget])}
			b := &live[*widget]{object: inNamespaceB, events: make(chan reflector.Event[*widget])}
			u.add(t, "a", a)
			u.add(t, "b", b)
			defer run(t, u.AsInformer())()
			events := heard(t, u.AsInformer())
			if err := u.RecordWrite(at("x", 20), ""); err != nil {
				t.Error(err)
			}
			want := "A x@20*, D x@20?"
			if leaves {
				u.remove("a")
				want = "A x@20*, D w@10?, D x@20?"
				b.bookmark(30)
			} else {
				if b.bookmark(30); events() != "A x@20*" {
					t.Errorf("handlers heard %q while the member is at 10", events())
				}
				a.bookmark(25)
			}
			heard := strings.Split(events(), ", ")
			slices.Sort(heard) // the two objects end at the same time
			if got := strings.Join(heard, ", "); got != want {
				t.Errorf("handlers heard %q, want %q", got, want)
			}
		})
	}
}

// A write that was ahead at the end of Run is settled in the next one.
func TestUnseenInNextRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &live[*widget]{object: at("w", 10), events: make(chan reflector.Event[*widget])}
		inf := newInformer(t, src, informer.Options[*widget]{OnError: ignore, Reflector: reflector.Tuning{DisableWatchList: true, IdleTimeout: -1}})
		events := heard(t, inf)
		stop := run(t, inf)
		if err := inf.RecordWrite(at("x", 20), ""); err != nil {
			t.Error(err)
		}
		stop()
		defer run(t, inf)()
		if got := events(); got != "A x@20*" {
			t.Errorf("after a list at 10, handlers heard %q", got)
		}
		src.bookmark(25)
		if got, want := events(), "A x@20*, D x@20?"; got != want {
			t.Errorf("handlers heard %q, want %q", got, want)
		}
	})
}
