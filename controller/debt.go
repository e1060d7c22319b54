package controller

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// catchUpTime is how long a reconcile waits for its handles. After that its key is queued again,
// with the error, so that the delay is reported and other keys get a turn.
const catchUpTime = 10 * time.Second

// debt lists the events that a handle must see before its reads have all its writes. The zero value
// is none.
type debt struct {
	// all counts writes of unknown objects, and paid how many of them reads have.
	all, paid atomic.Uint64

	lost atomic.Uint64 // number of the informer's lost writes that are in objects or all
	some atomic.Bool   // objects is not empty

	blinded atomic.Bool // blind is not empty

	mu      sync.Mutex
	objects map[types.NamespacedName]uint64    // objects in doubt, with the number of their last doubt
	failing map[types.NamespacedName]time.Time // since when it fails to ask for an object in doubt
	doubted uint64                             // number of doubts so far
	where   map[string]bool                    // namespaces of the unknown writes that are not paid
	blind   map[string]bool                    // namespaces that were stale when writes in them were paid
}

// unknown notes a write to objects that are not known, in a namespace or, if it is empty, in any.
func (d *debt) unknown(namespace string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.addUnknown(namespace)
}

// addUnknown is unknown with mu held.
func (d *debt) addUnknown(namespace string) {
	if d.where == nil {
		d.where = map[string]bool{}
	}
	d.where[namespace] = true
	d.all.Add(1)
}

// maxAsked is the number of objects up to which the server is asked for each of them, because the
// watch takes long.
const maxAsked = 100

// doubt notes that the state of an object is not known. Too many objects count as unknown ones.
func (d *debt) doubt(key types.NamespacedName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.objects[key]; !known && len(d.objects) >= maxAsked {
		for known := range d.objects {
			d.addUnknown(known.Namespace)
		}
		d.addUnknown(key.Namespace)
		d.objects, d.failing = nil, nil
		d.some.Store(false)
		return
	}
	if d.objects == nil {
		d.objects = map[types.NamespacedName]uint64{}
	}
	d.doubted++
	d.objects[key] = d.doubted
	d.some.Store(true)
}

// since returns the number of the last doubt of an object.
func (d *debt) since(key types.NamespacedName) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.objects[key]
}

// settled ends a doubt unless there is a newer one.
func (d *debt) settled(key types.NamespacedName, since uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.failing, key)
	if d.objects[key] == since {
		delete(d.objects, key)
	}
	d.some.Store(len(d.objects) > 0)
}

// failed notes that it failed to ask for an object in doubt, and returns for how long it has been
// failing.
func (d *debt) failed(key types.NamespacedName, now time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.objects[key] == 0 {
		return 0 // another goroutine has got it meanwhile
	}
	since, known := d.failing[key]
	if !known {
		since = now
		if d.failing == nil {
			d.failing = map[types.NamespacedName]time.Time{}
		}
		d.failing[key] = now
	}
	return now.Sub(since)
}

// doubts returns the objects in doubt.
func (d *debt) doubts() []types.NamespacedName {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Keys(d.objects))
}

// take moves the informer's lost writes, up to now, to the debt. complete says that keys are all of
// them.
func (d *debt) take(keys []types.NamespacedName, now uint64, complete bool) {
	if complete && len(keys) <= maxAsked {
		for _, key := range keys {
			d.doubt(key)
		}
	} else {
		d.unknown("")
	}
	d.lost.Store(now)
}

// unpaid returns the number of the last unknown write, 0 if reads have all of them, and the
// namespaces of those that reads lack, nil for all.
func (d *debt) unpaid() (due uint64, where []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if due = d.all.Load(); due <= d.paid.Load() {
		return 0, nil
	}
	if d.where[""] {
		return due, nil
	}
	return due, slices.Collect(maps.Keys(d.where))
}

// pay notes that reads have the first due of the unknown writes, except for those in the stale
// namespaces.
func (d *debt) pay(due uint64, stale []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.paid.Store(max(due, d.paid.Load()))
	for namespace := range d.where {
		d.blindTo(namespace, stale)
	}
	if d.all.Load() == due {
		clear(d.where)
	}
}

// blindTo notes that reads of the stale namespaces lack writes in a namespace, or in any if it is
// empty. Called with mu held.
func (d *debt) blindTo(namespace string, stale []string) {
	for _, name := range stale {
		if overlap(name, namespace) {
			if d.blind == nil {
				d.blind = map[string]bool{}
			}
			d.blind[name] = true
			d.blinded.Store(true)
		}
	}
}

// stillBlind returns the namespaces whose reads lack writes; "" is the whole cache. A namespace is
// blind until covers returns true for it. Then its writes are unknown ones again, because the cache
// may have come less far than they did.
func (d *debt) stillBlind(covers func(string) bool) (all []string) {
	if !d.blinded.Load() {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for name := range d.blind {
		all = append(all, name)
		if covers(name) {
			delete(d.blind, name)
			d.addUnknown(name)
		}
	}
	d.blinded.Store(len(d.blind) > 0)
	return all
}

// overlap reports whether two namespaces have objects in common. Empty stands for all.
func overlap(a, b string) bool { return a == b || a == "" || b == "" }
