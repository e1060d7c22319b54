// Package posting keeps a posting for every value of an index: the numbers of the slots that have
// the value. For every slot it also keeps the slot's positions in postings (back-references), so
// that removing a slot from a posting costs O(1).
//
// If the values of a slot did not change, Set only compares them. A slot with one value, the
// usual case, takes 8 bytes for its back-reference and 4 for its number.
//
// One writer at a time; reads may run in parallel with each other, but not with a write.
package posting
