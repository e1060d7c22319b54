// Package cowvec is a vector of slots with frozen views that cost nothing to take.
//
// A slot keeps its number while it is in use. The elements are in chunks. A [View] shares all
// chunks with the vector. A later write copies the directory and the chunk that it changes, at
// most once per view.
//
// One writer at a time. [Vec.At], [ViewOf], [Vec.Len] and [Vec.Live] may run in
// parallel with each other, but not with a write: the owner's read-write lock excludes that. A
// View never needs a lock.
//
// Most of it is functions and not methods, because the compiler makes those for each type of
// elements, used or not.
package cowvec
