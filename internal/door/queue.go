package door

// Queue holds keys that are due at a version, the lowest first. Answers to writes come nearly in the order
// of their versions, so that Push moves few. The zero value is empty.
type Queue[K comparable] []pass[K]

type pass[K comparable] struct {
	version uint64
	key     K
}

// Push puts a key in.
func (q *Queue[K]) Push(version uint64, key K) {
	all := append(*q, pass[K]{version, key})
	for n := len(all) - 1; n > 0 && all[n].version < all[n-1].version; n-- {
		all[n], all[n-1] = all[n-1], all[n]
	}
	*q = all
}

// Pop takes the lowest key out if it is due at a version.
func (q *Queue[K]) Pop(at uint64) (version uint64, key K, ok bool) {
	if len(*q) == 0 || (*q)[0].version > at {
		return 0, key, false
	}
	first := (*q)[0]
	if *q = (*q)[1:]; len(*q) == 0 {
		*q = nil
	}
	return first.version, first.key, true
}
