package informer

import (
	"fmt"
	"sync/atomic"
)

// loose is the first object that could not be packed. One is enough: the others are of the same type.
type loose struct {
	seen atomic.Bool
	key  any
	err  error
	told atomic.Bool
}

// note notes the object of a key if err says that it was not packed. Called with the informer's mu held.
func (l *loose) note(key any, err error) {
	if err != nil && !l.seen.Load() {
		l.key, l.err = key, err
		l.seen.Store(true)
	}
}

// reportLoose reports the object, once. Called without locks.
func reportLoose(i *base) {
	if l := &i.loose; l.seen.Load() && !l.told.Swap(true) {
		report(i, aboutKey(i.name, l.key, fmt.Errorf("the object is not packed, and takes more memory: %w", l.err)))
	}
}
