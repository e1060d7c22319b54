// Package cowvec is a vector of slots with frozen views that cost nothing to take.
//
// A slot has a number that never changes while it is in use. The elements lie in
// chunks; a [View] shares all of them with the vector, and a later write copies the
// directory and the one chunk that it touches, once per view at most.
//
// One writer at a time. [Vec.At], [Vec.View], [Vec.Len] and [Vec.Live] may run in
// parallel with each other, but not with a write: the owner's read-write lock sees to
// that. A View needs no lock at all, for ever.
package cowvec
