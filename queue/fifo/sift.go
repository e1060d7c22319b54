package fifo

// minHeap is the smallest capacity for nodes that a heap shrinks to.
const minHeap = 16

// before reports whether node i comes before node j. compare may panic, so at every call of before
// the heap must have all its objects, with at up to date.
func (h *Heap[K, T]) before(i, j int) bool {
	if c := h.compare(h.nodes[i].obj, h.nodes[j].obj); c != 0 {
		return c < 0
	}
	return h.nodes[i].seq < h.nodes[j].seq
}

func (h *Heap[K, T]) swap(i, j int) {
	h.nodes[i], h.nodes[j] = h.nodes[j], h.nodes[i]
	h.at[h.nodes[i].key], h.at[h.nodes[j].key] = i, j
}

// fix moves node i of the first n, which may have changed, to its place.
func (h *Heap[K, T]) fix(i, n int) {
	if h.up(i) == i {
		h.down(i, n)
	}
}

// up moves node i up to its place, and returns its new index.
func (h *Heap[K, T]) up(i int) int {
	for i > 0 {
		parent := (i - 1) / 2
		if !h.before(i, parent) {
			break
		}
		h.swap(i, parent)
		i = parent
	}
	return i
}

// down moves node i of the first n down to its place.
func (h *Heap[K, T]) down(i, n int) {
	for {
		child := 2*i + 1
		if child >= n {
			return
		}
		if right := child + 1; right < n && h.before(right, child) {
			child = right
		}
		if !h.before(child, i) {
			return
		}
		h.swap(i, child)
		i = child
	}
}

// remove removes node i. It does so last, so that the node stays in the heap if compare panics.
func (h *Heap[K, T]) remove(i int) node[K, T] {
	last := len(h.nodes) - 1
	h.swap(i, last)
	if i < last {
		h.fix(i, last)
	}
	gone := h.nodes[last]
	h.nodes[last] = node[K, T]{}
	h.nodes = h.nodes[:last]
	delete(h.at, gone.key)
	if cap(h.nodes) > 4*max(last, minHeap) {
		h.shrink()
	}
	return gone
}

// shrink gives back memory. Before the next shrink at least as many objects must come or go as
// there are now, so that its amortized cost is O(1).
func (h *Heap[K, T]) shrink() {
	nodes := make([]node[K, T], len(h.nodes), 2*max(len(h.nodes), minHeap))
	copy(nodes, h.nodes)
	h.nodes = nodes
	h.at = make(map[K]int, cap(nodes))
	for i := range nodes {
		h.at[nodes[i].key] = i
	}
}
