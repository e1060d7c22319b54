package posting

// Rows holds the back-references of several indexes over the same slots. All back-references of a
// slot are next to each other, so that a change of an object reads one cache line for up to eight
// indexes. In an array per index it would read one for each: an update of one of 100,000 small
// objects then takes 1.2 times as long with 3 indexes, and 1.15 times with 50 (rows set/new of
// bench).
//
// Only the writer uses them. The pages are short enough that one more of them takes some 10 µs.
//
// Invariants: there are the pages that n slots need; a page has 1<<shift rows, except the first,
// which is shorter while it is the only one; rows at and above n are zero.
type Rows struct {
	width int // the number of indexes
	shift uint8
	pages [][]ref
	n     int // slots
}

const (
	maxRowShift  = 8
	rowPageBytes = 1 << 15
	refBytes     = 8
)

// NewRows returns rows for width indexes.
func NewRows(width int) *Rows {
	r := &Rows{width: width, shift: maxRowShift}
	for r.shift > 0 && width*refBytes<<r.shift > rowPageBytes {
		r.shift--
	}
	return r
}

// Len returns the number of slots that have a row.
func (r *Rows) Len() int { return r.n }

// at returns the ref of index col for slot, which must be below Len.
func (r *Rows) at(slot uint32, col int) *ref {
	return &r.pages[slot>>r.shift][int(slot&(1<<r.shift-1))*r.width+col]
}

// one returns the ref of index col for slot, which must be below Len, as a slice of one.
func (r *Rows) one(slot uint32, col int) []ref {
	page, i := r.pages[slot>>r.shift], int(slot&(1<<r.shift-1))*r.width+col
	return page[i : i+1 : i+1]
}

// Lengthen makes the number of rows at least n. Without columns it stays 0.
func (r *Rows) Lengthen(n int) {
	if n > r.n && r.width > 0 {
		r.grow(n)
	}
}

func (r *Rows) grow(n int) {
	whole := 1 << r.shift
	switch {
	case n > whole:
		if len(r.pages) > 0 && len(r.pages[0]) < whole*r.width {
			r.refit(whole)
		}
		for n > len(r.pages)<<r.shift {
			r.pages = append(r.pages, make([]ref, whole*r.width))
		}
	case len(r.pages) == 0:
		r.pages = [][]ref{make([]ref, min(n+n/8, whole)*r.width)}
	case len(r.pages) == 1 && len(r.pages[0]) < n*r.width:
		r.refit(min(max(n, r.n+r.n/4+2), whole))
	}
	r.n = n
}

// refit gives the first page, which must be the only one, room for n rows.
func (r *Rows) refit(n int) {
	page := make([]ref, n*r.width)
	copy(page, r.pages[0])
	r.pages[0] = page
}

// Truncate gives back memory of slots at and above n, none of which may have values.
func (r *Rows) Truncate(n int) {
	if n >= r.n {
		return
	}
	r.n = n
	if n == 0 {
		r.pages = nil
		return
	}
	keep := (n + 1<<r.shift - 1) >> r.shift
	clear(r.pages[keep:])
	r.pages = r.pages[:keep]
	if cap(r.pages) > 8 && keep < cap(r.pages)/4 {
		r.pages = append(make([][]ref, 0, keep+keep/4), r.pages...)
	}
	if room := len(r.pages[0]) / r.width; keep == 1 && room > 64 && n <= room/2 {
		r.refit(n + n/4)
	}
}

// Clone returns an independent copy.
func (r *Rows) Clone() *Rows { return r.Widened(0) }

// Widened returns a copy with more columns at the end, which are empty.
func (r *Rows) Widened(more int) *Rows {
	c := NewRows(r.width + more)
	c.Lengthen(r.n)
	if more == 0 {
		for i, page := range r.pages {
			copy(c.pages[i], page)
		}
		return c
	}
	for slot := range uint32(r.n) {
		for col := range r.width {
			*c.at(slot, col) = *r.at(slot, col)
		}
	}
	return c
}
