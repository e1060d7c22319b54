package debug_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/debug"
	"github.com/kinform/kinform/queue"
)

var update = flag.Bool("update", false, "write testdata")

func TestGoldenState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProgram(t, debug.Options{Events: 8, Reconciles: 8})
		defer p.start("bad", "good", "slow")()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		var got bytes.Buffer
		if err := json.Indent(&got, get(p.page, "/x/state.json").Body.Bytes(), "", "  "); err != nil {
			t.Fatal(err)
		}
		text := regexp.MustCompile(`("live|"heap|"total)": \d+`).ReplaceAllString(got.String(), `$1": 1`)
		if *update {
			if err := os.WriteFile("testdata/state.json", []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile("testdata/state.json")
		if err != nil || text != string(want) {
			t.Errorf("%v; got\n%s", err, text)
		}
	})
}

func TestStories(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProgram(t, debug.Options{Events: 8, Reconciles: 100})
		stop := p.start("bad", "good", "panics", "slow")
		time.Sleep(time.Second)
		synctest.Wait()
		for name, want := range map[string][2]string{
			"a/bad":    {"delayed", "It is delayed for another"},
			"a/panics": {"delayed", "after 8 failures"},
			"a/good":   {"absent", "Result of the last reconcile: succeeded"},
			"a/slow":   {"running", "A worker has been reconciling it for 1s"},
			"a/none":   {"absent", "no reconcile of it is recorded"},
		} {
			q := p.story(name).Controllers[0]
			if q.State != want[0] || !strings.Contains(q.Why, want[1]) {
				t.Errorf("%s: got %s: %s; want %s: %s", name, q.State, q.Why, want[0], want[1])
			}
		}
		good := p.story("a/good")
		if in := good.Informers[0]; !in.Cached || in.Version == "" || len(in.Events) != 1 || in.Events[0].Type != "Added (initial)" || !strings.HasPrefix(in.Server, "version") {
			t.Errorf("got %+v", in)
		}
		if in := p.story("a/panics").Informers[0]; !strings.Contains(in.Server, "panicked: no") {
			t.Errorf("got %+v", in)
		}
		if r := p.story("a/panics").Controllers[0].Reconciles; len(r) == 0 || r[0].Result != "panicked" {
			t.Errorf("got %+v", r)
		}
		stop()
		if q := p.story("a/good").Controllers[0]; q.State != "shut down" {
			t.Errorf("after the end: got %+v", q)
		}
	})
}

// A controller's worker that waits for the caches has the key, and reconcile has not begun.
func TestHeldAndQueued(t *testing.T) {
	p := newProgram(t, debug.Options{Reconciles: 4})
	q := p.control.Queue()
	for _, name := range []string{"first", "second", "third"} {
		q.Add(key{Namespace: "a", Name: name})
	}
	item, err := q.Get(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer item.Done()
	if got := p.story("a/first").Controllers[0]; got.State != "held" {
		t.Errorf("got %+v", got)
	}
	if got := p.story("a/third").Controllers[0]; got.State != "queued" || !strings.Contains(got.Why, "before it: 1. Keys running: 1") {
		t.Errorf("got %+v", got)
	}
}

func TestNamesAndNil(t *testing.T) {
	p := newProgram(t, debug.Options{})
	q := queue.New(queue.Options[string]{})
	if err := p.page.AddQueue("q", q); err != nil {
		t.Fatal(err)
	}
	twice := p.page.AddController("sync", p.control)
	none := p.page.AddController("none", nil)
	for err, want := range map[error]error{
		p.page.AddQueue("q", q):                          debug.ErrDuplicate,
		p.page.AddQueue("", q):                           debug.ErrUnnamed,
		debug.AddInformer(p.page, "secrets", p.inf, nil): debug.ErrDuplicate,
		debug.AddInformer(p.page, "", p.inf, nil):        debug.ErrUnnamed,
		twice: debug.ErrDuplicate,
		none:  debug.ErrNoPart,
		p.page.AddQueue("r", (*queue.Queue[string])(nil)):   debug.ErrNoPart,
		p.page.AddReplica("r", nil):                         debug.ErrNoPart,
		p.page.AddFactory(nil):                              debug.ErrNoPart,
		debug.AddInformer[key, *Secret](nil, "x", nil, nil): debug.ErrNoPart,
	} {
		if !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	for err, want := range map[error]string{
		twice: `debug: controller "sync": the name is taken: give each its own name`,
		none:  `debug: controller "none": it is nil: make it before you add it`,
		debug.AddInformer[key, *Secret](nil, "x", nil, nil): `debug: informer "x": the page: it is nil: make it before you add it`,
	} {
		if err.Error() != want {
			t.Errorf("got %v, want %v", err, want)
		}
	}
}

// Nothing is recorded unless an option says so, and no handler is added.
func TestOffByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProgram(t, debug.Options{})
		defer p.start("good")()
		if n := len(p.inf.Handlers()); n != 1 {
			t.Errorf("%d handlers, want the controller's only", n)
		}
		if p.control.LastErrors() != nil || p.control.Traced("a/good") != nil || p.inf.Traced("a/good") != nil {
			t.Error("something is recorded")
		}
	})
}

func TestHostileKeys(t *testing.T) {
	page := debug.New(debug.Options{})
	q := queue.New(queue.Options[string]{})
	if err := page.AddQueue("q", q); err != nil {
		t.Fatal(err)
	}
	keys := map[string]string{
		"a\xff": `a\xff`, `a\xff`: `a\\xff`, "<script>alert(1)</script>": "<script>alert(1)</script>", "😀": "😀",
		"\u202eevil": `\u202eevil`, "\x00": `\x00`, strings.Repeat("x", 253): strings.Repeat("x", 253), "שלום": "שלום",
	}
	for k := range keys {
		q.Add(k)
	}
	p := program{t: t, page: page}
	for k, text := range keys {
		if got := p.story(text).Queues[0]; got.State != "queued" {
			t.Errorf("%q as %q: got %+v", k, text, got)
		}
	}
	body := get(page, "/state.json").Body.String()
	if strings.Contains(body, "<script>") || strings.ContainsRune(body, '\u202e') || strings.ContainsRune(body, '\ufffd') {
		t.Errorf("not escaped: %s", body)
	}
	q.ShutDown()
	if body := get(page, "/queues.json").Body.String(); !strings.Contains(body, "queuedKeys") {
		t.Errorf("got %s", body)
	}
}

func TestSecretsStayHidden(t *testing.T) {
	for _, show := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p := newProgram(t, debug.Options{Events: 8, Reconciles: 8, Objects: show})
			defer p.start("good")()
			body := get(p.page, "/story.json?key=a/good").Body.String()
			if strings.Contains(body, "hidden-value") || strings.Contains(body, `"object"`) != show {
				t.Errorf("show %v: got %s", show, body)
			}
		})
	}
}

func TestNeverStarted(t *testing.T) {
	p := newProgram(t, debug.Options{Events: 1, Reconciles: 1})
	if body := get(p.page, "/informers.json").Body.String(); !strings.Contains(body, `"state":"never started"`) {
		t.Errorf("got %s", body)
	}
}

// The page names results, and counts them, as the queue does.
func TestResultsAsTheQueueSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controller.New("c", func(ctx context.Context, k string) error {
			if k == "both" {
				return errors.Join(queue.Terminal(errors.New("no")), queue.Again(time.Hour))
			}
			<-ctx.Done()
			return ctx.Err()
		}, controller.Options[string]{Queue: queue.Options[string]{OnError: func(string, error) {}}})
		page := debug.New(debug.Options{Reconciles: 8})
		if err := page.AddController("c", c); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- c.Run(ctx) }()
		c.Queue().Add("both")
		synctest.Wait()
		c.Queue().Add("cut")
		synctest.Wait()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		p := program{t: t, page: page}
		for k, want := range map[string]string{"both": "again", "cut": "cut short"} {
			if r := p.story(k).Controllers[0].Reconciles; len(r) != 1 || r[0].Result != want {
				t.Errorf("%s: got %+v, want %s", k, r, want)
			}
		}
		var state debug.State
		if err := json.Unmarshal(get(page, "/state.json").Body.Bytes(), &state); err != nil {
			t.Fatal(err)
		}
		q := state.Controllers[0]
		if q.Counts == nil || *q.Counts != (debug.Counts{Again: 1, CutShort: 1}) || len(q.FailingKeys) != 0 {
			t.Errorf("got %+v, failing %+v", q.Counts, q.FailingKeys)
		}
	})
}
