package door

// pass is a version at which an own write is due.
type pass[K comparable] struct {
	version uint64
	key     K
}

// passing holds own writes, lowest version first. Answers come nearly in the order of their versions,
// so that push moves few. The zero value is empty.
type passing[K comparable] []pass[K]

func (q *passing[K]) push(p pass[K]) {
	all := append(*q, p)
	for n := len(all) - 1; n > 0 && all[n].version < all[n-1].version; n-- {
		all[n], all[n-1] = all[n-1], all[n]
	}
	*q = all
}

// pop takes the lowest out.
func (q *passing[K]) pop() {
	if *q = (*q)[1:]; len(*q) == 0 {
		*q = nil
	}
}
