package manager

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/internal/logs"
)

// DefaultGrace is the time that a stop may take if Options.Grace is zero: that of Kubernetes for
// the containers of a pod.
const DefaultGrace = 30 * time.Second

// Options configures a [Manager]. The zero value works.
type Options struct {
	// Elector decides when this process may run what [Manager.Add] added. Nil means always.
	Elector Elector

	// SyncTimeout is how long Run waits for the caches to fill. Then it returns a
	// *controller.SyncError, which names those that are not filled, and why. Zero and negative mean
	// as long as it takes: [Manager.Readyz] and the errors of the informers show what is missing.
	SyncTimeout time.Duration

	// Grace is how long a stop waits until everything that was added has ended. Then Run returns a
	// [*GraceError], although something still runs: the process should end. Zero means
	// [DefaultGrace]. Negative means as long as it takes.
	Grace time.Duration

	// Logger gets records at level Debug: when Run begins and ends, when the caches are filled,
	// and when something that was added starts and ends. Nil means slog.Default().
	Logger *slog.Logger
}

// Elector decides which of several processes works.
type Elector interface {
	// Lead waits until this process leads, and then calls work. The context of work ends when ctx
	// is done or the leadership is lost. Lead returns after work has returned, and gives the
	// leadership up. It returns nil if ctx is done, and otherwise an error that says why this
	// process does not lead any more. It calls work at most once.
	Lead(ctx context.Context, work func(context.Context)) error
}

// phase is a stage of a manager's life.
type phase uint8

const (
	notStarted phase = iota
	filling          // the caches
	ready
	stopped
)

// Manager runs controllers and caches. Make one with [New]. Its methods may be called from any
// goroutine.
type Manager struct {
	// Set by New and never changed.
	opts   Options
	logger logs.Log

	mu      sync.Mutex
	phase   phase
	invalid []error // why Run will fail
	caches  []controller.Cache
	parts   []part
	shown   []Part
	running []string // names of parts
	failed  []error
	checks  [2][]check // by probe
}

// part is something that was added.
type part struct {
	name string
	run  func(context.Context) error
	all  bool // runs in every process

	shown Controller // nil for a function
}

// New returns a manager without anything to run.
func New(opts Options) *Manager {
	return &Manager{opts: opts, logger: logs.New(opts.Logger, "manager", "")}
}

// AddCaches adds caches that controllers share. Run starts them first and stops them last. A cache
// that has another runner, such as a factory, is not started: Run waits until it is filled, and
// fails if it stops. To add a cache again does nothing. Caches that only one controller uses
// need not be added, since the controller runs them.
//
// It returns [ErrNoPart] with the place of the argument, or [ErrStarted]. Run returns the former
// as well, so it need not be checked.
func (m *Manager) AddCaches(caches ...controller.Cache) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.phase != notStarted {
		return fmt.Errorf("manager: caches %q: %w", resourcesOf(caches), ErrStarted)
	}
	var failed error
	for n, c := range caches {
		switch {
		case isNil(c):
			failed = errors.Join(failed, m.refuse(fmt.Sprint("cache ", n+1), ErrNoPart))
		case !reflect.TypeOf(c).Comparable() || !slices.Contains(m.caches, c):
			m.caches = append(m.caches, c)
		}
	}
	return failed
}

// resourcesOf returns the names of the resources of caches.
func resourcesOf(caches []controller.Cache) (names []string) {
	for _, c := range caches {
		if !isNil(c) {
			names = append(names, c.Resource())
		}
	}
	return names
}

// isNil reports whether a cache is nil, or a nil pointer.
func isNil(c controller.Cache) bool {
	v := reflect.ValueOf(c)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// Add adds something to run under a name, mostly a controller:
//
//	m.Add("websites", func(ctx context.Context) error { return c.Run(ctx, reconcile) })
//
// Run calls it once, when the caches are filled and this process leads. It must return when its
// context is done. If it returns an error, everything stops. If it returns nil, the others go on.
//
// It returns [ErrUnnamed], [ErrNoFunc], [ErrDuplicate] or [ErrStarted], with the name. Run returns
// the first three as well, so they need not be checked before Run.
func (m *Manager) Add(name string, run func(context.Context) error) error {
	return m.add(part{name: name, run: run})
}

// AddToAll is Add for a part that runs in every process, even while another one leads: a server for
// webhooks or metrics.
func (m *Manager) AddToAll(name string, run func(context.Context) error) error {
	return m.add(part{name: name, run: run, all: true})
}

func (m *Manager) add(p part) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var err error
	switch {
	case m.phase != notStarted:
		err = ErrStarted
	case p.name == "":
		err = ErrUnnamed
	case p.run == nil:
		err = ErrNoFunc
	case slices.ContainsFunc(m.parts, func(o part) bool { return o.name == p.name }):
		err = ErrDuplicate
	}
	if err != nil {
		return m.refuse(strconv.Quote(p.name), err)
	}
	m.parts = append(m.parts, p)
	return nil
}

func (m *Manager) refuseNil(sort string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.refuse(sort, ErrNoPart)
}

// refuse returns err about a part, and remembers it for Run. Called with mu held.
func (m *Manager) refuse(part string, err error) error {
	err = fmt.Errorf("manager: %s: %w", part, err)
	m.invalid = append(m.invalid, err)
	return err
}

// begin returns the parts to run, or the error for which Run must not start.
func (m *Manager) begin() (caches []controller.Cache, parts []part, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.phase != notStarted:
		return nil, nil, fmt.Errorf("manager: %w", ErrStarted)
	case len(m.invalid) > 0:
		return nil, nil, errors.Join(m.invalid...)
	case len(m.caches)+len(m.parts) == 0:
		return nil, nil, ErrNothing
	}
	m.phase = filling
	return m.caches, m.parts, nil
}

func (m *Manager) enter(p phase) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.phase = p
}

// fail records why Run ends.
func (m *Manager) fail(name string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failed = append(m.failed, fmt.Errorf("%s: %w", name, err))
}
