package queue

// list is a doubly linked list of nodes that carry their own links: adding a node allocates
// nothing, an empty list takes no memory, and a node leaves from the middle in O(1). A node is in
// one list at a time.
type list[N any, P node[N]] struct {
	head, tail *N
}

// links are the neighbours of a node.
type links[N any] struct {
	next, prev *N
}

// node is a pointer to a node, which embeds its links.
type node[N any] interface {
	*N
	at() *links[N]
}

func (l *links[N]) at() *links[N] { return l }

// push appends n. O(1).
func (l *list[N, P]) push(n *N) {
	*P(n).at() = links[N]{prev: l.tail}
	if l.tail == nil {
		l.head = n
	} else {
		P(l.tail).at().next = n
	}
	l.tail = n
}

// remove removes n, which must be in the list. O(1).
func (l *list[N, P]) remove(n *N) {
	at := P(n).at()
	if at.prev == nil {
		l.head = at.next
	} else {
		P(at.prev).at().next = at.next
	}
	if at.next == nil {
		l.tail = at.prev
	} else {
		P(at.next).at().prev = at.prev
	}
	*at = links[N]{}
}

// all calls yield for each node in order. It stops and returns false if yield does.
func (l *list[N, P]) all(yield func(*N) bool) bool {
	for n := l.head; n != nil; n = P(n).at().next {
		if !yield(n) {
			return false
		}
	}
	return true
}
