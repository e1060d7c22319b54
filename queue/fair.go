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

// turns lets the lanes of several classes take turns within one level. Only classes that have a key are in line.
type turns[K comparable] struct {
	lanes      map[*class]*turnLane[K]
	head, tail *turnLane[K] // next to come, last to come
}

type turnLane[K comparable] struct {
	lane[K]
	class      *class
	next, prev *turnLane[K]
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
	l.prev, l.next = t.tail, nil
	if t.tail == nil {
		t.head = l
	} else {
		t.tail.next = l
	}
	t.tail = l
}

// unline takes a lane out of the line.
func (t *turns[K]) unline(l *turnLane[K]) {
	if l.prev == nil {
		t.head = l.next
	} else {
		l.prev.next = l.next
	}
	if l.next == nil {
		t.tail = l.prev
	} else {
		l.next.prev = l.prev
	}
}

// remove takes e out of its lane. If that was the class's last key, the class loses its place in the line.
func (t *turns[K]) remove(e *entry[K]) {
	l := t.lanes[e.class]
	l.remove(e)
	if l.head == nil {
		t.unline(l)
		delete(t.lanes, l.class)
	}
}

// peek gives the next entry; there must be one.
func (t *turns[K]) peek() *entry[K] { return t.head.head }

// pop takes the next entry; there must be one. Its lane goes to the end of the line.
func (t *turns[K]) pop() *entry[K] {
	l := t.head
	e := l.head
	t.unline(l)
	l.remove(e)
	if l.head == nil {
		delete(t.lanes, l.class)
	} else {
		t.line(l)
	}
	return e
}
