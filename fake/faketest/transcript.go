package faketest

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	"github.com/kinform/kinform/fake"
)

// Transcript keeps the requests that a server has answered, in the order of their answers.
//
//	var requests faketest.Transcript
//	requests.ShowOnFailure(t)
//	server := fake.New(fake.Options{Seen: requests.Add})
//	... // the controller reconciles
//	requests.Take()
//	... // and once more, with nothing to do
//	for _, x := range requests.Take() {
//		if x.Writes() {
//			t.Errorf("the second reconcile sent %v", x)
//		}
//	}
//
// The zero value is ready. A Transcript keeps everything. It is safe for concurrent use.
type Transcript struct {
	mu    sync.Mutex
	all   []fake.Exchange
	taken int // by Take
}

// Add is for fake.Options.Seen.
func (r *Transcript) Add(x fake.Exchange) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, x)
}

// All returns all exchanges so far.
func (r *Transcript) All() []fake.Exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

// Take returns the exchanges since the last Take.
func (r *Transcript) Take() []fake.Exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := slices.Clone(r.all[r.taken:])
	r.taken = len(r.all)
	return out
}

// String returns a line for each exchange.
func (r *Transcript) String() string {
	var b strings.Builder
	for _, x := range r.All() {
		b.WriteString(x.Time.Format("15:04:05.000 ") + x.String() + "\n")
	}
	return b.String()
}

// ShowOnFailure logs the transcript at the end of the test, if it has failed.
func (r *Transcript) ShowOnFailure(t interface {
	Helper()
	Cleanup(func())
	Failed() bool
	Logf(format string, args ...any)
}) {
	t.Helper()
	t.Cleanup(func() {
		t.Helper()
		if t.Failed() {
			t.Logf("requests:\n%s", r)
		}
	})
}

// Listen serves h, such as a fake.Server, on a port of the loopback interface until the end of the
// test, and returns its URL. The end of the test ends open watches. A client in the same process
// needs no port: see fake.Server.Client.
func Listen(t interface{ Cleanup(func()) }, h http.Handler) string {
	web := httptest.NewServer(h)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return web.URL
}
