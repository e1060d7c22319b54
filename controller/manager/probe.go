package manager

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/usercode"
)

// probe is one of the two questions that a kubelet asks.
type probe int

const (
	healthz probe = iota
	readyz
)

// check is a check of the user for a probe.
type check struct {
	name string
	ask  func(context.Context) error
}

var (
	errNotRunning = errors.New("Run was not called, or has returned what is wrong with the setup")
	errStopped    = errors.New("is stopping or has stopped")
)

// AddHealthCheck adds a check to [Manager.Healthz]. The check returns nil or what is wrong. It is
// called in the goroutine of the request, several calls at once, with the request's context. It
// can be added at any time. The errors are [ErrUnnamed], [ErrNoPart] and [ErrDuplicate], see [Manager.AddCaches].
func (m *Manager) AddHealthCheck(name string, ask func(context.Context) error) {
	m.addCheck(healthz, name, ask)
}

// AddReadyCheck adds a check to [Manager.Readyz], like AddHealthCheck.
func (m *Manager) AddReadyCheck(name string, ask func(context.Context) error) {
	m.addCheck(readyz, name, ask)
}

func (m *Manager) addCheck(p probe, name string, ask func(context.Context) error) {
	if err := m.takeCheck(p, check{name, ask}); err != nil {
		m.refuse(fmt.Sprintf("check %q", name), err)
	}
}

// takeCheck adds a check, or says why not.
func (m *Manager) takeCheck(p probe, c check) error {
	if m == nil {
		return errNil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case c.name == "":
		return ErrUnnamed
	case c.ask == nil:
		return ErrNoPart
	case slices.ContainsFunc(m.checks[p], func(known check) bool { return known.name == c.name }):
		return ErrDuplicate
	}
	m.checks[p] = append(m.checks[p], c)
	return nil
}

// Healthz returns the handler for a liveness probe. It answers 200 unless one of the checks, the
// Elector's among them, fails or panics: then 500, and the names and errors of all that fail. It
// does not depend on the caches or on the API server, because a restart would not mend those.
func (m *Manager) Healthz() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.answer(w, r, healthz, nil)
	})
}

// Readyz returns the handler for a readiness probe. It answers 200 while Run runs, all caches are filled, no handler is
// stuck in its initial objects (informer.HandlerStats), and no check fails. Otherwise it answers 500 with the reasons, a
// line each, such as
//
//	jobs.batch: not filled: the list is slow: nothing has come for 40s, after 0 objects
//	secrets: forbidden: cannot list in prod: …
//
// It asks all caches at the same time, for 200 ms at most. A filled cache that does not answer, as in a large commit, is
// a reason after 10 seconds. Leadership does not matter, because a process that waits for it is ready to take over.
func (m *Manager) Readyz() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.answer(w, r, readyz, m.missing())
	})
}

// missing returns why the manager is not ready.
func (m *Manager) missing() (all []error) {
	if m == nil {
		return nil // answer says it
	}
	m.mu.Lock()
	now, caches := m.phase, m.caches
	m.mu.Unlock()
	switch now {
	case notStarted:
		return []error{fmt.Errorf("manager: %w", errNotRunning)}
	case stopped:
		return []error{fmt.Errorf("manager: %w", errStopped)}
	}
	looks := make([]*look, len(caches))
	for n, c := range caches {
		looks[n] = m.look(n, c)
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	for n, l := range looks {
		select {
		case <-l.done:
		case <-late.C:
			late.Reset(0) // for the others
		}
		all = append(all, l.reasons(caches[n], now == filling)...)
	}
	return all
}

// stuck returns an error for each handler that does not return while it gets the initial list. A handler that gets stuck
// later does not take a process away from what it serves.
func stuck(c controller.Cache) (all []error) {
	of, ok := c.(interface {
		Handlers() []informer.HandlerStats
	})
	if !ok {
		return nil
	}
	for _, h := range of.Handlers() {
		if !h.Synced && !h.StuckSince.IsZero() {
			since := h.StuckSince.Format(time.RFC3339)
			all = append(all, fmt.Errorf("%s: handler %q has not returned since %s", c.Resource(), h.Name, since))
		}
	}
	return all
}

// answer writes the answer to a probe.
func (m *Manager) answer(w http.ResponseWriter, r *http.Request, p probe, failed []error) {
	if m == nil {
		http.Error(w, errNil.Error(), http.StatusInternalServerError)
		return
	}
	m.mu.Lock()
	checks := m.checks[p]
	m.mu.Unlock()
	for _, c := range checks {
		usercode.Contain("check", func() {
			if err := c.ask(r.Context()); err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", c.name, err))
			}
		}, func(err *usercode.PanicError) {
			failed = append(failed, fmt.Errorf("%s: panic: %v", c.name, err.Value))
		})
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	if len(failed) == 0 {
		fmt.Fprintln(w, "ok")
		return
	}
	var body bytes.Buffer
	for _, err := range failed {
		fmt.Fprintln(&body, err)
	}
	w.WriteHeader(http.StatusInternalServerError)
	_, _ = w.Write(body.Bytes())
}
