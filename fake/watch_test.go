package fake_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/reflector"
)

// recording has the events of a watch so far, one line per event.
type recording struct {
	mu    sync.Mutex
	lines []string
	err   error
	ended bool
}

// end waits for the bubble and returns whether and how the watch ended.
func (r *recording) end() (bool, error) {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended, r.err
}

// record watches in a goroutine of the bubble, until the test ends.
func record(t *testing.T, s *fake.Server, sel fake.Selection, opts metav1.ListOptions) *recording {
	t.Helper()
	src := must(fake.NewSource[*pod](s, sel))(t)
	ctx, cancel := context.WithCancel(t.Context())
	r := &recording{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ev, err := range src.Watch(ctx, opts) {
			if err != nil {
				r.mu.Lock()
				r.err = err
				r.mu.Unlock()
				break
			}
			line := ev.Type.String() + " " + ev.ResourceVersion
			if ev.Object != nil {
				line += " " + ev.Object.Namespace + "/" + ev.Object.Name + " node=" + ev.Object.Spec.Node
			}
			if ev.InitialEventsEnd {
				line += " initial-events-end"
			}
			r.mu.Lock()
			r.lines = append(r.lines, line)
			r.mu.Unlock()
		}
		r.mu.Lock()
		r.ended = true
		r.mu.Unlock()
	}()
	t.Cleanup(func() { cancel(); <-done })
	synctest.Wait()
	return r
}

func (r *recording) want(t *testing.T, lines ...string) {
	t.Helper()
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if d := cmp.Diff(lines, r.lines); d != "" {
		t.Errorf("watch (-want +got):\n%s", d)
	}
}

// prepare writes: pods a/p (2, 4) and b/q (3), then deletes b/q (5, 6).
func prepare(t *testing.T, opts fake.Options) *fake.Server {
	t.Helper()
	s := newServer(t, opts)
	must(fake.Create(s, newPod("a", "p")))(t)
	must(fake.Create(s, newPod("b", "q")))(t)
	must(fake.Patch[*pod](s, key("a", "p"), []byte(`{"spec":{"node":"n1"}}`)))(t)
	must(fake.Delete[*pod](s, key("b", "q")))(t)
	return s
}

var (
	yes        = true
	no         = false
	notOlder   = metav1.ResourceVersionMatchNotOlderThan
	initialEnd = " initial-events-end"
)

func TestWatchStarts(t *testing.T) {
	const (
		state = "ADDED 4 a/p node=n1"
		next  = "ADDED 7 c/r node="
	)
	history := []string{"ADDED 2 a/p node=", "ADDED 3 b/q node=", "MODIFIED 4 a/p node=n1", "MODIFIED 5 b/q node=", "DELETED 6 b/q node="}
	for _, c := range []struct {
		name string
		opts metav1.ListOptions
		want []string
	}{
		{"unset", metav1.ListOptions{}, []string{state, next}},
		{"zero", metav1.ListOptions{ResourceVersion: "0"}, []string{state, next}},
		{"zero with bookmarks", metav1.ListOptions{ResourceVersion: "0", AllowWatchBookmarks: true}, []string{state, "BOOKMARK 6" + initialEnd, next}},
		{"first", metav1.ListOptions{ResourceVersion: "1"}, append(history[:5:5], next)},
		{"middle", metav1.ListOptions{ResourceVersion: "3"}, append(history[2:5:5], next)},
		{"now", metav1.ListOptions{ResourceVersion: "6"}, []string{next}},
		{"yet to come", metav1.ListOptions{ResourceVersion: "7"}, nil},
		{"initial", metav1.ListOptions{SendInitialEvents: &yes, ResourceVersionMatch: notOlder, AllowWatchBookmarks: true}, []string{state, "BOOKMARK 6" + initialEnd, next}},
		{"initial without bookmarks", metav1.ListOptions{SendInitialEvents: &yes, ResourceVersionMatch: notOlder, ResourceVersion: "2"}, []string{state, next}},
		{"no initial", metav1.ListOptions{SendInitialEvents: &no, ResourceVersionMatch: notOlder}, []string{next}},
		{"no initial from middle", metav1.ListOptions{SendInitialEvents: &no, ResourceVersionMatch: notOlder, ResourceVersion: "4"}, []string{history[3], history[4], next}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := prepare(t, fake.Options{})
				r := record(t, s, fake.Selection{}, c.opts)
				must(fake.Create(s, newPod("c", "r")))(t)
				r.want(t, c.want...)
				if ended, err := r.end(); ended {
					t.Errorf("the watch ended: %v", err)
				}
			})
		})
	}
}

func TestWatchRefusals(t *testing.T) {
	for _, c := range []struct {
		name   string
		server fake.Options
		opts   metav1.ListOptions
		code   int32
		reason metav1.StatusReason
	}{
		{"too old", fake.Options{}, metav1.ListOptions{ResourceVersion: "3"}, 410, metav1.StatusReasonExpired},
		{"no number", fake.Options{}, metav1.ListOptions{ResourceVersion: "x"}, 400, metav1.StatusReasonBadRequest},
		{"bad labels", fake.Options{}, metav1.ListOptions{LabelSelector: "a in"}, 400, metav1.StatusReasonBadRequest},
		{"initial without match", fake.Options{}, metav1.ListOptions{SendInitialEvents: &yes}, 422, metav1.StatusReasonInvalid},
		{"match without initial", fake.Options{}, metav1.ListOptions{ResourceVersionMatch: notOlder, ResourceVersion: "1"}, 422, metav1.StatusReasonInvalid},
		{"initial from the future", fake.Options{}, metav1.ListOptions{SendInitialEvents: &yes, ResourceVersionMatch: notOlder, ResourceVersion: "9"}, 504, metav1.StatusReasonTimeout},
		{"old server", fake.Options{NoWatchList: true}, metav1.ListOptions{SendInitialEvents: &yes, ResourceVersionMatch: notOlder}, 422, metav1.StatusReasonInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := prepare(t, c.server)
				check(t, s.Compact("4"))
				r := record(t, s, fake.Selection{}, c.opts)
				r.want(t)
				_, err := r.end()
				wantStatus(t, err, c.code, c.reason)
			})
		})
	}
}

func TestOldServerSendsStateFromZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := prepare(t, fake.Options{NoWatchList: true})
		r := record(t, s, fake.Selection{}, metav1.ListOptions{ResourceVersion: "0", AllowWatchBookmarks: true})
		r.want(t, "ADDED 4 a/p node=n1")
	})
}

func TestWatchSelections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, fake.Options{})
		label := record(t, s, fake.Selection{LabelSelector: "app=web"}, metav1.ListOptions{ResourceVersion: "1"})
		namespace := record(t, s, fake.Selection{Namespace: "a"}, metav1.ListOptions{ResourceVersion: "1"})
		field := record(t, s, fake.Selection{}, metav1.ListOptions{ResourceVersion: "1", FieldSelector: "metadata.namespace!=a,metadata.name=p"})
		for _, patch := range []string{`{"metadata":{"labels":{"app":"web"}}}`, `{"spec":{"node":"n1"}}`, `{"spec":{"node":"n2"},"metadata":{"labels":{"app":"db"}}}`, `{"metadata":{"labels":null}}`, `{"metadata":{"labels":{"app":"web"}}}`} {
			if s.ResourceVersion() == "1" {
				must(fake.Create(s, newPod("a", "p")))(t)
			}
			must(fake.Patch[*pod](s, key("a", "p"), []byte(patch)))(t)
		}
		must(fake.Delete[*pod](s, key("a", "p")))(t)
		must(fake.Create(s, newPod("b", "p")))(t)
		must(fake.Create(s, newPod("b", "q")))(t)
		label.want(t, "ADDED 3 a/p node=", "MODIFIED 4 a/p node=n1", "DELETED 5 a/p node=n1", "ADDED 7 a/p node=n2", "MODIFIED 8 a/p node=n2", "DELETED 9 a/p node=n2")
		namespace.want(t, "ADDED 2 a/p node=", "MODIFIED 3 a/p node=", "MODIFIED 4 a/p node=n1", "MODIFIED 5 a/p node=n2", "MODIFIED 6 a/p node=n2", "MODIFIED 7 a/p node=n2", "MODIFIED 8 a/p node=n2", "DELETED 9 a/p node=n2")
		field.want(t, "ADDED 10 b/p node=")
	})
}

func TestBookmarksKeepTheirPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, fake.Options{})
		with := record(t, s, fake.Selection{Namespace: "a"}, metav1.ListOptions{ResourceVersion: "1", AllowWatchBookmarks: true})
		without := record(t, s, fake.Selection{}, metav1.ListOptions{ResourceVersion: "1"})
		s.Bookmark()
		must(fake.Create(s, newPod("a", "p")))(t)
		s.Bookmark()
		must(fake.Create(s, newPod("b", "p")))(t)
		s.Bookmark()
		with.want(t, "BOOKMARK 1", "ADDED 2 a/p node=", "BOOKMARK 2", "BOOKMARK 3")
		without.want(t, "ADDED 2 a/p node=", "ADDED 3 b/p node=")
		late := record(t, s, fake.Selection{}, metav1.ListOptions{ResourceVersion: "3", AllowWatchBookmarks: true})
		late.want(t)
		s.Bookmark()
		late.want(t, "BOOKMARK 3")
	})
}

func TestTimeoutSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, fake.Options{})
		seconds := int64(30)
		r := record(t, s, fake.Selection{Namespace: "a"}, metav1.ListOptions{ResourceVersion: "1", TimeoutSeconds: &seconds, AllowWatchBookmarks: true})
		time.Sleep(20 * time.Second)
		must(fake.Create(s, newPod("a", "p")))(t)
		must(fake.Create(s, newPod("b", "p")))(t)
		r.want(t, "ADDED 2 a/p node=")
		time.Sleep(10*time.Second - time.Nanosecond)
		r.want(t, "ADDED 2 a/p node=")
		if ended, _ := r.end(); ended {
			t.Error("ended early")
		}
		must(fake.Create(s, &widget{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "w"}}))(t)
		time.Sleep(time.Nanosecond)
		r.want(t, "ADDED 2 a/p node=", "BOOKMARK 4")
		if ended, err := r.end(); !ended || err != nil {
			t.Errorf("ended %t with %v, want an orderly end", ended, err)
		}
	})
}

// TestSlowWatchExpires checks that a watch which falls behind the history says so: it
// must not skip what it lost.
func TestSlowWatchExpires(t *testing.T) {
	s := newServer(t, fake.Options{})
	src := must(fake.NewSource[*pod](s, fake.Selection{}))(t)
	must(fake.Create(s, newPod("a", "p")))(t)
	last := 0
	for ev, err := range src.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "1"}) {
		if err != nil {
			wantStatus(t, err, 410, metav1.StatusReasonExpired)
			return
		}
		if last++; ev.ResourceVersion != fmt.Sprint(last+1) {
			t.Fatalf("event %d at %s", last, ev.ResourceVersion)
		}
		if last == 1 {
			for i := range 1000 {
				must(fake.Create(s, newPod("a", fmt.Sprintf("p%d", i))))(t)
			}
			check(t, s.Compact("900"))
		}
	}
	t.Errorf("%d events and no error", last)
}

// TestHistoryLength checks that Options.History counts the writes of all resources.
func TestHistoryLength(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, fake.Options{History: 10})
		for i := range 150 {
			must(fake.Create(s, newPod("a", fmt.Sprintf("p%d", i))))(t)
			must(fake.Create(s, &widget{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: fmt.Sprintf("w%d", i)}}))(t)
		}
		old := record(t, s, fake.Selection{}, metav1.ListOptions{ResourceVersion: "290"})
		kept := record(t, s, fake.Selection{}, metav1.ListOptions{ResourceVersion: "291"})
		kept.want(t, "ADDED 292 a/p145 node=", "ADDED 294 a/p146 node=", "ADDED 296 a/p147 node=", "ADDED 298 a/p148 node=", "ADDED 300 a/p149 node=")
		_, err := old.end()
		if status := wantStatus(t, err, 410, metav1.StatusReasonExpired); status.Message != "too old resource version: 290 (291)" {
			t.Error(status.Message)
		}
	})
}

func TestWatchEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := must(fake.NewSource[*pod](newServer(t, fake.Options{}), fake.Selection{}))(t)
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(cause) })
		var got []error
		for _, err := range src.Watch(ctx, metav1.ListOptions{}) {
			got = append(got, err)
		}
		if len(got) != 1 || !errors.Is(got[0], cause) {
			t.Errorf("got %v, want only %v", got, cause)
		}
	})
}

func TestDropWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, fake.Options{})
		r := record(t, s, fake.Selection{}, metav1.ListOptions{ResourceVersion: "1"})
		synctest.Wait()
		s.DropWatches()
		after := record(t, s, fake.Selection{}, metav1.ListOptions{ResourceVersion: "1"})
		must(fake.Create(s, newPod("a", "p")))(t)
		r.want(t)
		if _, err := r.end(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("dropped with %v", err)
		}
		after.want(t, "ADDED 2 a/p node=")
	})
}

func TestSourceOfOneWatchIsIndependent(t *testing.T) {
	s := prepare(t, fake.Options{})
	src := must(fake.NewSource[*pod](s, fake.Selection{}))(t)
	next := func() (first *pod) {
		for ev, err := range src.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "3"}) {
			check(t, err)
			if ev.Type != reflector.Modified {
				t.Fatalf("got %v", ev)
			}
			return ev.Object
		}
		return nil
	}
	a, b := next(), next()
	if a == b {
		t.Error("two watches share an object")
	}
	if src.Resource() != "pods" {
		t.Errorf("named %q", src.Resource())
	}
}
