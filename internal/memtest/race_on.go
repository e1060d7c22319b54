//go:build race

package memtest

// Race says whether the race detector is on: everything is some ten times slower, and pools drop
// what they keep at random, so that times and allocations tell nothing.
const Race = true
