package informer_test

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/reflector"
)

// TestRecordedWhileInFlight: a namespace's committer has taken a/x at version 20 and cannot commit it
// yet, because a handler lags. Meanwhile the watch brings the end of the object, and this process
// records what it did. No read may then show the state in flight.
func TestRecordedWhileInFlight(t *testing.T) {
	x := key{Namespace: "a", Name: "x"}
	for name, test := range map[string]struct {
		do     func(u *places, a *live[*widget]) error
		oldest string // state that reads may have, empty for none
	}{
		"deleted": {func(u *places, a *live[*widget]) error {
			a.send(reflector.Deleted, 21, at("x", 21))
			return u.RecordGone(x, "", "21")
		}, ""},
		"gone": {func(u *places, a *live[*widget]) error {
			a.send(reflector.Deleted, 21, at("x", 21))
			return u.RecordGone(x, "uid", "20")
		}, ""},
		"written, and then deleted by somebody": {func(u *places, a *live[*widget]) error {
			a.send(reflector.Modified, 21, at("x", 21))
			a.send(reflector.Deleted, 22, at("x", 22))
			return u.RecordWrite(at("x", 21), "")
		}, "21"},
		"deleted, and the namespace leaves": {func(u *places, a *live[*widget]) error {
			u.remove("a")
			synctest.Wait()
			return u.RecordGone(x, "", "21")
		}, ""},
		"deleted before the namespace leaves": {func(u *places, a *live[*widget]) error {
			defer synctest.Wait()
			defer u.remove("a")
			return u.RecordGone(x, "", "21")
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newWidget("b", "w", "n")
				b.ResourceVersion = "10"
				a := &live[*widget]{object: at("w", 10), events: make(chan reflector.Event[*widget])}
				far := &live[*widget]{object: b, events: make(chan reflector.Event[*widget])}
				u := newPlaces(t, informer.Options[*widget]{OnError: ignore, Reflector: reflector.Tuning{DisableWatchList: true, IdleTimeout: -1}})
				informer.SetLag(u.AsInformer(), 1)
				u.add(t, "a", a)
				u.add(t, "b", far)
				goOn := make(chan struct{})
				defer run(t, u.Informer)()
				synctest.Wait()
				must1(u.AddHandler(informer.HandlerFunc[key, *widget](func(ev informer.Event[key, *widget]) { <-goOn }), handlerOptions{}))(t)
				free := sync.OnceFunc(func() { close(goOn) })
				defer free()
				far.bookmark(30)
				a.send(reflector.Modified, 11, at("w", 11))
				a.send(reflector.Modified, 12, at("w", 12)) // after this, the handler lags
				a.send(reflector.Added, 20, at("x", 20))
				if u.Store().Len() != 2 {
					t.Fatal("the object is not in flight")
				}
				if err := test.do(u, a); err != nil {
					t.Error(err)
				}
				read := func() {
					synctest.Wait()
					if w, ok := u.Get(x); ok && (test.oldest == "" || older(w.ResourceVersion, test.oldest)) {
						t.Errorf("read %s, want %q or nothing", w.ResourceVersion, test.oldest)
					}
				}
				read()
				for range 20 {
					select {
					case goOn <- struct{}{}:
					default:
					}
					read()
				}
				free()
				read()
				if _, ok := u.Store().Get(x); ok || u.LostWrites() != 0 {
					t.Errorf("in the end the object is there: %v, %d writes are lost", ok, u.LostWrites())
				}
			})
		})
	}
}
