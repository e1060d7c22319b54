package informer

// PendingWrite returns the resourceVersion of the recorded write under key ([Informer.RecordWrite]) that
// the watch has not brought yet, and whether there is one. O(1), with a lock that reads share. Stats.Writes
// is the number of all.
func (i *Informer[K, T]) PendingWrite(key K) (rv string, ok bool) {
	if i.written.count.Load() == 0 {
		return "", false
	}
	i.written.mu.RLock()
	defer i.written.mu.RUnlock()
	a, ok := i.written.ahead[key]
	return a.rv, ok
}

// Started reports whether Run was ever called. It is safe from any goroutine. O(1).
func (i *Informer[K, T]) Started() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.phase != notStarted
}
