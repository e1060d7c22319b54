package fake

import (
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kinform/kinform/internal/storageerror"
)

// remove deletes the object at key, or marks it as being deleted while finalizers hold
// it. The result is its last state; final says that it is gone, or would be without a dry run. opts have been checked.
func (t *table) remove(key types.NamespacedName, opts metav1.DeleteOptions, w write) (last *revision, final bool, err error) {
	if ignoresReadErrors(opts) {
		return t.removeUnreadable(key, opts)
	}
	var going *revision // the pod that this call has marked; any write of it removes it, too
	for {
		if !w.mayContinue() {
			return nil, false, context.Cause(w.request)
		}
		old, err := t.get(key)
		if bad := (undecodable{}); errors.As(err, &bad) {
			err = t.errCorrupt(key, bad.ErrStatus.Message) // a deletion begins with a read
		}
		if err != nil {
			return nil, false, err
		}
		switch {
		case going != nil && (old == nil || old.obj.GetUID() != going.obj.GetUID()):
			return going, true, nil
		case old == nil:
			return nil, false, apierrors.NewNotFound(t.res.groupResource(), key.Name)
		}
		if err := t.checkPreconditions(old, opts.Preconditions); err != nil {
			return nil, false, err
		}
		if t.keptByContent() {
			if err := immortal(key.Name); err != nil {
				return nil, false, err
			}
		}
		if err := t.admitDeletion(old, w, isDryRun(opts.DryRun)); err != nil {
			return nil, false, err
		}
		next, err := t.marked(old, opts, w)
		switch {
		case err != nil:
			return nil, false, err
		case next == old:
			return old, false, nil
		case isDryRun(opts.DryRun):
			if next == nil {
				return old, true, nil
			}
			v, err := t.view(next)
			return v, t.ended(next.obj), err
		case next == nil && !t.graceful() && len(old.obj.GetFinalizers()) > 0 && opts.Preconditions != nil && opts.Preconditions.ResourceVersion != nil:
			// The API server compares with the state without finalizers, which it has not written.
			return nil, false, t.errStorage(key, false, storageerror.Unmet("ResourceVersion", "", old.obj.GetResourceVersion()))
		}
		v, ok := t.commit(old, next)
		if ok && next != nil && t.ended(next.obj) {
			// A pod is marked even if it goes at once.
			t.server.pause(w)
			going, opts.Preconditions = v, nil // they held for the mark
			v, ok = t.commit(next, nil)
			next = nil
		}
		if ok {
			v, err = t.view(v)
			return v, next == nil, err
		}
	}
}

// removalTime is about the time that an API server takes from the mark of a pod that goes at once to
// its removal: that of a write to etcd. Clients see the marked pod meanwhile.
const removalTime = time.Millisecond

// pause lets that time pass, if the server is to be like an API server in this as well.
func (s *Server) pause(w write) {
	if s.exact && (w.request != nil || w.paced) {
		time.Sleep(removalTime)
	}
}

// marked returns old with the marks of a deletion. It returns nil if nothing holds old, and old
// itself if it is marked already. A pod is always marked first.
func (t *table) marked(old *revision, opts metav1.DeleteOptions, w write) (*revision, error) {
	finalizers := propagation(old.obj.GetFinalizers(), opts, w.request != nil && orphansDependents.hold(&t.res))
	if t.hooks.deleting != nil && old.obj.GetDeletionTimestamp() == nil {
		finalizers = append(slices.Clone(finalizers), t.hooks.deleting(old.obj)...)
	}
	if t.ended(old.obj) || len(finalizers) == 0 && !t.keptByContent() && !t.graceful() {
		return nil, nil
	}
	grace := int64(0)
	if t.graceful() {
		var err error
		if grace, err = t.grace(old, opts); err != nil {
			return nil, err
		}
	}
	deleting, was := old.obj.GetDeletionTimestamp(), graceOf(old.obj)
	if deleting != nil && grace == was && (was > 0 || slices.Equal(finalizers, old.obj.GetFinalizers())) {
		return old, nil // a deletion that waits for its end takes no other policy
	}
	obj, err := clone(old.obj)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	obj.SetFinalizers(finalizers)
	now := t.server.now()
	end := metav1.NewTime(now.Add(graceTime(grace)))
	if deleting != nil {
		end = metav1.NewTime(deleting.Add(graceTime(grace - was)))
		if end.Time.Before(now) { // the shorter time is over, and the node still has to stop the pod
			end, grace = metav1.NewTime(now), min(grace, 1)
		}
	}
	end = end.Rfc3339Copy()
	obj.SetDeletionTimestamp(&end)
	if !t.keptByContent() {
		obj.SetDeletionGracePeriodSeconds(&grace)
	}
	if deleting == nil {
		if g := obj.GetGeneration(); g > 0 {
			obj.SetGeneration(g + 1)
		}
		if t.keptByContent() {
			setPhase(obj, "Terminating")
		}
	}
	return t.stored(&revision{key: old.key, rv: old.rv, obj: obj, by: old.by, of: t})
}

// propagation returns the finalizers of an object whose deletion opts ask for. A policy becomes a
// finalizer, which tells the garbage collector how to treat the dependents. Without a policy the
// present finalizers stay. If none of them comes from a policy, orphans adds one.
func propagation(finalizers []string, opts metav1.DeleteOptions, orphans bool) []string {
	var add string
	//lint:ignore SA1019 clients still send it, and it is the same as a policy
	orphan := opts.OrphanDependents
	switch {
	case orphan != nil && *orphan:
		add = metav1.FinalizerOrphanDependents
	case orphan != nil:
	case opts.PropagationPolicy == nil:
		if !orphans || slices.ContainsFunc(finalizers, isPolicy) {
			return finalizers
		}
		add = metav1.FinalizerOrphanDependents
	case *opts.PropagationPolicy == metav1.DeletePropagationOrphan:
		add = metav1.FinalizerOrphanDependents
	case *opts.PropagationPolicy == metav1.DeletePropagationForeground:
		add = metav1.FinalizerDeleteDependents
	}
	if add != "" && slices.Contains(finalizers, add) {
		return finalizers
	}
	out := slices.DeleteFunc(slices.Clone(finalizers), isPolicy)
	if add != "" {
		out = append(out, add)
	}
	return out
}

// isPolicy reports whether a finalizer stands for a propagation policy.
func isPolicy(finalizer string) bool {
	return finalizer == metav1.FinalizerOrphanDependents || finalizer == metav1.FinalizerDeleteDependents
}

// deletionPage is the size of the pages by which the API server deletes a collection.
const deletionPage = 10_000

// removeAll deletes the objects of one list of the collection, which may be a page, and returns
// that list. An object that another call deletes first is no error.
func (t *table) removeAll(w write, m *matcher, list metav1.ListOptions, opts metav1.DeleteOptions) (page, error) {
	if ignoresReadErrors(opts) {
		return page{}, errUnreadableCollection()
	}
	whole := list.Limit == 0
	if whole { // the API server lists in pages, so that a resourceVersion means exactly that one
		list.Limit = deletionPage
	}
	q, err := t.listRequest(list)
	if whole {
		q.limit = 0
	}
	if err != nil {
		return page{}, err
	}
	p, err := t.list(m, q)
	if err != nil {
		return page{}, err
	}
	for _, v := range p.items {
		if _, _, err := t.remove(v.key, opts, w); err != nil && !apierrors.IsNotFound(err) {
			return page{}, err
		}
	}
	return p, nil
}

// ignoresReadErrors reports whether a deletion is for an object that cannot be read.
func ignoresReadErrors(opts metav1.DeleteOptions) bool {
	ignore := opts.IgnoreStoreReadErrorWithClusterBreakingPotential
	return ignore != nil && *ignore
}

// errUnreadableCollection refuses such a deletion of a collection.
func errUnreadableCollection() error {
	at := field.NewPath("ignoreStoreReadErrorWithClusterBreakingPotential")
	return invalidOptions("DeleteOptions", field.ErrorList{field.Invalid(at, true, "is not allowed with DELETECOLLECTION, try again after removing the option")})
}

// removeUnreadable deletes an object that cannot be read in t's version, whatever its finalizers,
// and refuses to delete any other.
func (t *table) removeUnreadable(key types.NamespacedName, opts metav1.DeleteOptions) (last *revision, final bool, err error) {
	if t.keptByContent() {
		return nil, false, apierrors.NewInternalError(errors.New("no unsafe deleter provided, can not honor ignoreStoreReadErrorWithClusterBreakingPotential"))
	}
	for {
		t.server.mu.Lock()
		err, old := t.checkServed(), t.live(key)
		t.server.mu.Unlock()
		if err == nil && old == nil {
			err = apierrors.NewNotFound(t.res.groupResource(), key.Name)
		}
		if err != nil {
			return nil, false, err
		}
		if _, err := t.view(old); err == nil {
			return nil, false, t.errStorage(key, false, "unsafe deletion is not allowed because the object is decodable from storage")
		}
		if isDryRun(opts.DryRun) {
			return old, true, nil
		}
		if v, ok := t.commit(old, nil); ok {
			return v, true, nil
		}
	}
}
