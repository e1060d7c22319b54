package informer

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kinform/kinform/internal/logs"
)

// unreadAfter is how long reads must find nothing before the warning. A program that reads while it starts runs its
// informers sooner.
const unreadAfter = 10 * time.Second

// unread knows whether Run was called, and warns if an informer that nothing runs is read. Such reads find nothing, which
// a reconcile function takes for the truth.
type unread struct {
	log     *logs.Log   // set by New and never changed
	started atomic.Bool // Run was called

	mu    sync.Mutex
	since time.Time // when a read first found nothing
	told  bool      // the warning was written, or need not be
}

// missed is called when a read has found nothing.
//
//go:noinline
func (u *unread) missed() {
	if !u.started.Load() && u.due() {
		u.log.Error(unreadError{})
	}
}

// due reports, once, that the warning is due.
func (u *unread) due() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.since.IsZero() {
		u.since = time.Now()
	}
	if u.told || time.Since(u.since) < unreadAfter {
		return false
	}
	u.told = true
	return true
}

// quiet prevents the warning.
func (u *unread) quiet() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.told = true
}

type unreadError struct{}

func (unreadError) Error() string {
	return "nothing runs this cache: call Run, or give it to For, Owns, Watch or References of a controller, or to a manager"
}

func (e unreadError) LogValue() slog.Value {
	return slog.GroupValue(slog.String(logs.Message, "reads find nothing"), slog.Any("error", e.Error()))
}
