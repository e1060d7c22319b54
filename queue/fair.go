package queue

// class is a class of keys as named by Options.Class. Guarded by Queue.mu.
type class struct {
	name string
	refs int // entries that point to it
}

// classes are the classes that live entries belong to.
type classes map[string]*class

// join counts one entry more in the class of that name.
func (c classes) join(name string) *class {
	cl := c[name]
	if cl == nil {
		cl = &class{name: name}
		c[name] = cl
	}
	cl.refs++
	return cl
}

// leave counts one entry less and forgets a class that has none.
func (c classes) leave(cl *class) {
	if cl.refs--; cl.refs == 0 {
		delete(c, cl.name)
	}
}

// turns lets the lanes of several classes take turns within one level.
type turns[K comparable] struct {
	lanes      map[*class]*turnLane[K]
	head, tail *turnLane[K] // those in turn, next first; may hold lanes that were emptied by remove
}

type turnLane[K comparable] struct {
	lane[K]
	class *class
	next  *turnLane[K]
}

func (t *turns[K]) push(e *entry[K]) {
	l := t.lanes[e.class]
	if l == nil {
		if t.lanes == nil {
			t.lanes = make(map[*class]*turnLane[K])
		}
		l = &turnLane[K]{class: e.class}
		t.lanes[e.class] = l
		t.line(l)
	}
	l.push(e)
}

// line puts a lane at the end of the line.
func (t *turns[K]) line(l *turnLane[K]) {
	l.next = nil
	if t.tail == nil {
		t.head = l
	} else {
		t.tail.next = l
	}
	t.tail = l
}

// unline takes the first lane out of the line.
func (t *turns[K]) unline() *turnLane[K] {
	l := t.head
	if t.head = l.next; t.head == nil {
		t.tail = nil
	}
	return l
}

// remove takes e out of its lane. A lane that it empties keeps its place in the line until its turn comes.
func (t *turns[K]) remove(e *entry[K]) { t.lanes[e.class].remove(e) }

// peek gives the next entry; there must be one. Emptied lanes on the way are dropped.
func (t *turns[K]) peek() *entry[K] {
	for t.head.head == nil {
		delete(t.lanes, t.unline().class)
	}
	return t.head.head
}

// pop takes the next entry; there must be one. Its lane goes to the end of the line.
func (t *turns[K]) pop() *entry[K] {
	e := t.peek()
	l := t.unline()
	l.remove(e)
	if l.head == nil {
		delete(t.lanes, l.class)
	} else {
		t.line(l)
	}
	return e
}

// reset forgets the emptied lanes that are still in line.
func (t *turns[K]) reset() {
	clear(t.lanes)
	t.head, t.tail = nil, nil
}
