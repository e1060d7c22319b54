package door

import "github.com/kinform/kinform/internal/nocmp"

// pending holds keys that are due at a version, the lowest first. Answers to writes come nearly in the order
// of their versions, so that push moves few. The zero value is empty.
type pending[K comparable] []pass[K]

type pass[K comparable] struct {
	_ nocmp.Type

	version uint64
	key     K
}

// push puts a key in.
//
//go:noinline
func push[K comparable](q *pending[K], version uint64, key K) {
	all := append(*q, pass[K]{})
	n := len(all) - 1
	for ; n > 0 && all[n-1].version > version; n-- {
		all[n] = all[n-1]
	}
	all[n] = pass[K]{version: version, key: key}
	*q = all
}

// pop takes the lowest key out if it is due at a version.
func pop[K comparable](q *pending[K], at uint64) (version uint64, key K, ok bool) {
	all := *q
	if len(all) == 0 || all[0].version > at {
		return 0, key, false
	}
	if *q = all[1:]; len(all) == 1 {
		*q = nil
	}
	return all[0].version, all[0].key, true
}
