package queue

import "maps"

// class is a class of keys as named by Options.Class. Guarded by Queue.mu.
type class struct {
	name string
	refs int // entries that point to it
}

// keepClasses is the number of classes up to which the maps of classes are never rebuilt.
const keepClasses = 64

// classSet holds the classes of all present entries.
type classSet struct {
	byName map[string]*class
	peak   int // the most that byName held since it was made
}

// join counts one entry more in the class of that name.
func (c *classSet) join(name string) *class {
	cl := c.byName[name]
	if cl == nil {
		cl = &class{name: name}
		c.byName = put(c.byName, name, cl, &c.peak)
	}
	cl.refs++
	return cl
}

// leave counts one entry less, and removes a class that has none.
func (c *classSet) leave(cl *class) {
	if cl.refs--; cl.refs == 0 {
		c.byName = shed(c.byName, cl.name, &c.peak)
	}
}

// put sets m[key] and records the largest length of m.
func put[K comparable, V any](m map[K]V, key K, value V, peak *int) map[K]V {
	if m == nil {
		m = make(map[K]V)
	}
	m[key] = value
	*peak = max(*peak, len(m))
	return m
}

// shed deletes m[key]. It replaces a map that has become much smaller, because Go maps never
// shrink. Amortised O(1).
func shed[K comparable, V any](m map[K]V, key K, peak *int) map[K]V {
	delete(m, key)
	if *peak <= keepClasses || len(m)*tooLarge > *peak {
		return m
	}
	*peak = len(m)
	fresh := make(map[K]V, len(m))
	maps.Copy(fresh, m)
	return fresh
}

// turns lets the lanes of several classes take turns within one level. Only classes with a ready
// key are in the line.
type turns[K comparable] struct {
	lanes map[*class]*turnLane[K]
	peak  int                             // the most that lanes held since it was made
	line  list[turnLane[K], *turnLane[K]] // the head is next in turn
}

type turnLane[K comparable] struct {
	links[turnLane[K]] // in the line
	lane[K]
	class *class
}

func (t *turns[K]) push(e *entry[K]) {
	l := t.lanes[e.class]
	if l == nil {
		l = &turnLane[K]{class: e.class}
		t.lanes = put(t.lanes, e.class, l, &t.peak)
		t.line.push(l)
	}
	l.push(e)
}

// remove removes e from its lane. If that was the class's last key, the class loses its place in
// the line.
func (t *turns[K]) remove(e *entry[K]) {
	l := t.lanes[e.class]
	l.remove(e)
	if l.head == nil {
		t.line.remove(l)
		t.lanes = shed(t.lanes, l.class, &t.peak)
	}
}

// peek returns the next entry; there must be one.
func (t *turns[K]) peek() *entry[K] { return t.line.head.head }

// pop removes and returns the next entry; there must be one. Its lane goes to the end of the line.
func (t *turns[K]) pop() *entry[K] {
	l := t.line.head
	e := l.head
	t.line.remove(l)
	l.remove(e)
	if l.head == nil {
		t.lanes = shed(t.lanes, l.class, &t.peak)
	} else {
		t.line.push(l)
	}
	return e
}
