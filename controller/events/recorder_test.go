package events_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller/events"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/kind"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Website is the kind that events are about.
type Website struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
}

var (
	version  = schema.GroupVersion{Group: "example.com", Version: "v1"}
	Websites = kind.Of[*Website](version, "websites")
)

func site(name string) *Website {
	return &Website{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: name, UID: "uid-of-it"}}
}

// wire is the transport to the server. It notes requests, and can lose answers.
type wire struct {
	next http.RoundTripper
	mu   sync.Mutex
	log  []string    // method and path
	at   []time.Time // of each
	lose func() bool // whether to lose an answer; nil means never
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	w.log = append(w.log, r.Method+" "+r.URL.Path)
	w.at = append(w.at, time.Now())
	lose := w.lose != nil && w.lose()
	w.mu.Unlock()
	answer, err := w.next.RoundTrip(r)
	if err == nil && lose {
		_ = answer.Body.Close()
		return nil, errors.New("connection reset by peer")
	}
	return answer, err
}

// requests returns the methods of the requests so far.
func (w *wire) requests() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var methods []string
	for _, line := range w.log {
		method, _, _ := strings.Cut(line, " ")
		methods = append(methods, method)
	}
	return strings.Join(methods, " ")
}

// scene is a server and a recorder at work. It lives in a bubble of virtual time.
type scene struct {
	t        *testing.T
	server   *fake.Server
	wire     *wire
	recorder *events.Recorder
	sites    events.Reporter[*Website]
	stop     func() // ends Run and waits for it

	mu   sync.Mutex
	errs []*events.Error
}

func newScene(t *testing.T, opts events.Options) *scene {
	t.Helper()
	s := &scene{t: t, server: fake.New(fake.Options{})}
	must(t, fake.Register(s.server, events.Kind, fake.Rules{}))
	s.wire = &wire{next: s.server.Client().Transport}
	if opts.Controller == "" {
		opts.Controller, opts.Instance = "example.com/websites", "one"
	}
	if opts.OnError == nil {
		opts.OnError = s.onError
	}
	s.recorder = events.New(client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: s.wire}}, opts)
	s.sites = events.For(s.recorder, Websites)
	must(t, s.recorder.Err())
	return s
}

// run starts the recorder.
func (s *scene) run() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.recorder.Run(ctx) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			s.t.Errorf("Run returned %v", err)
		}
	})
	s.t.Cleanup(s.stop)
}

func (s *scene) onError(err error) {
	var e *events.Error
	if !errors.As(err, &e) {
		s.t.Errorf("not an *Error: %v", err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errs = append(s.errs, e)
}

// reported returns the errors so far.
func (s *scene) reported() []*events.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.errs
}

// stored returns the events that the server has.
func (s *scene) stored() []*events.Event {
	s.t.Helper()
	all, err := client.New(client.Connection{URL: fake.URL, HTTP: s.server.Client()}, events.Kind, client.Options{})
	must(s.t, err)
	var found []*events.Event
	for e, err := range all.Items(context.Background(), metav1.ListOptions{}) {
		must(s.t, err)
		found = append(found, e)
	}
	return found
}

// one returns the only event that the server has.
func (s *scene) one() *events.Event {
	s.t.Helper()
	found := s.stored()
	if len(found) != 1 {
		s.t.Fatalf("the server has %d events, want one", len(found))
	}
	return found[0]
}

// stats checks that no event is unaccounted for.
func (s *scene) stats() events.Stats {
	s.t.Helper()
	stats := s.recorder.Stats()
	if stats.Recorded != stats.Written+stats.Waiting+stats.Dropped.Total() {
		s.t.Errorf("the counts do not add up: %+v", stats)
	}
	return stats
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// count is the number of events that e stands for.
func count(e *events.Event) uint64 {
	if e.Series == nil {
		return 1
	}
	return uint64(e.Series.Count)
}

// settle waits without moving the clock.
func settle() { synctest.Wait() }

// sleep moves the clock.
func sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// Equal events are one Event. The first is written at once, and the others by one patch.
func TestSeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, events.Options{})
		s.run()
		began := time.Now()
		s.sites.Normal(site("a"), "Deployed", "Deploy", "has %d replicas", 3)
		settle()
		first := s.one()
		if first.Series != nil || first.Type != "Normal" || first.Reason != "Deployed" || first.Action != "Deploy" ||
			first.Note != "has 3 replicas" || first.Namespace != "prod" || !strings.HasPrefix(first.Name, "a.") ||
			first.ReportingController != "example.com/websites" || first.ReportingInstance != "one" || !first.EventTime.Time.Equal(began) {
			t.Errorf("wrong event: %+v", first)
		}
		if want := (events.Reference{APIVersion: "example.com/v1", Kind: "Website", Namespace: "prod", Name: "a", UID: "uid-of-it"}); first.Regarding != want {
			t.Errorf("the event is about %+v, want %+v", first.Regarding, want)
		}
		for range 99 {
			s.sites.Normal(site("a"), "Deployed", "Deploy", "has %d replicas", 3)
			sleep(time.Millisecond)
		}
		last := time.Now().Add(-time.Millisecond)
		if got := s.wire.requests(); got != "POST" {
			t.Errorf("requests within a second: %s", got)
		}
		sleep(10 * time.Second)
		if e := s.one(); e.Series == nil || e.Series.Count != 100 || !e.Series.LastObservedTime.Time.Equal(last) || !e.EventTime.Time.Equal(began) {
			t.Errorf("wrong series: %+v of %+v, want 100 until %v", e.Series, e, last)
		}
		if stats := s.stats(); stats.Recorded != 100 || stats.Written != 100 || stats.Requests != 2 || stats.Failures != 0 {
			t.Errorf("wrong counts: %+v", stats)
		}
	})
}

// The writes of a series that goes on become rare, and it ends when nothing comes for six minutes.
func TestSeriesEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, events.Options{})
		s.run()
		for range 3600 {
			s.sites.Warning(site("a"), "Failed", "Deploy", "no")
			sleep(time.Second)
		}
		sleep(5 * time.Minute)
		if e := s.one(); count(e) != 3600 || e.Type != "Warning" {
			t.Errorf("wrong event: %+v", e)
		}
		if got := s.stats().Requests; got > 20 {
			t.Errorf("%d requests for a series of an hour", got)
		}
		if got := s.stats().Series; got != 1 {
			t.Errorf("%d series", got)
		}
		sleep(6 * time.Minute)
		if got := s.stats().Series; got != 0 {
			t.Errorf("%d series are kept after the end", got)
		}
		s.sites.Warning(site("a"), "Failed", "Deploy", "no")
		settle()
		if got := s.stored(); len(got) != 2 {
			t.Errorf("%d events, want a second one", len(got))
		}
	})
}

// What differs in one part is another event.
func TestDifferent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, events.Options{})
		for range 2 {
			s.sites.Normal(site("a"), "R", "A", "n")
			s.sites.Warning(site("a"), "R", "A", "n")
			s.sites.Normal(site("b"), "R", "A", "n")
			s.sites.Normal(site("a"), "R2", "A", "n")
			s.sites.Normal(site("a"), "R", "A2", "n")
			s.sites.Normal(site("a"), "R", "A", "n2")
			again := site("a")
			again.UID = "another"
			s.sites.Normal(again, "R", "A", "n")
		}
		s.run()
		settle()
		found := s.stored()
		if len(found) != 7 {
			t.Errorf("%d events, want 7", len(found))
		}
		for _, e := range found {
			if count(e) != 2 { // recorded before Run: the first request has both
				t.Errorf("%d times: %+v", count(e), e)
			}
		}
	})
}

func TestNames(t *testing.T) {
	for name, test := range map[string]struct{ object, namespace, wantPrefix, wantNamespace string }{
		"cluster-scoped": {"n1", "", "n1.", "default"},
		"odd":            {"system:node:n1", "prod", "object.", "prod"},
		"long":           {strings.Repeat("x", 253), "prod", strings.Repeat("x", 236) + ".", "prod"},
		"cut at a dot":   {strings.Repeat("x", 235) + "..y", "prod", strings.Repeat("x", 235) + ".", "prod"},
		"long with dots": {strings.Repeat("x", 230) + ".z-.y" + strings.Repeat("y", 17), "prod", "object.", "prod"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, events.Options{})
				s.run()
				s.sites.Normal(&Website{ObjectMeta: metav1.ObjectMeta{Namespace: test.namespace, Name: test.object}}, "R", "A", "n")
				settle()
				e := s.one()
				if !strings.HasPrefix(e.Name, test.wantPrefix) || e.Namespace != test.wantNamespace || e.Regarding.Name != test.object || e.Regarding.Namespace != test.namespace {
					t.Errorf("%s/%s about %v", e.Namespace, e.Name, e.Regarding)
				}
			})
		})
	}
}

func TestInvalid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, events.Options{})
		s.run()
		long := strings.Repeat("x", 129)
		for _, test := range []struct {
			object         *Website
			reason, action string
			want           string
		}{
			{nil, "R", "A", "object is nil"},
			{&Website{ObjectMeta: metav1.ObjectMeta{Namespace: "prod"}}, "R", "A", `Website prod/: not valid: the object has no name`},
			{site("a"), "", "A", "Website prod/a: not valid: reason is empty"},
			{site("a"), "R", "", "Website prod/a: not valid: action is empty"},
			{site("a"), long, "A", "has 129 bytes, more than 128"},
			{site("a"), "R", long, "has 129 bytes, more than 128"},
			{site("a"), "\xff", "A", "not UTF-8"},
			{site("a"), strings.Repeat("\x80", 200), "A", "has 200 bytes"},
			{site("a"), "", "", "reason is empty; action is empty"},
		} {
			before := len(s.reported())
			s.sites.Normal(test.object, test.reason, test.action, "note")
			got := s.reported()[before:]
			if len(got) != 1 || !errors.Is(got[0], events.ErrInvalid) || !strings.Contains(got[0].Error(), test.want) || got[0].Lost != 1 {
				t.Errorf("reported %v, want %q", got, test.want)
			}
		}
		settle()
		if stats := s.stats(); stats.Dropped.Invalid != 9 || stats.Recorded != 9 || stats.Requests != 0 {
			t.Errorf("wrong counts: %+v", stats)
		}
		var none events.Reporter[*Website]
		none.Warning(site("a"), "R", "A", "the zero Reporter records nothing")
	})
}

// A note is cut between runes, and is UTF-8 in any case.
func TestNotes(t *testing.T) {
	for name, note := range map[string]string{
		"fits": strings.Repeat("x", 1024), "long": strings.Repeat("x", 1025), "runes": strings.Repeat("世", 400),
		"odd runes": "x" + strings.Repeat("世", 400), "xx": "xx" + strings.Repeat("世", 400), "not UTF-8": strings.Repeat("\xffx", 600),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, events.Options{})
				s.run()
				s.sites.Normal(site("a"), "R", "A", "%s", note)
				settle()
				got := s.one().Note
				if len(got) > 1024 || len(got) < 1021 || !utf8.ValidString(got) {
					t.Errorf("%d bytes, valid: %t", len(got), utf8.ValidString(got))
				}
				if text, was := strings.CutSuffix(got, "…"); was && name != "not UTF-8" && !strings.HasPrefix(note, text) || !was && got != note {
					t.Errorf("the note is %q", got)
				}
			})
		})
	}
}

// If the kind is not known at compile time, it comes from the object.
func TestKindOfObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, events.Options{})
		s.run()
		any := events.For(s.recorder, kind.OfResource[*unstructured.Unstructured](version.WithResource("websites")))
		must(t, s.recorder.Err())
		u := &unstructured.Unstructured{}
		u.SetName("a")
		any.Normal(u, "R", "A", "n")
		if got := s.reported(); len(got) != 1 || !strings.Contains(got[0].Error(), "kind of the object is not known") {
			t.Errorf("reported %v", got)
		}
		u.SetGroupVersionKind(version.WithKind("Website"))
		any.Normal(u, "R", "A", "n")
		settle()
		if got := s.one().Regarding; got.Kind != "Website" || got.APIVersion != "example.com/v1" {
			t.Errorf("about %+v", got)
		}
	})
}

// A kind that is not valid is reported once Run has begun, because nobody asks for Err then.
func TestLateReporter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, events.Options{})
		s.run()
		settle()
		events.For(s.recorder, &kind.Kind[*Website]{}).Normal(&Website{}, "R", "A", "n")
		if got := s.reported(); len(got) != 1 || !errors.Is(got[0], kind.ErrInvalid) || !errors.Is(s.recorder.Err(), kind.ErrInvalid) {
			t.Errorf("reported %v, Err is %v", got, s.recorder.Err())
		}
	})
}

// TestNobodyRuns: a recorder that nobody runs says so once, and not to a program that is starting.
func TestNobodyRuns(t *testing.T) {
	for run, want := range map[bool]int{true: 0, false: 1} {
		synctest.Test(t, func(t *testing.T) {
			s := newScene(t, events.Options{})
			record := func() { s.sites.Normal(site("a"), "R", "A", "n") }
			record()
			time.Sleep(9 * time.Second)
			record()
			if got := s.reported(); len(got) > 0 {
				t.Errorf("after nine seconds: %v", got)
			}
			if run {
				s.run()
			}
			for range 3 {
				time.Sleep(time.Second)
				record()
			}
			got := s.reported()
			if len(got) != want || want > 0 && !errors.Is(got[0], events.ErrNotRun) {
				t.Errorf("run is %v: reported %v, want %d", run, got, want)
			}
		})
	}
}

func TestMisuse(t *testing.T) {
	conn := client.Connection{URL: fake.URL}
	for name, opts := range map[string]events.Options{
		"no controller":  {},
		"odd controller": {Controller: "a b"},
		"not UTF-8":      {Controller: strings.Repeat("\x80", 200)},
		"long instance":  {Controller: "c", Instance: strings.Repeat("x", 129)},
		"negative":       {Controller: "c", MaxSeries: -1},
		"negative too":   {Controller: "c", MaxPerObject: -1},
	} {
		r := events.New(conn, opts)
		events.For(r, Websites).Normal(&Website{}, "R", "A", "n") // records, and may not panic
		for _, err := range []error{r.Err(), r.Run(t.Context())} {
			if !errors.Is(err, events.ErrInvalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if err := events.New(client.Connection{}, events.Options{Controller: "c"}).Err(); err == nil {
		t.Error("a connection without a URL is taken")
	}
	wrong := events.New(conn, events.Options{Controller: "c"})
	events.For(wrong, &kind.Kind[*Website]{}).Normal(&Website{}, "R", "A", "n")
	if err := wrong.Err(); !errors.Is(err, kind.ErrInvalid) || wrong.Stats().Recorded != 0 {
		t.Error(err)
	}
	none := events.New(conn, events.Options{Controller: "c"})
	events.For[*Website](none, nil).Normal(&Website{}, "R", "A", "n")
	if err := none.Err(); err == nil || !strings.HasPrefix(err.Error(), "events: For of *events_test.Website: not a usable kind: it is nil: make it with kind.Of") {
		t.Error(err)
	}
	r := events.New(conn, events.Options{Controller: "c"})
	done, cancel := context.WithCancel(t.Context())
	cancel()
	must(t, r.Run(done))
	must(t, r.Run(done)) // again
}

// Run can be called again, as in each term of a manager. It writes what was recorded meanwhile, and the next event of a
// series as a new Event. If nobody calls it for long, that is said. There is one call at a time.
func TestRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, events.Options{})
		for n := range 50 {
			s.run()
			s.sites.Normal(site("a"), "R", "A", "two of each term")
			settle()
			s.sites.Normal(site("b"), "R", "A", "%d", n) // written at the end
			if err := s.recorder.Run(t.Context()); !errors.Is(err, events.ErrStarted) || !strings.HasPrefix(err.Error(), "events: the recorder of \"") {
				t.Error(err)
			}
			s.stop()
			s.sites.Normal(site("a"), "R", "A", "two of each term")
			sleep(5 * time.Second)
		}
		if stats := s.stats(); stats.Written != 149 || stats.Dropped.Total() != 0 || stats.Waiting != 1 || len(s.stored()) != 100 {
			t.Errorf("wrong counts: %+v, %d events", stats, len(s.stored()))
		}
		if got := s.reported(); len(got) != 0 {
			t.Errorf("reported %v", got)
		}
		sleep(time.Minute)
		for range 3 {
			s.sites.Normal(site("a"), "R", "A", "two of each term")
		}
		if got := s.reported(); len(got) != 1 || !errors.Is(got[0], events.ErrNotRun) {
			t.Errorf("reported %v", got)
		}
		s.run()
		sleep(time.Minute)
		if stats := s.stats(); stats.Written != stats.Recorded {
			t.Errorf("wrong counts: %+v", stats)
		}
	})
}

// One object cannot fill the recorder, and reports are rare.
func TestPerObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, events.Options{MaxPerObject: 5})
		s.run()
		for n := range 20 {
			s.sites.Normal(site("a"), "R", "A", "%d", n)
			settle()
		}
		s.sites.Normal(site("b"), "R", "A", "n")
		sleep(2 * time.Minute)
		if stats := s.stats(); stats.Dropped.PerObject != 15 || stats.Written != 6 || len(s.stored()) != 6 {
			t.Errorf("wrong counts: %+v", stats)
		}
		got := s.reported()
		if len(got) != 2 || !errors.Is(got[0], events.ErrLimit) || got[0].Lost+got[1].Lost != 15 {
			t.Errorf("reported %v", got)
		}
		sleep(5 * time.Minute)
		s.sites.Normal(site("a"), "R", "A", "after the end of the series")
		settle()
		if stats := s.stats(); stats.Dropped.PerObject != 15 || stats.Written != 7 {
			t.Errorf("wrong counts: %+v", stats)
		}
	})
}

// What limits dropped since the last report is reported at the end.
func TestLimitsAreReportedAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, events.Options{MaxPerObject: 5})
		s.run()
		for n := range 20 {
			s.sites.Normal(site("a"), "R", "A", "%d", n)
			settle()
		}
		s.stop()
		lost := uint64(0)
		for _, err := range s.reported() {
			if errors.Is(err, events.ErrLimit) {
				lost += err.Lost
			}
		}
		if lost != 15 {
			t.Errorf("%d lost events were reported, want 15", lost)
		}
	})
}

// A full recorder forgets series that are written, and drops events if there are none.
func TestFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, events.Options{MaxSeries: 3})
		for n := range 5 {
			s.sites.Normal(site(strings.Repeat("a", n+1)), "R", "A", "n")
		}
		if stats := s.stats(); stats.Dropped.Full != 2 || stats.Waiting != 3 || stats.Series != 3 {
			t.Errorf("wrong counts: %+v", stats)
		}
		s.run()
		settle()
		s.sites.Normal(site("b"), "R", "A", "n")
		settle()
		if stats := s.stats(); stats.Dropped.Full != 2 || stats.Written != 4 || stats.Series != 3 {
			t.Errorf("wrong counts: %+v", stats)
		}
	})
}

// Recording does not wait for the server, whatever it does.
func TestNeverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, events.Options{MaxSeries: 100})
		must(t, s.server.Inject(faults.Fault{Delay: time.Hour, Times: -1}))
		s.run()
		settle()
		began := time.Now()
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for n := range 1000 {
					s.sites.Normal(&Website{ObjectMeta: metav1.ObjectMeta{Name: "x" + strings.Repeat("y", n%200)}}, "R", "A", "n")
				}
			})
		}
		all.Wait()
		if took := time.Since(began); took > 0 {
			t.Errorf("recording took %v", took)
		}
		if stats := s.stats(); stats.Recorded != 8000 || stats.Series != 100 || stats.Waiting != 4000 || stats.Dropped.Full != 4000 {
			t.Errorf("wrong counts: %+v", stats)
		}
		sleep(time.Hour)
		s.server.ClearFaults()
		s.stop()
		s.stats()
	})
}
