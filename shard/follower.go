package shard

import (
	"context"
	"fmt"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/sharding"

	"github.com/kinform/kinform/internal/broadcast"
	"github.com/kinform/kinform/internal/hashrange"
	"github.com/kinform/kinform/internal/picking"
	"github.com/kinform/kinform/internal/sharded"
)

// follower is the set of hashes as one cache has it. It is the picking.Selection of a [Part]. The
// ranges in it are never changed, only replaced.
//
// listed ⊆ keeps ⊆ wanted at any time, since each call of set takes what has left out of all three.
type follower struct {
	field string // see Part; set once

	mu     sync.Mutex
	wanted []HashRange // the set
	asked  selection   // by requests
	before selection   // by the requests of the last whole list, which the watch goes on with
	keeps  []HashRange // hashes of objects that may enter the cache: of the list in progress, or of the last attempt
	listed []HashRange // hashes of which the cache has a list

	// Of the Run that follows; nil while there is none.
	changed func(less bool) error
	flush   func(context.Context) error
	run     int // its number

	prunes int              // calls of changed that have yet to take objects out of the cache
	moved  broadcast.Signal // that what wait looks at has changed
}

// selection is what requests ask for.
type selection struct {
	ranges []HashRange
	text   string // for servers; empty if they are not to select
}

var _ picking.Selection = (*follower)(nil)

// set takes a new set of ranges. There is one call at a time.
func (f *follower) set(ranges []HashRange) {
	f.mu.Lock()
	kept := hashrange.Common(f.keeps, ranges, (*HashRange).ends)
	less := !slices.Equal(f.keeps, kept)
	f.wanted, f.keeps = ranges, kept
	f.moved.Send()
	f.listed = hashrange.Common(f.listed, ranges, (*HashRange).ends)
	changed, run := f.changed, f.run
	if changed == nil {
		f.mu.Unlock()
		return
	}
	if less {
		f.prunes++
	}
	f.mu.Unlock()
	if err := changed(less); err != nil || !less {
		return // after an error, the Run is about to end
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.run == run {
		f.prunes--
		f.moved.Send()
	}
}

// Follow serves reflectors.
func (f *follower) Follow(changed func(less bool) error, flush func(context.Context) error) (stop func(), err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.changed != nil {
		return nil, fmt.Errorf("%w: two caches run with the source of one Part: call Part.Source for each", ErrHashes)
	}
	f.run++
	f.changed, f.flush, f.keeps = changed, flush, nil
	f.forget()
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.changed, f.flush = nil, nil
		f.forget() // but not keeps: a change or a commit in progress may still ask
	}, nil
}

// forget begins or ends a Run: what the cache has from before does not count. Called with mu held.
func (f *follower) forget() {
	f.asked, f.before, f.listed, f.prunes = selection{}, selection{}, nil, 0
	f.moved.Send()
}

// Begin serves reflectors.
func (f *follower) Begin() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keeps = f.wanted
	f.asked = selection{ranges: f.wanted, text: f.selector()}
	return len(f.wanted) > 0
}

// selector returns the text by which servers select the set. Called with mu held.
func (f *follower) selector() string {
	if f.field == "" || len(f.wanted) == 0 {
		return ""
	}
	var all []sharding.ShardRangeRequirement
	for _, r := range f.wanted {
		all = append(all, sharded.Range(f.field, r.First, r.Last))
	}
	return sharding.NewSelector(all...).String()
}

// Listed serves reflectors.
func (f *follower) Listed() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listed, f.before = f.keeps, f.asked
	f.moved.Send()
}

// Dropped serves reflectors.
func (f *follower) Dropped() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = f.before
}

// Due serves reflectors.
func (f *follower) Due() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.hasListed(f.wanted)
}

// hasListed reports whether the cache has lists of ranges. Called with mu held.
func (f *follower) hasListed(ranges []HashRange) bool {
	return len(hashrange.Without(ranges, f.listed, (*HashRange).ends)) == 0
}

// Request adds the selector to the options of a request.
func (f *follower) Request(opts *metav1.ListOptions) {
	f.mu.Lock()
	defer f.mu.Unlock()
	opts.ShardSelector = f.asked.text
}

// CheckList checks the answer to a list.
func (f *follower) CheckList(page metav1.ListMeta) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.changed == nil {
		return errNotFollowed
	}
	return sharded.CheckList(page, f.asked.text)
}

// hasAsked reports whether a hash is one of those that requests ask for.
func (f *follower) hasAsked(hash uint64) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.changed == nil {
		return false, errNotFollowed
	}
	return inRanges(f.asked.ranges, hash), nil
}

// has reports whether a hash is one of those that the cache keeps.
func (f *follower) has(hash uint64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return inRanges(f.keeps, hash)
}

// wait waits until the cache has lists of all ranges that are still in the set, and nothing outside the
// set.
func (f *follower) wait(ctx context.Context, ranges []HashRange) error {
	for {
		f.mu.Lock()
		flush := f.flush
		if f.prunes > 0 || !f.hasListed(hashrange.Common(ranges, f.wanted, (*HashRange).ends)) {
			flush = nil
		}
		moved := f.moved.Wait()
		f.mu.Unlock()
		if flush != nil && flush(ctx) == nil {
			return nil
		}
		select { // an error of flush is ctx's, or the Run is about to end
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
