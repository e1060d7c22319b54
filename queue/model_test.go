package queue

import (
	"slices"
	"time"

	"github.com/kinform/kinform/internal/note"
)

// model is the simplest possible queue: slices and maps, searched from end to end. Its caller
// passes the time.
type model struct {
	limiter  Limiter[string]
	class    func(string) string
	debounce time.Duration
	longest  time.Duration

	queued   []modelKey
	turns    map[int][]string // classes in line, per priority
	running  map[string]int   // with their priority
	dirty    map[string]int   // with the priority to come
	delayed  map[string]modelWait
	held     map[string]modelWait
	failures map[string]int
	notes    map[string][]note.Note // all that the next hand-out gets, the oldest first
	adds     uint64
	retries  uint64
	sets     int
	down     bool
}

type modelKey struct {
	key  string
	prio int
}

type modelWait struct {
	at    time.Time
	set   int       // which of all settings of a time this was
	first time.Time // of the adds, when held
	prio  int
	why   note.Note // when delayed
}

// before is the order of wake-ups: by time, and at the same time by the order of the adds.
func (w modelWait) before(other modelWait) bool {
	return w.at.Before(other.at) || w.at.Equal(other.at) && w.set < other.set
}

func newModel(opts Options[string]) *model {
	m := &model{
		limiter: opts.Limiter, class: opts.Class, debounce: opts.Debounce, longest: longestHold,
		turns: map[int][]string{}, running: map[string]int{}, dirty: map[string]int{},
		delayed: map[string]modelWait{}, held: map[string]modelWait{}, failures: map[string]int{}, notes: map[string][]note.Note{},
	}
	if m.limiter == nil {
		m.limiter = Exponential[string]{}
	}
	if m.class == nil {
		m.class = func(string) string { return "" }
	}
	return m
}

func (m *model) find(key string) int {
	return slices.IndexFunc(m.queued, func(k modelKey) bool { return k.key == key })
}

// enqueue is an add that takes effect.
func (m *model) enqueue(key string, prio int) {
	if w, ok := m.held[key]; ok {
		prio = max(prio, w.prio)
		delete(m.held, key)
	}
	i := m.find(key)
	again, isDirty := m.dirty[key]
	_, runs := m.running[key]
	switch {
	case i >= 0 && prio > m.queued[i].prio:
		old := m.queued[i].prio
		m.queued = slices.Delete(m.queued, i, i+1)
		m.clean(old)
		m.push(key, prio)
	case i >= 0:
	case isDirty:
		m.dirty[key] = max(prio, again)
	case runs:
		m.dirty[key] = prio
		m.adds++
	default:
		m.push(key, prio)
		m.adds++
	}
}

func (m *model) push(key string, prio int) {
	m.queued = append(m.queued, modelKey{key, prio})
	if c := m.class(key); !slices.Contains(m.turns[prio], c) {
		m.turns[prio] = append(m.turns[prio], c)
	}
}

// clean takes classes without a key out of the line of a priority.
func (m *model) clean(prio int) {
	m.turns[prio] = slices.DeleteFunc(m.turns[prio], func(c string) bool {
		return !slices.ContainsFunc(m.queued, func(k modelKey) bool { return k.prio == prio && m.class(k.key) == c })
	})
}

// next is the key to be handed out; something must be queued.
func (m *model) next() modelKey {
	prio := slices.MaxFunc(m.queued, func(a, b modelKey) int { return a.prio - b.prio }).prio
	c := m.turns[prio][0]
	i := slices.IndexFunc(m.queued, func(k modelKey) bool { return k.prio == prio && m.class(k.key) == c })
	k := m.queued[i]
	m.queued = slices.Delete(m.queued, i, i+1)
	m.turns[prio] = append(m.turns[prio][1:], c)
	m.clean(prio)
	m.running[k.key] = k.prio
	return k
}

// take returns the notes of a hand-out.
func (m *model) take(key string) []note.Note {
	all := m.notes[key]
	delete(m.notes, key)
	return all
}

func (m *model) note(key string, why note.Note) { m.notes[key] = append(m.notes[key], why) }

func (m *model) add(now time.Time, key string, prio int, why note.Note) {
	if m.down {
		return
	}
	m.note(key, why)
	_, isDirty := m.dirty[key]
	if m.debounce <= 0 || m.find(key) >= 0 || isDirty {
		m.enqueue(key, prio)
		return
	}
	w, ok := m.held[key]
	if !ok {
		w = modelWait{first: now, prio: prio}
	}
	w.prio = max(w.prio, prio)
	w.at = now.Add(m.debounce)
	if last := w.first.Add(m.longest); w.at.After(last) {
		w.at = last
	}
	m.held[key] = m.place(m.held, key, w)
}

// place gives a wait of a key its turn among the waits of the same time: the last turn, or the one
// that it has already.
func (m *model) place(waits map[string]modelWait, key string, w modelWait) modelWait {
	m.sets++
	w.set = m.sets
	if old, ok := waits[key]; ok && old.at.Equal(w.at) {
		w.set = old.set
	}
	return w
}

func (m *model) addAfter(now time.Time, key string, prio int, d time.Duration, replace bool, why note.Note) {
	if m.down {
		return
	}
	m.retries++
	w, ok := m.delayed[key]
	at := now.Add(d)
	if ok && !replace {
		prio = max(prio, w.prio)
		if !w.at.After(at) {
			at, why = w.at, w.why
		}
	}
	m.delayed[key] = m.place(m.delayed, key, modelWait{at: at, prio: prio, why: why})
}

func (m *model) addRateLimited(now time.Time, key string, prio int, after time.Duration, replace bool) {
	if m.down {
		return
	}
	d := m.limiter.Delay(key, m.failures[key])
	m.failures[key]++
	if after > 0 {
		d = min(d, after)
	}
	if d > 0 {
		m.addAfter(now, key, prio, d, replace, note.Retry)
		return
	}
	m.retries++
	m.note(key, note.Retry)
	m.enqueue(key, prio)
}

func (m *model) done(key string) bool {
	if _, ok := m.running[key]; !ok {
		return false
	}
	delete(m.running, key)
	if prio, ok := m.dirty[key]; ok {
		delete(m.dirty, key)
		m.push(key, prio)
	}
	return true
}

func (m *model) cancel(key string) bool {
	_, ok := m.delayed[key]
	delete(m.delayed, key)
	return ok
}

// pass lets everything happen that is due, first the earliest.
func (m *model) pass(now time.Time) {
	for {
		var key string
		var first modelWait
		var from map[string]modelWait
		for _, waits := range []map[string]modelWait{m.delayed, m.held} {
			for k, w := range waits {
				if !w.at.After(now) && (from == nil || w.before(first)) {
					key, first, from = k, w, waits
				}
			}
		}
		if from == nil {
			return
		}
		delete(from, key)
		if first.why != 0 {
			m.note(key, first.why)
		}
		m.enqueue(key, first.prio)
	}
}

func (m *model) shutDown() {
	for len(m.held) > 0 && !m.down {
		var key string
		for k, w := range m.held {
			if key == "" || w.before(m.held[key]) {
				key = k
			}
		}
		prio := m.held[key].prio
		delete(m.held, key)
		m.enqueue(key, prio)
	}
	clear(m.delayed)
	m.down = true
}
