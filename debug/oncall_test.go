package debug_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/debug"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/queue"
)

// Keys that fail and keys that were given up are on the page with their last errors, twenty of each, until they succeed.
func TestFailedKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		well := false
		c := controller.New("c", func(_ context.Context, k string) error {
			switch {
			case well || k == "good":
				return nil
			case strings.HasPrefix(k, "up"):
				return controller.Terminal(fmt.Errorf("%s: never", k))
			}
			return fmt.Errorf("%s: not yet", k)
		}, controller.Options[string]{Queue: queue.Options[string]{OnError: func(string, error) {}}})
		page := debug.New(debug.Options{Reconciles: 8})
		if err := page.AddController("c", c); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- c.Run(ctx) }()
		p := &program{t: t, page: page}
		c.Queue().Add("good")
		c.Queue().Add("down")
		for n := range 30 {
			c.Queue().Add(fmt.Sprint("up", n))
		}
		time.Sleep(time.Second)
		synctest.Wait()
		q := p.state("/state.json").Controllers[0]
		if len(q.FailingKeys) != 1 || q.Failing != 1 || q.FailingKeys[0].Key != "down" || q.FailingKeys[0].Error != "down: not yet" || q.FailingKeys[0].Failures < 5 {
			t.Errorf("failing: %d, %+v", q.Failing, q.FailingKeys)
		}
		if len(q.GivenUpKeys) != 20 || q.GivenUp != 30 || q.GivenUpKeys[0].Key != "up0" || q.GivenUpKeys[0].Error != "terminal: up0: never" || q.GivenUpKeys[0].Seconds != 1 {
			t.Errorf("given up: %d, %+v", q.GivenUp, q.GivenUpKeys)
		}
		well = true
		for n := range 30 {
			c.Queue().Add(fmt.Sprint("up", n))
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if q := p.state("/state.json").Controllers[0]; q.Failing != 0 || q.GivenUp != 0 || len(q.FailingKeys)+len(q.GivenUpKeys) != 0 {
			t.Errorf("when all is well: %+v, %+v", q.FailingKeys, q.GivenUpKeys)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// Equal results in a row are one, Again has no error text of its own, and long delays are in days.
func TestResultsInARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		results := []error{nil, nil, errors.New("no"), errors.New("no"), errors.New("no"), errors.New("other"), errors.Join(errors.New("half"), controller.Again(time.Second)), controller.Again(100 * 24 * time.Hour)}
		c := controller.New("c", func(context.Context, string) error {
			err := results[0]
			results = results[1:]
			return err
		}, controller.Options[string]{Queue: queue.Options[string]{OnError: func(string, error) {}, Limiter: noDelay{}}})
		page := debug.New(debug.Options{Reconciles: 100})
		if err := page.AddController("c", c); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- c.Run(ctx) }()
		c.Queue().Add("k")
		synctest.Wait()
		c.Queue().Add("k")
		synctest.Wait()
		c.Queue().Add("k")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		p := &program{t: t, page: page}
		s := p.story("k").Controllers[0]
		var got []string
		for _, r := range s.Reconciles {
			got = append(got, fmt.Sprintf("%d %s %s %v", r.Count, r.Result, r.Error, r.First >= r.Age))
		}
		want := []string{"1 again  true", "1 again half true", "1 failed other true", "2 failed no true", "1 failed no true", "2 succeeded  true"}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		if s.Why != "It is delayed for another 100.0 days." {
			t.Errorf("got %s", s.Why)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// Seventeen reconciles for as many updates are one, with the causes of the newest. Another object or another sort of change
// is another one.
func TestCausesInARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProgram(t, debug.Options{Reconciles: 100})
		stop := p.start("good")
		update := func() (old, now string) {
			s, err := fake.Get[*Secret](p.server, key{Namespace: "a", Name: "good"})
			if err != nil {
				t.Fatal(err)
			}
			old = s.ResourceVersion
			s.Data["password"] += "hidden-value"
			if s, err = fake.Update(p.server, s); err != nil {
				t.Fatal(err)
			}
			return old, s.ResourceVersion
		}
		var old, now string
		for range 17 {
			old, now = update()
			time.Sleep(time.Second)
			synctest.Wait()
		}
		got := p.story("a/good").Controllers[0].Reconciles
		want := []string{"secrets a/good updated " + old + " → " + now + ": data.password"}
		if len(got) != 2 || got[0].Count != 17 || got[0].First-got[0].Age != 16 || !slices.Equal(got[0].Causes, want) || got[1].Count != 1 {
			t.Errorf("got %+v", got)
		}
		p.control.Queue().Add(key{Namespace: "a", Name: "good"})
		time.Sleep(time.Second)
		update()
		time.Sleep(time.Second)
		synctest.Wait()
		if got := p.story("a/good").Controllers[0].Reconciles; len(got) != 4 {
			t.Errorf("with others: %+v", got)
		}
		stop()
	})
}

// A key that failed or was given up has its last error in its story even if its reconciles are not recorded any more. Of
// another one, the story says how many are recorded.
func TestForgottenReconciles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProgram(t, debug.Options{Reconciles: 1})
		defer p.start("never", "good", "bad")()
		time.Sleep(time.Second)
		synctest.Wait()
		for name, want := range map[string]string{
			"never": "absent: It was given up, and comes back when something adds it. terminal: no such plan",
			"good":  "absent: It is not in the queue, and no reconcile of it is recorded: only the newest 1 are, of all keys. ",
			"bad":   "delayed: It is delayed for another * <b>no such thing</b>",
		} {
			c, last := p.story("a/" + name).Controllers[0], ""
			if c.LastError != nil {
				last = c.LastError.Error
			}
			before, after, _ := strings.Cut(want, "*")
			if got := fmt.Sprintf("%s: %s %s", c.State, c.Why, last); !strings.HasPrefix(got, before) || !strings.HasSuffix(got, after) {
				t.Errorf("%s: got %s", name, got)
			}
		}
	})
}

// A key behind others that hang says which one has been running for longest.
func TestBehindAHangingKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controller.New("c", func(ctx context.Context, _ string) error {
			<-ctx.Done()
			return nil
		}, controller.Options[string]{})
		p := &program{t: t, page: debug.New(debug.Options{Reconciles: 8}), run: c.Run}
		if err := p.page.AddController("c", c); err != nil {
			t.Fatal(err)
		}
		defer p.start()()
		c.Queue().Add("hangs")
		time.Sleep(65 * time.Second)
		c.Queue().Add("waits")
		const want = "Keys queued before it: 0. Keys running: 1. Of these, hangs has been running for longest: 1m5s."
		if got := p.story("waits").Controllers[0].Why; got != want {
			t.Errorf("got %s", got)
		}
	})
}

// A controller without workers says which of its caches is not filled, and why. When the list is tried again is not in that
// text, which would be out of date.
func TestUnfilledCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProgram(t, debug.Options{})
		for _, verb := range []faults.Verb{faults.VerbList, faults.VerbWatch} {
			if err := p.server.Inject(faults.Fault{Verb: verb, Times: 1000, Status: faults.Refusal(403, metav1.StatusReasonForbidden, 0)}); err != nil {
				t.Fatal(err)
			}
		}
		defer p.start()()
		time.Sleep(time.Minute)
		s := p.state("/state.json")
		const failing = `list at resourceVersion "0" failed: refused by a fault: Forbidden`
		if f := s.Informers[0].Failing; f == nil || f.Error != failing {
			t.Errorf("got %+v", f)
		}
		const want = `the cache of secrets is not filled: requests have failed for 1m0s; the last: list at resourceVersion "0" failed, ` +
			"trying again in 4.988s: refused by a fault: Forbidden"
		if got := s.Controllers[0].NoWorkers; got != want {
			t.Errorf("got %s", got)
		}
		if got := p.story("a/one").Controllers[0].Why; got != "It is not in the queue. Reconciles are not recorded. No worker runs: "+want+"." {
			t.Errorf("got %s", got)
		}
	})
}

// noDelay retries at once.
type noDelay struct{}

func (noDelay) Delay(string, int) time.Duration { return 0 }

// A story has the parts that know the key, and names the others. If no queue knows it, the story has all of them.
func TestStoryWithoutOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProgram(t, debug.Options{Events: 8, Reconciles: 8})
		other := newProgram(t, debug.Options{})
		if err := errors.Join(debug.AddInformer(p.page, "others", other.inf, nil), p.page.AddController("other", other.control)); err != nil {
			t.Fatal(err)
		}
		defer p.start("good")()
		s := p.story("a/good")
		if len(s.Informers) != 1 || s.Informers[0].Name != "secrets" || len(s.Controllers) != 1 || s.Controllers[0].Name != "sync" || !slices.Equal(s.Unknown, []string{"others", "other"}) {
			t.Errorf("got %+v", s)
		}
		var none debug.Story
		decode(t, p, "/story.json?key=a/none", &none)
		if len(none.Informers) != 0 || len(none.Controllers) != 2 || !slices.Equal(none.Unknown, []string{"secrets", "others"}) {
			t.Errorf("of no key: %+v", none)
		}
	})
}

// The last error of an informer stays when it is over. A list of which nothing comes is named while it lasts.
func TestLastError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProgram(t, debug.Options{})
		for _, fault := range []faults.Fault{
			{Verb: faults.VerbWatch, Times: 1, Status: faults.Refusal(500, metav1.StatusReasonInternalError, 0)},
			{Verb: faults.VerbList, Times: 1, Delay: 40 * time.Second},
		} {
			if err := p.server.Inject(fault); err != nil {
				t.Fatal(err)
			}
		}
		defer p.start("good")()
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if in := p.state("/state.json").Informers[0]; in.State != "failing" || in.Quiet == nil || *in.Quiet < 10 {
			t.Errorf("state %s, quiet %v", in.State, in.Quiet)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		in := p.state("/state.json").Informers[0]
		if in.State != "watching" || in.Quiet != nil || in.Failing != nil || in.LastError == nil || in.LastError.Age < 80 || !strings.Contains(in.LastError.Error, "refused by a fault") {
			t.Errorf("state %s, quiet %v, failing %+v, last %+v", in.State, in.Quiet, in.Failing, in.LastError)
		}
	})
}

// A handler that does not return is marked.
func TestStuckHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProgram(t, debug.Options{})
		release := make(chan struct{})
		stuck := informer.HandlerFunc[key, *Secret](func(informer.Event[key, *Secret]) { <-release })
		if _, err := p.inf.AddHandler(stuck, informer.HandlerOptions[*Secret]{Name: "stuck"}); err != nil {
			t.Fatal(err)
		}
		stop := p.start("good")
		time.Sleep(time.Minute)
		for _, h := range p.state("/state.json").Informers[0].Handlers {
			if (h.Stuck != nil) != (h.Name == "stuck") || h.Stuck != nil && (*h.Stuck < 57 || *h.Stuck > 60) {
				t.Errorf("%s: %v", h.Name, h.Stuck)
			}
		}
		close(release)
		stop()
	})
}

// The marks say why the objects of a cache are small, and the page has the memory of the process.
func TestMemory(t *testing.T) {
	server := fake.New(fake.Options{})
	conn := client.Connection{URL: fake.URL, HTTP: server.Client()}
	secrets := kind.Of[*Secret](schema.GroupVersion{Version: "v1"}, "secrets")
	about := kind.Of[*metav1.PartialObjectMetadata](schema.GroupVersion{Version: "v1"}, "secrets")
	project := func(s *Secret) (types.NamespacedName, error) {
		return types.NamespacedName{Namespace: s.Namespace, Name: s.Name}, nil
	}
	name := func(k types.NamespacedName) (types.NamespacedName, error) { return k, nil }
	page := debug.New(debug.Options{})
	if err := errors.Join(
		debug.AddInformer(page, "plain", controller.Open(conn, secrets), nil),
		debug.AddInformer(page, "metadata", controller.Open(conn, about), nil),
		debug.AddInformer(page, "projected", controller.OpenProjected(conn, secrets, project, name), nil),
	); err != nil {
		t.Fatal(err)
	}
	s := (&program{t: t, page: page}).state("/state.json")
	for _, in := range s.Informers {
		want := map[string]string{"metadata": "metadata only", "projected": "projection"}[in.Name]
		if got := strings.Join(in.Marks, ", "); got != want {
			t.Errorf("%s: %q, want %q", in.Name, got, want)
		}
	}
	if m := s.Memory; m.Heap == 0 || m.Total < m.Heap {
		t.Errorf("got %+v", m)
	}
}

func decode(t *testing.T, p *program, path string, into any) {
	t.Helper()
	if err := json.Unmarshal(get(p.page, path).Body.Bytes(), into); err != nil {
		t.Fatal(err)
	}
}
