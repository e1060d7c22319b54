package informer

import (
	"fmt"
	"hash/maphash"
	"reflect"
	"slices"
)

const (
	// manyReturns is how often the contents of an object may return to earlier contents at one version
	// until that is reported. A new default or converter brings new contents. It may be taken back,
	// which is one return. Servers that disagree bring the same contents again and again.
	manyReturns = 2
	// mostVariations bounds the number of objects whose contents are kept.
	mostVariations = 50
	// mostContents bounds the earlier contents that are kept of an object.
	mostContents = 4
)

// variations finds objects whose contents change back and forth at an unchanged version. Servers that
// disagree often do so in most objects of a kind. So it looks at a sample, which does not depend on
// the order of the objects: those with the smallest hashes among the ones that have changed lately.
type variations struct {
	seed     maphash.Seed
	sample   map[uint64]*variation // by hash of object and version; nil for empty
	last     uint64                // the largest hash in a full sample
	changed  bool                  // the commit in progress has changed the contents of an object
	commits  uint64                // number of earlier commits that did
	found    string                // the object to report
	reported bool
}

// variation is an object at a version.
type variation struct {
	before  []any  // earlier contents, the newest last
	returns int    // how often earlier contents came back
	commit  uint64 // number of the last commit that changed them
}

// note notes that the contents of an object were known and are now listed, at one version.
func (t *variations) note(name, version string, known, listed any) {
	if t.reported || version == "" {
		return
	}
	t.changed = true
	v := t.of(maphash.Comparable(t.seed, [2]string{name, version}))
	if v == nil {
		return
	}
	v.note(known, listed)
	v.commit = t.commits
	if v.returns >= manyReturns {
		t.found = fmt.Sprintf("object %q at resourceVersion %s", name, version)
	}
}

// of returns the variation in the sample with this hash, and nil if there is none and no room.
func (t *variations) of(hash uint64) *variation {
	if v := t.sample[hash]; v != nil {
		return v
	}
	full := len(t.sample) == mostVariations
	switch {
	case full && hash > t.last:
		return nil
	case full:
		delete(t.sample, t.last)
	case t.sample == nil:
		t.sample = map[uint64]*variation{}
	}
	v := &variation{}
	t.sample[hash] = v
	t.last = 0
	for other := range t.sample {
		t.last = max(t.last, other)
	}
	return v
}

func (v *variation) note(known, listed any) {
	has := func(contents any) bool {
		return slices.ContainsFunc(v.before, func(before any) bool { return reflect.DeepEqual(before, contents) })
	}
	if has(listed) {
		v.returns++
	}
	if has(known) {
		return
	}
	if len(v.before) == mostContents {
		v.before = slices.Delete(v.before, 0, 1)
	}
	v.before = append(v.before, known)
}

// take ends a commit. It returns an error that wraps errContentsVary if there is something to report,
// once. A commit that changes contents drops the objects whose contents have not changed lately. After the
// last such commit, up to mostVariations of them stay in the sample: others may not follow for long, and
// then these show whether the contents come back.
func (t *variations) take() error {
	if !t.changed {
		return nil
	}
	if t.found != "" {
		err := fmt.Errorf("%s: %w", t.found, errContentsVary)
		*t = variations{reported: true}
		return err
	}
	for hash, v := range t.sample {
		if v.commit+1 < t.commits {
			delete(t.sample, hash) // makes room
		}
	}
	t.changed = false
	t.commits++
	return nil
}
