// Package paged holds numbered elements in pages. Growing or shrinking moves at most one page
// of elements, however many there are.
//
// One writer at a time; reads may run in parallel with each other.
package paged

import "slices"

const (
	shift   = 8
	pageLen = 1 << shift
)

// Array is a slice in pages. Its zero value is empty and ready to use.
//
// Invariants: there are at least the pages that n elements need; after Empty there may be
// more. A page has pageLen elements, except the first, which is shorter while it is the only
// one. Elements at and above n are zero.
//
// What changes an array is a function and no method, since each package that names a type which holds an
// array would compile its methods.
type Array[E any] struct {
	pages [][]E
	n     int
}

// Len returns the number of elements.
func (a *Array[E]) Len() int { return a.n }

// Room returns the number of elements that the pages can hold.
func (a *Array[E]) Room() int {
	if len(a.pages) == 1 {
		return len(a.pages[0])
	}
	return len(a.pages) * pageLen
}

// At returns element i, which must be below Len.
func (a *Array[E]) At(i uint32) *E { return &a.pages[i>>shift][i&(pageLen-1)] }

// Lengthen makes the length at least n. New elements are zero. Cost: the allocation of each new
// page, or one copy of a short first page.
func Lengthen[E any](a *Array[E], n int) {
	if n <= a.n {
		return
	}
	for n > a.Room() {
		switch room := a.Room(); {
		case room >= pageLen:
			a.pages = append(a.pages, make([]E, pageLen))
		case room == 0:
			a.pages = append(a.pages, make([]E, min(n+n/8, pageLen)))
		default:
			refit(a, max(n, room+room/4+2))
		}
	}
	a.n = n
}

// refit gives the only page room for n elements, or for a whole page of them.
func refit[E any](a *Array[E], n int) {
	page := make([]E, min(n, pageLen))
	copy(page, a.pages[0])
	a.pages[0] = page
}

// Truncate makes the length at most n, and gives back the memory of the other elements.
func Truncate[E any](a *Array[E], n int) {
	if n >= a.n {
		return
	}
	if n == 0 {
		*a = Array[E]{}
		return
	}
	keep := (n + pageLen - 1) >> shift
	clear(a.pages[keep:])
	a.pages = a.pages[:keep]
	if cap(a.pages) > 8 && keep < cap(a.pages)/4 {
		a.pages = append(make([][]E, 0, keep+keep/4), a.pages...)
	}
	last := a.pages[keep-1]
	clear(last[n-(keep-1)<<shift : min(a.n-(keep-1)<<shift, len(last))])
	a.n = n
	if keep == 1 && len(last) > 64 && n <= len(last)/2 {
		refit(a, n+n/4)
	}
}

// Empty makes the length 0 and keeps the memory. Cost: O(Len).
func Empty[E any](a *Array[E]) {
	for i := 0; i<<shift < a.n; i++ {
		clear(a.pages[i])
	}
	a.n = 0
}

// cloneRun is the number of pages that Clone allocates together. A page keeps the others of its
// run in memory, so the run bounds the memory that a clone keeps after it shrinks.
const cloneRun = 8

// Clone returns an independent copy of the array.
func Clone[E any](a *Array[E]) Array[E] {
	c := Array[E]{pages: make([][]E, 0, len(a.pages)), n: a.n}
	for run := range slices.Chunk(a.pages, cloneRun) {
		elems := slices.Concat(run...)
		for _, page := range run {
			n := len(page)
			c.pages = append(c.pages, elems[:n:n])
			elems = elems[n:]
		}
	}
	return c
}
