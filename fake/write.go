package fake

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake/internal/refusal"
)

// The functions of this file own the objects passed to them: callers copy first. Each
// write prepares its result without the lock, from a revision that it read, and commits
// only if that revision is still the newest; otherwise another write made progress and it
// starts again.

// create stores obj under a new name.
func (t *table) create(obj metav1.Object, w write) (v *revision, err error) {
	v, _, err = t.tryCreate(obj, w)
	return v, err
}

// tryCreate is create. taken says that another object has the name; a hook may refuse with the same error for
// its own reasons.
func (t *table) tryCreate(obj metav1.Object, w write) (v *revision, taken bool, err error) {
	if disowns(obj, w) {
		obj.SetManagedFields(nil) // there is nothing to forget
	}
	if !w.applies { // a patch may name an owner twice until admission has seen it
		if err := normalize(obj); err != nil {
			return nil, false, err
		}
		uniteOwners(obj, "", w)
	}
	if obj, err = t.track(obj, nil, w); err != nil {
		return nil, false, err
	}
	if err := t.mutate(obj, nil, w); err != nil {
		return nil, false, err
	}
	uniteOwners(obj, afterMutation, w)
	generated := obj.GetName() == "" && obj.GetGenerateName() != ""
	for {
		own := obj
		if generated { // the name may show in what a strategy fills in
			if own, err = t.unmutated(obj, w); err != nil {
				return nil, false, err
			}
		}
		kept, err := t.prepareCreate(own, w)
		if err != nil {
			return nil, false, err
		}
		t.warnOf(own, nil, w)
		if generated && !t.strategic(w) {
			t.generateName(own)
		}
		if err := t.admitted(own, nil, w); err != nil {
			return nil, false, err
		}
		v, taken, err := t.createNamed(&revision{obj: own, of: t, kept: kept}, w)
		if generated && taken && w.mayContinue() {
			continue // another write took the name
		}
		return v, taken, err
	}
}

// createNamed stores a prepared and admitted object. taken is as in tryCreate.
func (t *table) createNamed(v *revision, w write) (read *revision, taken bool, err error) {
	if w.applies {
		if _, err := t.prune(v.obj); err != nil { // see completeNew
			return nil, false, err
		}
	}
	if v, err = t.stored(v); err != nil {
		return nil, false, err
	}
	if taken, err = t.insert(v, w); err != nil {
		t.server.upkeep.Run()
		return nil, taken, err
	}
	if !w.dryRun {
		t.after()
	}
	read, err = t.view(v)
	return read, false, err
}

// insert stores a prepared object under its name.
func (t *table) insert(v *revision, w write) (taken bool, err error) {
	obj := v.obj
	now := metav1.NewTime(t.server.now()).Rfc3339Copy()
	s := t.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := t.checkServed(); err != nil {
		return false, err
	}
	key := types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
	if err := t.admit(key); err != nil {
		return false, err
	}
	if t.live(key) != nil {
		return true, errExists(t.res.groupResource(), key.Name, t.live(key).obj)
	}
	v.key = key
	t.begin(obj)
	if !t.strategic(w) { // else it has had both
		obj.SetUID(uidOf(s.restores<<48 | (s.rv + 1)))
		obj.SetCreationTimestamp(now)
	}
	if w.dryRun {
		return false, nil
	}
	if len(obj.GetManagedFields()) == 0 && !s.exact {
		v.by = creator(t, w)
	}
	v.rv, v.writer = s.advance(1), w.manager
	obj.SetResourceVersion(formatRV(v.rv))
	t.put(v.rv, nil, v)
	return false, nil
}

// update replaces the object at key. change makes the new object from the newest revision; it may
// run several times, and the table may keep its result.
func (t *table) update(key types.NamespacedName, w write, change func(old *revision) (metav1.Object, error)) (v *revision, err error) {
	v, _, err = t.tryUpdate(key, w, change)
	return v, err
}

// tryUpdate is update. absent says that there is no object; a hook may refuse with the same error for its own
// reasons.
func (t *table) tryUpdate(key types.NamespacedName, w write, change func(old *revision) (metav1.Object, error)) (v *revision, absent bool, err error) {
	for {
		if !w.mayContinue() {
			return nil, false, context.Cause(w.request)
		}
		old, err := t.toWrite(key, w)
		if err != nil {
			return nil, false, err
		}
		if old == nil {
			return nil, true, apierrors.NewNotFound(t.res.groupResource(), key.Name)
		}
		next, err := t.revised(old, w, change)
		if err != nil {
			return nil, false, err
		}
		if v, ok, err := t.supersede(old, next, w); ok || err != nil {
			return v, false, err
		}
	}
}

// revised returns the state that an update writes in place of old: changed, admitted and checked.
func (t *table) revised(old *revision, w write, change func(old *revision) (metav1.Object, error)) (*revision, error) {
	obj, err := change(old)
	if err != nil {
		return nil, err
	}
	disowned := disowns(obj, w)
	if disowned {
		obj.SetManagedFields(nil)
	} else if obj, err = t.track(obj, old, w); err != nil {
		return nil, err
	}
	if err := t.mutate(obj, old, w); err != nil {
		return nil, err
	}
	uniteOwners(obj, afterMutation, w)
	if err := t.checkBlind(obj.GetResourceVersion(), old.key.Name, w); err != nil {
		return nil, err
	}
	if obj, err = t.confine(obj, old, w); err != nil {
		return nil, err
	}
	created := obj.GetCreationTimestamp()
	kept, err := t.prepareUpdate(obj, old, w)
	if err != nil {
		return nil, err
	}
	t.warnOf(obj, old.obj, w)
	if err := t.admitted(obj, old, w); err != nil {
		return nil, err
	}
	if w.applies {
		if _, err := t.prune(obj); err != nil { // see completeNew
			return nil, err
		}
	}
	hidden := t.res.custom() && !t.strategic(w) && kept > keptWhole // it is a change, too
	if was := old.obj.GetCreationTimestamp(); !hidden && (created.IsZero() || created.Equal(&was)) {
		t.keepTimes(obj, old.obj)
	}
	if !w.dryRun {
		obj.SetSelfLink("") // only the storage drops it: to keepTimes it is a change
	}
	next := &revision{key: old.key, rv: old.rv, obj: obj, of: t, kept: kept}
	switch {
	case len(obj.GetManagedFields()) > 0 || t.server.exact:
	case disowned:
		next.by = &writers{forgotten: true}
	default:
		next.by = old.by.then(old, w)
	}
	return next, nil
}

// supersede writes next in place of old, and returns it as it is read. ok is false if another write
// was faster.
func (t *table) supersede(old, next *revision, w write) (v *revision, ok bool, err error) {
	if t.storage == nil && next.sameAs(old.origin()) {
		t.noteIdle(old, w)
		return old, true, nil // the API server writes nothing either, unless the object that it reads differs from the stored one
	}
	if w.dryRun {
		v, err = t.asStored(next)
		return v, true, err
	}
	if t.ended(next.obj) {
		// The last finalizer went: so does the object.
		_, ok := t.commit(old, nil)
		return next, ok, nil
	}
	return t.exchange(old, next, w)
}

// exchange stores next in place of old, unless both are stored alike, and returns it as it is read.
// ok is false if another write was faster.
func (t *table) exchange(old, next *revision, w write) (v *revision, ok bool, err error) {
	if next, err = t.successor(old, next, w); err != nil {
		return nil, false, err
	}
	if t.storage != nil && next.sameAs(old.origin()) {
		t.noteIdle(old, w)
		return old, true, nil
	}
	next.writer = w.manager
	if v, ok = t.commit(old, next); !ok {
		return nil, false, nil
	}
	v, err = t.view(v)
	return v, true, err
}

// confine keeps an update to its half of the object: status or all the rest.
func (t *table) confine(obj metav1.Object, old *revision, w write) (metav1.Object, error) {
	if !t.res.Status || w.view() || w.whole || t.strategic(w) {
		return obj, nil
	}
	if !w.status() {
		from := old.obj
		if t.hooks.prune != nil || t.hooks.setDefaults != nil {
			var err error
			if from, err = clone(old.obj); err != nil {
				return obj, apierrors.NewInternalError(err)
			}
		}
		// Else both versions share the status, and neither changes any more.
		t.setStatus(obj, from)
		return obj, nil
	}
	whole, err := t.statusOf(obj, old.obj)
	if err != nil {
		return obj, apierrors.NewInternalError(err)
	}
	return whole, nil
}

// commit makes next the successor of old, or deletes old when next is nil, and returns
// next, or old at the resourceVersion of its deletion. It reports false, having done
// nothing, when old is no longer the newest revision.
func (t *table) commit(old, next *revision) (*revision, bool) {
	v, ok := t.swap(old, next)
	if ok {
		t.after()
	}
	return v, ok
}

func (t *table) swap(old, next *revision) (*revision, bool) {
	s := t.server
	s.mu.Lock()
	defer s.mu.Unlock()
	was := old.origin()
	if t.live(old.key) != was {
		return nil, false
	}
	rv := s.advance(1)
	if next == nil {
		t.put(rv, was, nil)
		return &revision{key: old.key, rv: rv, obj: old.obj, of: old.of}, true
	}
	next.rv = rv
	next.obj.SetResourceVersion(formatRV(rv))
	t.put(rv, was, next)
	return next, true
}

// replace is a PUT of obj, or of its status, to the path of its name. created says that there was
// no object, and that the resource lets an update create one.
func (t *table) replace(obj metav1.Object, w write) (v *revision, created bool, err error) {
	if w.status() && !t.res.Status {
		return nil, false, refusal.NoResource()
	}
	key := types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
	if t.res.ClusterScoped {
		key.Namespace = ""
	}
	if err := normalize(obj); err != nil {
		return nil, false, err
	}
	uid, change := obj.GetUID(), t.replacement(obj, w)
	for w.mayContinue() {
		v, absent, err := t.tryUpdate(key, w, change)
		if !absent || !createdByUpdate.hold(&t.res) {
			return v, false, err
		}
		if uid != "" {
			return nil, false, t.errOtherUID(key, uid, "", w.dryRun)
		}
		var own metav1.Object
		if own, err = t.unmutated(obj, w); err != nil {
			return nil, false, err
		}
		own.SetResourceVersion("")
		w.upsert = true
		v, taken, err := t.tryCreate(own, w)
		if !taken {
			return v, true, err
		}
	}
	return nil, false, context.Cause(w.request)
}

// replacement returns the change of a PUT: obj as it is, if it was made from the newest
// revision or does not say from which one.
func (t *table) replacement(obj metav1.Object, w write) func(*revision) (metav1.Object, error) {
	uniteOwners(obj, "", w)
	// Preparing obj overwrites both, and it may be offered more than once.
	uid, rv := obj.GetUID(), obj.GetResourceVersion()
	return func(old *revision) (metav1.Object, error) {
		obj, err := t.unmutated(obj, w)
		if err != nil {
			return obj, err
		}
		if uid != "" && uid != old.obj.GetUID() {
			return obj, t.errOtherUID(old.key, uid, old.obj.GetUID(), w.dryRun)
		}
		obj.SetUID(uid) // the uid of an object that is gone by now would be refused
		return obj, t.checkRV(rv, old)
	}
}
