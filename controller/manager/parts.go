package manager

import (
	"slices"

	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/queue"
)

// Controller is a *controller.Controller of any type.
type Controller interface {
	Runner
	Name() string
	Err() error
	Metrics() queue.Metrics
	Untyped() queue.Untyped
	Informers() []informer.Untyped
	Caches() []controller.Cache
	Trace(n int)
	Traced(key string) []controller.Traced
	KeyState(key any) (running controller.Traced, waiting controller.Causes)
	LastErrors() map[any]controller.Traced
	Loops() []controller.Loop
}

// Show makes a part known to programs that look at the manager, such as package debug and
// with/prometheus. Use it for parts that a function of [Manager.Add] works with, such as a queue.
// These programs know a *queue.Queue, a *controller.Controller, an informer or a handle, a
// *factory.Factory and a *shard.Replica. Show runs nothing, and may be called at any time. The names
// of shown parts of one type should differ.
func (m *Manager) Show(name string, part any) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shown = append(m.shown, Part{name, part})
}

// Part is something that belongs to a manager.
type Part struct {
	// Name is the name under which it was added; for a cache it is the name of the resource.
	Name string
	// Value is the controller, the cache, the Elector, or what was passed to [Manager.Show].
	Value any
}

// Parts returns what belongs to the manager at present: the Elector, the controllers, the caches, and the
// parts of [Manager.Show]. A factory is replaced by its informers, as [InformersOf] returns them.
// Other parts of [Manager.Add] are not among them.
func (m *Manager) Parts() (all []Part) {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	caches, shown, parts := m.caches, m.shown, m.parts // only appended to
	m.mu.Unlock()
	var known []informer.Untyped
	add := func(name string, value any) {
		if of, ok := value.(interface{ Untyped() informer.Untyped }); ok {
			if slices.Contains(known, of.Untyped()) {
				return
			}
			known = append(known, of.Untyped())
		}
		all = append(all, Part{name, value})
	}
	if m.opts.Elector != nil {
		add(election, m.opts.Elector)
	}
	for _, c := range caches {
		add(c.Resource(), c)
	}
	var owners []owner
	for _, s := range shown {
		of, owns := s.Value.(owner)
		if owns {
			owners = append(owners, of)
		}
		if _, ok := s.Value.(Controller); ok || !owns {
			add(s.Name, s.Value)
		}
	}
	for _, p := range parts {
		if c, ok := p.of.(Controller); ok {
			add(p.name, c)
		}
	}
	for _, p := range parts {
		for _, c := range cachesOf(p) {
			add(c.Resource(), c)
		}
	}
	for _, of := range owners {
		for _, p := range InformersOf(of) {
			add(p.Name, p.Value)
		}
	}
	return all
}

// owner is a controller or a factory.
type owner interface{ Informers() []informer.Untyped }

// InformersOf returns the informers of a controller or a *factory.Factory at present, each under
// the name of its resource.
func InformersOf(of interface{ Informers() []informer.Untyped }) (all []Part) {
	for _, inf := range of.Informers() {
		all = append(all, Part{inf.Resource(), inf})
	}
	return all
}
