package debug_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/debug"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
)

// stuck is a viewer that takes nothing until it is released.
type stuck struct {
	*httptest.ResponseRecorder
	release chan struct{}
}

func (s stuck) Write(b []byte) (int, error) {
	<-s.release
	return len(b), nil
}

// A viewer that takes nothing delays neither the program nor another viewer.
func TestStuckViewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProgram(t, debug.Options{Events: 8, Reconciles: 8})
		defer p.start("good")()
		ctx, cancel := context.WithCancel(context.Background())
		viewer := stuck{httptest.NewRecorder(), make(chan struct{})}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			p.page.ServeHTTP(viewer, httptest.NewRequestWithContext(ctx, http.MethodGet, "/events", nil))
		}()
		synctest.Wait()
		if _, err := fake.Create(p.server, newSecret("late")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if q := p.story("a/late").Controllers[0]; len(q.Reconciles) != 1 {
			t.Errorf("got %+v", q)
		}
		if w := get(p.page, "/state.json"); w.Code != http.StatusOK {
			t.Errorf("status %d", w.Code)
		}
		cancel()
		close(viewer.release)
		<-ended
	})
}

// An event says when each handler got it, and which has not.
func TestSeenBy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProgram(t, debug.Options{Events: 8})
		slow := informer.HandlerFunc[key, *Secret](func(ev informer.Event[key, *Secret]) {
			if ev.Key.Name == "second" {
				time.Sleep(time.Minute)
			}
		})
		if _, err := p.inf.AddHandler(slow, informer.HandlerOptions[*Secret]{Name: "slow one"}); err != nil {
			t.Fatal(err)
		}
		defer p.start()()
		for _, name := range []string{"first", "second", "third"} {
			if _, err := fake.Create(p.server, newSecret(name)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		expect := func(name, want string) {
			t.Helper()
			got := ""
			for _, e := range p.story("a/" + name).Informers[0].Events {
				for _, h := range e.Handlers {
					got += " " + h.Name
					if h.After != nil {
						got += fmt.Sprintf("=%v", *h.After)
					}
				}
			}
			if got != want {
				t.Errorf("%s: got %s, want %s", name, got, want)
			}
		}
		expect("first", " handler 1=0 slow one=0")
		expect("second", " handler 1=0 slow one=0")
		expect("third", " handler 1=0 slow one")
		time.Sleep(time.Minute)
		synctest.Wait()
		expect("third", " handler 1=0 slow one=60")
	})
}
