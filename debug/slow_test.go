package debug_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"

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

// An event names the handlers that have not finished it, and only these.
func TestBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProgram(t, debug.Options{Events: 8})
		release := make(chan struct{})
		slow := informer.HandlerFunc[key, *Secret](func(ev informer.Event[key, *Secret]) {
			if ev.Key.Name == "second" {
				<-release
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
		expect := func(name string, want ...string) {
			t.Helper()
			events := p.story("a/" + name).Informers[0].Events
			if len(events) != 1 || !slices.Equal(events[0].Behind, want) {
				t.Errorf("%s: got %+v, want %q", name, events, want)
			}
		}
		expect("first")
		expect("second", "slow one")
		expect("third", "slow one")
		close(release)
		synctest.Wait()
		expect("third")
	})
}
