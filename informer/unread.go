package informer

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kinform/kinform/internal/logs"
)

// unread knows whether Run was called, and warns if an informer that nothing runs is read. Such reads find nothing, which
// a reconcile function takes for the truth.
type unread struct {
	log     *logs.Log   // set by New and never changed
	started atomic.Bool // Run was called

	mu   sync.Mutex
	late logs.Late // Run, since a read first found nothing
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
	return u.late.Due(time.Now())
}

// quiet prevents the warning.
func (u *unread) quiet() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.late.Stop()
}

type unreadError struct{}

func (unreadError) Error() string {
	return "nothing runs this cache: call Run, or give it to For, Owns, Watch or References of a controller, or to a manager"
}

func (e unreadError) LogValue() slog.Value {
	return slog.GroupValue(slog.String(logs.Message, "reads find nothing"), slog.Any("error", e.Error()))
}
