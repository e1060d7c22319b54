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
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/logs"
	"github.com/kinform/kinform/internal/mistake"
)

// DefaultGrace is the time that a stop may take if Options.Grace is zero: Kubernetes' value for the
// containers of a pod.
const DefaultGrace = 30 * time.Second

// Options configures a [Manager]. The zero value works.
type Options struct {
	// Elector decides when this process may run what [Manager.Add] added. Nil means always. If it also has
	// leader.Elector's method Healthy, New adds Healthy(20s) to [Manager.Healthz] as check "leader election". A program
	// that adds a check of that name itself gets [ErrDuplicate]. With its methods Identity, Leads and Leader, a page
	// of package debug says who leads.
	Elector Elector

	// EndWithLeadership makes Run return [ErrLeadership] when the leadership is lost, as controller-runtime does. Set it
	// if something that Add added cannot run twice, or must not keep its state from one term to the next. Without it,
	// Run goes on: see "Leadership" in the package documentation.
	EndWithLeadership bool

	// SyncTimeout is how long Run waits for the caches to fill. Then it returns a
	// *controller.SyncError, which names those that are not filled, and why. Zero and negative mean
	// as long as it takes: [Manager.Readyz] and the errors of the informers show what is missing.
	SyncTimeout time.Duration

	// Grace is how long a stop waits until everything that was added has ended. The caches, which end last, get a
	// second even if less of it is left. Then Run returns a [*GraceError], although something still runs: the process
	// should end. It is also how long what Add and AddControllers added may take to end when the leadership is
	// lost, before that becomes a stop. Zero means [DefaultGrace]. Negative means as long as it takes.
	Grace time.Duration

	// Logger gets records at level Debug: when Run begins and ends, when the caches are filled, when this process leads,
	// and when something that was added starts and ends. It gets one at level Warn when the leadership is lost. Nil
	// means slog.Default().
	Logger *slog.Logger
}

// Elector decides which of several processes works.
type Elector interface {
	// Lead waits until this process leads, and then calls work. The context of work ends when ctx
	// is done or the leadership is lost. Lead returns after work has returned, and gives the
	// leadership up. It returns nil if ctx is done, and otherwise an error that says why this
	// process does not lead any more. It calls work at most once. If it has called work, and ctx is
	// not done, the manager calls Lead again, unless Options.EndWithLeadership is set. If it has not, Run ends.
	//
	// An Elector may also call work in a new goroutine and return at once when the leadership is lost,
	// as client-go's does. Run waits for work, and up to a second for a call that comes later.
	Lead(ctx context.Context, work func(context.Context)) error
}

// healthy is an Elector that notices work which goes on without the leadership.
type healthy interface {
	Healthy(tolerance time.Duration) func(context.Context) error
}

// tolerance is how long such work may go on, as with client-go.
const tolerance = 20 * time.Second

// election is the name of the Elector.
const election = "leader election"

// phase is a stage of a manager's life.
type phase uint8

const (
	notStarted phase = iota
	filling          // the caches
	ready
	stopped
)

// Manager runs controllers and caches. Make one with [New]. Its methods may be called from any
// goroutine. To a nil Manager nothing can be added, and its Run and Err say so.
type Manager struct {
	// Set by New and never changed.
	opts   Options
	logger logs.Log

	mu      sync.Mutex
	phase   phase
	invalid []error // why Run will fail
	caches  []controller.Cache
	parts   []part
	refused []part // that were added and do not run, because something is wrong with how
	shown   []Part
	running struct{ parts, caches []string } // names, in the order of the starts
	failed  []error
	checks  [2][]check // by probe
	looks   []*look    // the last ones of Readyz, by cache
}

// Runner is something that a manager runs: a *controller.Controller, a [Func], or an *events.Recorder (with
// [Manager.AddToAll]). If it also has a method Err() error, that says what is wrong with its setup.
type Runner interface {
	// Run works until ctx is done. If it returns an error, everything stops. If it returns nil, the others go on. With an
	// Elector, [Manager.Add] has it called again in each term.
	Run(ctx context.Context) error
}

// Func is a function that is a [Runner].
type Func func(ctx context.Context) error

// Run calls f.
func (f Func) Run(ctx context.Context) error { return f(ctx) }

// part is something that was added.
type part struct {
	name string
	of   Runner
	all  bool // runs in every process
}

// New returns a manager without anything to run.
func New(opts Options) *Manager {
	m := &Manager{opts: opts, logger: logs.New(opts.Logger, "manager", "")}
	if of, ok := opts.Elector.(healthy); ok && !mistake.IsNil(of) {
		m.AddHealthCheck(election, of.Healthy(tolerance))
	}
	return m
}

// AddCaches adds caches that no controller watches. Run starts them first and stops them last, as it does with
// the caches that the added controllers watch. A cache that has another runner, such as a factory, is not
// started: Run waits until it is filled, and fails if it stops. To add a cache again does nothing.
//
// What is wrong is kept, here and in all methods that add something: [Manager.Err] and Run return it. It is [ErrNoPart]
// with the place of the argument, or [ErrStarted], which is logged at level Warn.
func (m *Manager) AddCaches(caches ...controller.Cache) {
	if m == nil {
		return
	}
	if m.begun() {
		m.refuse(fmt.Sprintf("caches %q", resourcesOf(caches)), ErrStarted)
		return
	}
	for n, c := range caches {
		if mistake.IsNil(c) {
			m.refuse(fmt.Sprint("cache ", n+1), ErrNoPart)
			continue
		}
		m.mu.Lock()
		m.addCache(c)
		m.mu.Unlock()
	}
}

// begun reports whether Run was called.
func (m *Manager) begun() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.phase != notStarted
}

// addCache adds a cache that is not there yet. Called with mu held.
func (m *Manager) addCache(c controller.Cache) {
	if !slices.ContainsFunc(m.caches, func(known controller.Cache) bool { return informerOf(known) == informerOf(c) }) {
		m.caches = append(m.caches, c)
	}
}

// informerOf returns what tells caches apart: the informer behind a handle.
func informerOf(c controller.Cache) any {
	if of, ok := c.(interface{ Untyped() informer.Untyped }); ok {
		return of.Untyped()
	}
	if !reflect.TypeOf(c).Comparable() {
		return new(byte) // like no other
	}
	return c
}

// resourcesOf returns the names of the resources of caches.
func resourcesOf(caches []controller.Cache) (names []string) {
	for _, c := range caches {
		if !mistake.IsNil(c) {
			names = append(names, c.Resource())
		}
	}
	return names
}

// AddControllers adds controllers, each to run under its own name, as [Manager.Add] does. Programs that look at the
// manager see them ([Manager.Parts]). With an Elector, the Run of a controller lasts from the first term to the end: its
// queue keeps its keys and gets more while this process does not lead.
//
// Run runs the caches of the controllers itself, and fills them even while another process leads. A cache that
// a controller watches later is run by the controller.
func (m *Manager) AddControllers(controllers ...Controller) {
	for n, c := range controllers {
		if mistake.IsNil(c) {
			m.refuse(fmt.Sprint("controller ", n+1), ErrNoPart)
			continue
		}
		m.add(part{name: c.Name(), of: c}, fmt.Sprint("controller ", n+1))
	}
}

// Add adds something to run under a name:
//
//	m.Add("cleanup", manager.Func(func(ctx context.Context) error { ... }))
//
// Run calls its method Run when the caches are filled and this process leads: once, or with an Elector once in each
// term. It must return when its context is done. What runs once only is for AddToAll, or needs
// Options.EndWithLeadership: here its second Run would end everything. For a cache or a factory that is an error.
//
// The errors are [ErrUnnamed], [ErrNoPart], [ErrDuplicate], [ErrStarted] and that one, with the name. See AddCaches.
func (m *Manager) Add(name string, r Runner) { m.add(part{name: name, of: r}, `""`) }

// AddToAll is Add for a part that serves the others: a recorder of events, or a server for webhooks or metrics.
// It runs in every process, even before the caches are filled and while another process leads. It is stopped
// after what Add and AddControllers added, or when three quarters of Options.Grace are over.
func (m *Manager) AddToAll(name string, r Runner) { m.add(part{name: name, of: r, all: true}, `""`) }

// add adds a part. unnamed stands for its name if it has none.
func (m *Manager) add(p part, unnamed string) {
	err := m.take(p)
	if err == nil {
		return
	}
	about := unnamed
	if p.name != "" {
		about = strconv.Quote(p.name)
	}
	m.refuse(about, err)
}

// take makes p a part that runs, or says why not. What is wrong with p itself is reported all the same.
func (m *Manager) take(p part) error {
	if m == nil {
		return errNil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	err := m.check(p)
	switch {
	case err == nil:
		m.parts = append(m.parts, p)
	case !mistake.IsNil(p.of):
		m.refused = append(m.refused, p)
	}
	return err
}

// check returns why a part cannot be added. Called with mu held.
func (m *Manager) check(p part) error {
	switch {
	case m.phase != notStarted:
		return ErrStarted
	case p.name == "":
		return ErrUnnamed
	case mistake.IsNil(p.of):
		return ErrNoPart
	case !p.all && m.opts.Elector != nil && !m.opts.EndWithLeadership && runsOnce(p):
		return errOnce
	}
	for _, o := range m.parts {
		switch {
		case o.name != p.name:
		case reflect.ValueOf(p.of).Comparable() && p.of == o.of:
			return twice{}
		default:
			return ErrDuplicate
		}
	}
	return nil
}

// refuse keeps what is wrong with a part.
func (m *Manager) refuse(part string, err error) { m.keep(fmt.Errorf("manager: %s: %w", part, err)) }

// keep keeps an error of the setup. A nil Manager needs none.
func (m *Manager) keep(err error) {
	if m == nil {
		return
	}
	m.mu.Lock()
	m.invalid = append(m.invalid, err)
	late := m.phase != notStarted
	m.mu.Unlock()
	if late {
		m.logger.Error(err)
	}
}

// Err returns everything that is wrong with the setup so far, joined: the errors of the methods that add
// something, and of the controllers, caches and other parts that were added. Nil means nothing. It is safe from
// any goroutine.
func (m *Manager) Err() error {
	if m == nil {
		return errNil
	}
	m.mu.Lock()
	all, parts, caches := slices.Clone(m.invalid), slices.Concat(m.parts, m.refused), m.caches
	m.mu.Unlock() // a part may call the manager
	if of, ok := m.opts.Elector.(checked); m.opts.Elector != nil && mistake.IsNil(m.opts.Elector) {
		all = append(all, fmt.Errorf("manager: Elector: %w", ErrNoPart))
	} else if ok {
		all = append(all, of.Err())
	}
	var watched []any // by controllers, which have their errors
	for _, p := range parts {
		all = append(all, wrongWith(p)...)
		for _, c := range cachesOf(p) {
			watched = append(watched, informerOf(c))
		}
	}
	for _, c := range caches {
		if !slices.Contains(watched, informerOf(c)) {
			all = append(all, c.Err())
		}
	}
	return errors.Join(distinct(all)...)
}

// AddError adds what is wrong with the setup of something that belongs to the manager but is not part of it, such as
// metrics: [Manager.Err] and Run return it. Once Run has begun, it is logged. Nil does nothing.
func (m *Manager) AddError(err error) {
	if err != nil {
		m.keep(err)
	}
}

// checked is a part that knows what is wrong with its setup.
type checked interface{ Err() error }

// wrongWith returns the errors of a part. A controller joins its own errors with its caches' errors, which
// others may have, too.
func wrongWith(p part) []error {
	of, ok := p.of.(checked)
	if !ok {
		return nil
	}
	err := of.Err()
	if joined, ok := err.(interface{ Unwrap() []error }); ok && isController(p) {
		return joined.Unwrap()
	}
	return []error{err}
}

// distinct returns each error once.
func distinct(errs []error) (all []error) {
	seen := map[error]bool{}
	for _, err := range errs {
		if err != nil && reflect.TypeOf(err).Comparable() {
			if seen[err] {
				continue
			}
			seen[err] = true
		}
		all = append(all, err)
	}
	return all
}

// runsOnce reports whether a part is a cache or a factory.
func runsOnce(p part) bool {
	_, cache := p.of.(controller.Cache)
	_, informers := p.of.(owner)
	return cache || informers && !isController(p)
}

func isController(p part) bool {
	_, ok := p.of.(Controller)
	return ok
}

// cachesOf returns the caches of a part that is a controller.
func cachesOf(p part) []controller.Cache {
	if c, ok := p.of.(Controller); ok {
		return c.Caches()
	}
	return nil
}

// begin returns the parts to run, or the error for which Run must not start.
func (m *Manager) begin() (caches []controller.Cache, parts []part, err error) {
	if m == nil {
		return nil, nil, errNil
	}
	m.mu.Lock()
	again := m.phase != notStarted
	if !again {
		m.phase = filling
	}
	parts = m.parts
	m.mu.Unlock() // a part may call the manager
	if again {
		return nil, nil, fmt.Errorf("manager: %w", ErrStarted)
	}
	if err := m.Err(); err != nil {
		m.enter(notStarted)
		return nil, nil, err
	}
	var watched []controller.Cache
	for _, p := range parts {
		watched = append(watched, cachesOf(p)...)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range watched {
		m.addCache(c)
	}
	if len(m.caches)+len(parts) == 0 {
		m.phase = notStarted
		return nil, nil, ErrNothing
	}
	return m.caches, parts, nil
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
