// Package hashrange computes with lists of ranges of hashes. The ranges may be of any type: ends
// returns pointers to the first and the last hash of one, both included. All other fields of a
// range are copied.
package hashrange

// Common returns the hashes that are in both lists, as parts of the ranges of the second list. Both
// are sorted.
func Common[R any](a, b []R, ends func(*R) (first, last *uint64)) (both []R) {
	for _, x := range a {
		first, last := ends(&x)
		for _, y := range b {
			from, to := ends(&y)
			if *from, *to = max(*first, *from), min(*last, *to); *from <= *to {
				both = append(both, y)
			}
		}
	}
	return both
}

// Without returns the hashes that are in a and not in b, as parts of the ranges of a. Both are
// sorted.
func Without[R any](a, b []R, ends func(*R) (first, last *uint64)) (rest []R) {
	for _, x := range a {
		first, last := ends(&x)
		covered := false
		for _, y := range b {
			from, to := ends(&y)
			if *to < *first || *from > *last {
				continue
			}
			if *from > *first {
				before := x
				_, end := ends(&before)
				*end = *from - 1
				rest = append(rest, before)
			}
			if covered = *to >= *last; covered {
				break
			}
			*first = *to + 1
		}
		if !covered {
			rest = append(rest, x)
		}
	}
	return rest
}
