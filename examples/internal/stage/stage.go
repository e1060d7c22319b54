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

	mu     sync.Mutex
	writes []string // method and path, in order
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

// Connection leads to the server, which notes the writes. The program gets it, and so may a program of another stage.
func (s *Stage) Connection() client.Connection {
	return client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: noting{s}}}
}

// noting is the way to the server of a stage.
type noting struct{ stage *Stage }

// RoundTrip implements http.RoundTripper.
func (n noting) RoundTrip(r *http.Request) (*http.Response, error) {
	s := n.stage
	if r.Method != http.MethodGet {
		s.mu.Lock()
		s.writes = append(s.writes, r.Method+" "+r.URL.Path)
		s.mu.Unlock()
		if s.Before != nil {
			s.Before()
		}
	}
	return s.Server.Client().Transport.RoundTrip(r)
}

// Start starts the program, which must be stopped.
func (s *Stage) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.run(ctx, s.Connection()) }()
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
