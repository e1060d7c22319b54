// Package posting keeps, for every value of an index, the numbers of the slots that have
// it, and for every slot where it stands, so that leaving a value costs O(1).
//
// A slot whose values did not change costs one comparison per value and writes nothing.
// A slot with one value, the usual case, costs 8 bytes for its back-reference and 4 for
// its number.
//
// One writer at a time; reads may run in parallel with each other, but not with a write.
package posting
