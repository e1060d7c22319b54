package informer

import (
	"fmt"
	"hash/maphash"

	"github.com/kinform/kinform/internal/objmeta"
)

// manyVariations is how often the contents of an object change at one version before that is reported. A
// definition's new default changes them once.
const manyVariations = 3

// mostVariations bounds the number of objects whose variations are counted.
const mostVariations = 1000

// variations counts how often the contents of objects change at an unchanged version. The zero value is
// ready.
type variations struct {
	counts   map[uint64]int // by hash of UID and version
	found    string         // the object to report
	reported bool
}

// note counts a change of an object whose version stays the same.
func (t *variations) note(seed maphash.Seed, obj any) {
	if t.reported {
		return
	}
	if t.counts == nil || len(t.counts) >= mostVariations {
		t.counts = map[uint64]int{}
	}
	version := objmeta.VersionOf(obj)
	state := maphash.Comparable(seed, [2]string{string(objmeta.UIDOf(obj)), version})
	if t.counts[state]++; t.counts[state] >= manyVariations {
		t.found = fmt.Sprintf("%s at resourceVersion %s", objmeta.KeyTextOf(obj), version)
	}
}

// take returns an error that wraps ErrContentsVary if there is something to report, once.
func (t *variations) take() error {
	if t.found == "" {
		return nil
	}
	err := fmt.Errorf("%w: %s", ErrContentsVary, t.found)
	*t = variations{reported: true}
	return err
}
