package manager

import (
	"fmt"
	"time"

	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/internal/usercode"
)

const (
	// patience is how long all caches together have to answer a probe: less than the second that a kubelet waits.
	patience = 200 * time.Millisecond
	// busyAfter is how long a commit may hold up a cache that is filled before the process is not ready.
	busyAfter = 10 * time.Second
)

// look is a question to a cache. The answer comes late while a commit holds the cache up.
type look struct {
	began time.Time
	done  chan struct{}
	found []error // once done is closed
}

// look asks the nth cache what it lacks. While it has not answered an earlier question, it is not asked again.
func (m *Manager) look(n int, c controller.Cache) *look {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.looks) <= n {
		m.looks = append(m.looks, make([]*look, n+1-len(m.looks))...)
	}
	if l := m.looks[n]; l != nil && !l.ended() {
		return l
	}
	l := &look{began: time.Now(), done: make(chan struct{})}
	m.looks[n] = l
	go func() {
		defer close(l.done)
		usercode.Contain("Cache", func() {
			if l.found = unfilled(c); len(l.found) == 0 {
				l.found = stuck(c)
			}
		}, func(err *usercode.PanicError) {
			l.found = []error{fmt.Errorf("%s: panic: %v", c.Resource(), err.Value)}
		})
	}()
	return l
}

func (l *look) ended() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// reasons returns what the cache lacks. That it has not answered is a reason before it is filled, and after busyAfter.
func (l *look) reasons(c controller.Cache, filling bool) []error {
	if l.ended() {
		return l.found
	}
	if filling || time.Since(l.began) >= busyAfter {
		return []error{fmt.Errorf("%s: busy: the function of an index may not return", c.Resource())}
	}
	return nil
}
