// Package stage is shared by the tests of the examples. It has a server in memory, a program that works on
// it in virtual time, and the requests that it sent.
package stage

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/internal/codelines"
	"github.com/kinform/kinform/kind"
)

// Stage is a server in memory, and a program at work on it. Make one with New inside a synctest bubble.
type Stage struct {
	Server *fake.Server
	// Before runs ahead of each write of the program, if it is not nil. Set it while the program is stopped.
	Before func()

	t    *testing.T
	run  func(context.Context, client.Connection) error
	stop func()

	chaos chaos

	mu      sync.Mutex
	writes  []string // method and path, in order
	lenders []*Stage // other servers that the program uses
}

// New starts a program on an empty server. It is stopped at the end of the test.
func New(t *testing.T, opts fake.Options, run func(context.Context, client.Connection) error, register ...Step) *Stage {
	s := &Stage{Server: Server(opts, register...), t: t, run: run}
	s.Start()
	t.Cleanup(func() { s.Stop() })
	return s
}

// Kind is an argument of New and Server: the server has the resource.
func Kind[T metav1.Object](k *kind.Kind[T]) Step {
	return func(s *fake.Server) error { return fake.Register(s, k, fake.Rules{}) }
}

// Check ends the test if err is not nil.
func (s *Stage) Check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// note notes a request that writes.
func (s *Stage) note(r *http.Request) {
	s.mu.Lock()
	s.writes = append(s.writes, r.Method+" "+r.URL.Path)
	s.mu.Unlock()
	if s.Before != nil {
		s.Before()
	}
}

// Start starts the program, which must be stopped. After a crash it is started again.
func (s *Stage) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.live(ctx) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			s.t.Error(err)
		}
	})
}

// Stop stops the program and waits for its end.
func (s *Stage) Stop() { s.stop() }

// Breathe gives the program ten seconds, in which it must not try again what has failed.
func (s *Stage) Breathe() {
	time.Sleep(10 * time.Second)
	synctest.Wait()
}

// Settle waits until nothing is left to do.
func (s *Stage) Settle() {
	time.Sleep(time.Hour)
	synctest.Wait()
}

// Writes returns the requests that write, since the last call: method and path.
func (s *Stage) Writes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.writes = nil }()
	return s.writes
}

// WantWrites checks that the program has sent n requests that write, since the last call of this
// method or of Writes.
func (s *Stage) WantWrites(after string, n int) {
	s.t.Helper()
	if got := s.Writes(); len(got) != n {
		s.t.Errorf("%d writes after %s, want %d: %v", len(got), after, n, got)
	}
}

// BadDay lets requests fail, before or after the server has carried them out, and watches break and lag. It also
// lets the program crash, between two writes of one call of reconcile, or after the server has carried a write out
// and before the program knows. The program is started again.
func (s *Stage) BadDay(seed uint64) {
	s.t.Helper()
	chance := func(p float64, f faults.Fault) faults.Fault {
		seed++
		f.Chance, f.Seed = p, seed
		return f
	}
	refused := faults.Refusal(http.StatusInternalServerError, metav1.StatusReasonInternalError, 0)
	conflict := faults.Refusal(http.StatusConflict, metav1.StatusReasonConflict, 0)
	day := []faults.Fault{
		chance(0.1, faults.Fault{Verb: faults.VerbGet, Status: refused}),
		chance(0.2, faults.Fault{Verb: faults.VerbWatch, CutEvents: 3}),
		chance(0.4, faults.Fault{Verb: faults.VerbWatch, Delay: 20 * time.Second, After: 1}),
		chance(0.1, faults.Fault{Verb: faults.VerbList, CutBytes: 20}),
	}
	for _, verb := range []faults.Verb{faults.VerbCreate, faults.VerbPatch, faults.VerbDelete} {
		day = append(day,
			chance(0.15, faults.Fault{Verb: verb, Status: refused}),
			chance(0.1, faults.Fault{Verb: verb, Status: conflict}),
			chance(0.2, faults.Fault{Verb: verb, CutBytes: 1}), // carried out, and the answer is lost
		)
	}
	s.Check(s.Server.Inject(day...))
	s.chaos.begin(seed)
}

// GoodDay ends the faults and crashes, and waits until nothing is left to do.
func (s *Stage) GoodDay() {
	s.chaos.end()
	s.Server.ClearFaults()
	s.Server.DropWatches()
	s.Settle()
}

// Get returns an object that must be there.
func Get[T metav1.Object](s *Stage, key types.NamespacedName) T {
	s.t.Helper()
	obj, err := fake.Get[T](s.Server, key)
	s.Check(err)
	return obj
}

// Create creates an object.
func Create[T metav1.Object](s *Stage, obj T) T {
	s.t.Helper()
	obj, err := fake.Create(s.Server, obj)
	s.Check(err)
	return obj
}

// Patch changes an object by a merge patch.
func Patch[T metav1.Object](s *Stage, key types.NamespacedName, merge string) {
	s.t.Helper()
	_, err := fake.Patch[T](s.Server, key, []byte(merge))
	s.Check(err)
}

// Delete deletes an object.
func Delete[T metav1.Object](s *Stage, key types.NamespacedName) {
	s.t.Helper()
	_, err := fake.Delete[T](s.Server, key)
	s.Check(err)
}

// AtMostLines holds a Go file to a number of lines of code: without imports, comments and blank lines.
func AtMostLines(t *testing.T, path string, most int) {
	t.Helper()
	n, err := codelines.InFile(path)
	t.Logf("%s has %d lines", path, n)
	if err != nil || n > most || n < 10 {
		t.Errorf("%s has %d lines of code, want at most %d: %v", path, n, most, err)
	}
}
