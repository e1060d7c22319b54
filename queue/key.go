package queue

// usable refuses keys that cannot be map keys, before any lock is taken.
func (q *Queue[K]) usable(key K) bool { return q.keys.OK(key) || q.refuse(key) }

// refuse is the slow part of usable, apart so that usable is inlined.
func (q *Queue[K]) refuse(key K) bool {
	q.report(key, ErrBadKey)
	return false
}
