package kinformprom

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/mistake"
)

// Factory is a *factory.Factory.
type Factory interface{ Informers() []informer.Untyped }

// AddManager adds everything that belongs to a manager (manager.Manager.Parts), each under its name
// there: controllers, queues, caches, the Elector, replicas and factories. Parts that come later
// appear, and informers of factories that go vanish. If a name is taken, a number follows it: "pods
// 2". Do not add the same parts otherwise, or they are counted twice. If the manager was added before,
// mgr.Err and mgr.Run return [ErrDuplicate], and if the metrics or the manager are nil, [ErrNoPart].
func (m *Metrics) AddManager(mgr *manager.Manager) {
	mgr.AddError(m.addAlive("manager", mgr, mgr.Parts))
}

// AddFactory adds the informers of a factory, each under the name of its resource, as
// [Metrics.AddManager] does: they appear when somebody asks the factory for them, and vanish when
// the last handle is released. It returns [ErrNoPart], or [ErrDuplicate] for a factory that was added before.
func (m *Metrics) AddFactory(f Factory) error {
	return m.addAlive("factory", f, func() []manager.Part { return manager.InformersOf(f) })
}

func (m *Metrics) addAlive(what string, value any, list func() []manager.Part) error {
	switch {
	case m == nil:
		return fmt.Errorf("kinformprom: %s: the metrics: %w", what, ErrNoPart)
	case mistake.IsNil(value):
		return fmt.Errorf("kinformprom: %s: %w", what, ErrNoPart)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range m.alive {
		if a.value == value {
			return twice(what)
		}
	}
	m.alive = append(m.alive[:len(m.alive):len(m.alive)], &alive{value: value, list: list, known: map[any]part{}})
	return nil
}

// twice is the error of something without a name that was added before.
type twice string

func (what twice) Error() string {
	return fmt.Sprintf("kinformprom: the %s was added before: add it once", string(what))
}

// Is lets it match ErrDuplicate, whose text speaks of a name.
func (what twice) Is(target error) bool { return target == ErrDuplicate }

// alive is something whose parts come and go.
type alive struct {
	value any // a pointer
	list  func() []manager.Part

	mu    sync.Mutex // locked before the lock of Metrics
	known map[any]part
}

// present returns the parts that are there now.
func (a *alive) present(m *Metrics) (all []part) {
	list := a.list()
	a.mu.Lock()
	defer a.mu.Unlock()
	there := map[any]bool{}
	for _, p := range list {
		if p.Value == nil || !reflect.TypeOf(p.Value).Comparable() || there[p.Value] {
			continue
		}
		there[p.Value] = true
		if _, ok := a.known[p.Value]; !ok {
			a.come(m, p.Name, p.Value)
		}
		if known, ok := a.known[p.Value]; ok {
			all = append(all, known)
		}
	}
	for value := range a.known {
		if !there[value] {
			a.leave(m, value)
		}
	}
	return all
}

// come takes a name for something new.
func (a *alive) come(m *Metrics, name string, value any) {
	if name == "" {
		name = "unnamed"
	}
	for n := 1; ; n++ {
		free := name
		if n > 1 {
			free = fmt.Sprint(name, " ", n)
		}
		p, ok := m.partOf(free, value)
		if !ok {
			return
		}
		m.mu.Lock()
		taken := m.take(p)
		m.mu.Unlock()
		if taken == "" {
			a.known[value] = p
			return
		}
	}
}

func (a *alive) leave(m *Metrics, value any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, at := range a.known[value].places {
		delete(m.taken, at)
	}
	delete(a.known, value)
}

// partOf returns the part of a value, if it is of a type that has numbers.
func (m *Metrics) partOf(name string, value any) (part, bool) {
	if mistake.IsNil(value) {
		return part{}, false
	}
	switch v := value.(type) {
	case manager.Controller:
		return m.controller(name, v), true
	case Queue:
		return m.queue(name, v), true
	case Handle:
		return m.handle(name, v), true
	case Informer:
		return m.informer(name, v), true
	case Replica:
		return m.replica(name, v), true
	case Elector:
		return m.elector(name, v), true
	case Client:
		return m.client(name, v), true
	}
	return part{}, false
}
