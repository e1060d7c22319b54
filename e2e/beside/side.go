//go:build e2e

package beside

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/informer"
)

// Key is the key of an object.
type Key = types.NamespacedName

// Cache is one informer of a side. Its methods may be called from any goroutine.
type Cache interface {
	// Kind is the kind of the cached objects.
	Kind() Kind
	// Namespace is the namespace of the cached objects. Empty means all namespaces.
	Namespace() string
	// Version returns the resourceVersion of the object under key, or "" if there is none.
	Version(key Key) string
	// Versions returns the resourceVersions of all objects.
	Versions() map[Key]string
	// Synced reports whether the initial list is in.
	Synced() bool
	// Why returns the last error of the informer, for the message of a failure.
	Why() string
}

// Options say how a side reaches the server.
type Options struct {
	// URL is the base of the API server, CAFile and TokenFile are PEM and bearer token.
	URL, CAFile, TokenFile string
	// Namespaces are the namespaces that the informers watch. None means one informer per kind for
	// all namespaces. Otherwise each kind has one per namespace.
	Namespaces []string
	// Count counts requests, which puts a transport around the library's.
	Count bool
	// Transport replaces the library's, if it is not nil.
	Transport http.RoundTripper
}

// The names of the libraries.
const (
	KinformName  = "Kinform"
	ClientGoName = "client-go"
)

// Side is one library with its informers.
type Side struct {
	name     string
	caches   []Cache
	run      func(ctx context.Context) error // returns when all goroutines have ended
	idle     func()                          // closes idle connections
	requests *atomic.Int64

	cancel context.CancelFunc
	ended  chan error
}

// NewSide returns a side of caches that run keeps right until its context is done. It calls idle
// after that, to close idle connections.
func NewSide(name string, caches []Cache, run func(ctx context.Context) error, idle func()) *Side {
	return &Side{name: name, caches: caches, run: run, idle: idle, requests: new(atomic.Int64)}
}

// Name returns the name of the library.
func (s *Side) Name() string { return s.name }

// Caches returns the informers, by namespace and kind in the order of their declaration.
func (s *Side) Caches() []Cache { return s.caches }

// Decoding returns the time that the informers of Kinform have spent on decoding so far, summed
// up. It is 0 for client-go, which does not count it.
func (s *Side) Decoding() (sum time.Duration) {
	for _, c := range s.caches {
		if d, ok := c.(interface{ decoding() time.Duration }); ok {
			sum += d.decoding()
		}
	}
	return sum
}

// FalseAlarms joins what FalseAlarm says of the informers of Kinform.
func (s *Side) FalseAlarms() error {
	var errs []error
	for _, c := range s.caches {
		if k, ok := c.(interface{ falseAlarm() error }); ok {
			if err := k.falseAlarm(); err != nil {
				errs = append(errs, fmt.Errorf("%s in %q: %w", c.Kind(), c.Namespace(), err))
			}
		}
	}
	return errors.Join(errs...)
}

// Requests returns the number of requests so far, 0 without Options.Count.
func (s *Side) Requests() int64 { return s.requests.Load() }

// Start runs the informers until Stop.
func (s *Side) Start() {
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(context.Background())
	s.ended = make(chan error, 1)
	go func() { s.ended <- s.run(ctx) }()
}

// Stop ends the informers and closes the connections. It returns the error that they ended with, if
// any.
func (s *Side) Stop() error {
	s.cancel()
	err := <-s.ended
	s.idle()
	if err != nil {
		err = fmt.Errorf("%s: %w", s.name, err)
	}
	return err
}

// ErrLate is returned by Await when ctx ended first.
var ErrLate = errors.New("not there in time")

// Await returns once ready holds for every cache, asked again every 2 ms. It returns ErrLate with
// the names of the caches for which it does not hold when ctx ends.
func (s *Side) Await(ctx context.Context, ready func(Cache) bool) error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	left := append([]Cache(nil), s.caches...)
	for {
		for len(left) > 0 && ready(left[len(left)-1]) {
			left = left[:len(left)-1]
		}
		if len(left) == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return s.late(left, ready)
		}
	}
}

func (s *Side) late(left []Cache, ready func(Cache) bool) error {
	errs := []error{fmt.Errorf("%s: %w", s.name, ErrLate)}
	for _, c := range left {
		if !ready(c) {
			errs = append(errs, fmt.Errorf("%s in %q: %s", c.Kind().GVR.Resource, c.Namespace(), c.Why()))
		}
	}
	return errors.Join(errs...)
}

// counting is a transport that counts requests.
type counting struct {
	through http.RoundTripper
	count   *atomic.Int64
}

// RoundTrip implements http.RoundTripper.
func (c counting) RoundTrip(req *http.Request) (*http.Response, error) {
	c.count.Add(1)
	return c.through.RoundTrip(req)
}

// CloseIdleConnections serves http.Client's method of that name.
func (c counting) CloseIdleConnections() {
	(&http.Client{Transport: c.through}).CloseIdleConnections()
}

// Complaints remembers the last error of an informer. The zero value has none.
type Complaints struct {
	mu    sync.Mutex
	last  error
	at    time.Time
	count int
}

// Note adds an error.
func (c *Complaints) Note(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last, c.at = err, time.Now()
	c.count++
}

// FalseAlarm returns an error if an informer took a server that was never restored from a backup
// for one that was.
func FalseAlarm(stats informer.Stats) error {
	if stats.Restores == 0 {
		return nil
	}
	return fmt.Errorf("%d false alarms of a restored server: %+v", stats.Restores, stats)
}

// Why implements Cache.
func (c *Complaints) Why() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		return "no error"
	}
	return fmt.Sprintf("%d errors, the last one %v ago: %v", c.count, time.Since(c.at).Round(time.Millisecond), c.last)
}
