package controller

import (
	"context"
	"errors"
	"time"
	"weak"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
)

// write is one request that writes, before its answer.
type write struct {
	key  types.NamespacedName
	seen sight
	dry  []string
	// base is the version that the write replaces, empty for a creation; known says that no
	// other version can be between base and the answer's. Otherwise base may be what reads had.
	base  string
	known bool
	// status says that only the status is written. A server that does not find it may have the
	// object.
	status bool
}

// sight is the state of a key that reads had before a request.
type sight struct {
	key types.NamespacedName
	uid types.UID
	rv  string
	has bool
	obj any // what reads have; nil for nothing
}

func lookAt[T metav1.Object](r *requests[T], key types.NamespacedName) (s sight) {
	s.key = fullKey(r, key)
	s.obj, s.uid, s.rv, s.has = r.cache.shown(s.key)
	return s
}

// fullKey adds the handle's namespace to a key without one.
func fullKey[T metav1.Object](r *requests[T], key types.NamespacedName) types.NamespacedName {
	return completed(r.namespace, key)
}

// noteWriter notes a handle if ctx is a reconcile's.
func noteWriter[T metav1.Object](ctx context.Context, r *requests[T]) {
	call := callOf(ctx)
	if call == nil {
		return
	}
	w := call.writers()
	pointer := weak.Make(r)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = map[any]func() (writer, bool){}
	}
	if _, known := w.all[pointer]; !known {
		w.all[pointer] = func() (writer, bool) {
			if r := pointer.Value(); r != nil {
				return r, r.cache.live()
			}
			return nil, false
		}
	}
}

// read asks the server for an object, and records the answer. missed says why that could not be
// recorded.
func read[T metav1.Object](ctx context.Context, r *requests[T], key types.NamespacedName, opts metav1.GetOptions) (obj T, missed, err error) {
	if err := r.check(key); err != nil {
		return obj, nil, err
	}
	seen := lookAt(r, key)
	since := r.debt.since(seen.key)
	obj, err = r.client.Get(ctx, key, opts)
	newest := opts.ResourceVersion == ""
	switch {
	case err == nil:
		missed = recordAnswer(ctx, r, obj)
	case newest && seen.has && isGone(err, key):
		missed = recordSeenGone(ctx, r, seen)
	}
	if newest && since > 0 && missed == nil && (err == nil || apierrors.IsNotFound(err)) {
		r.debt.settled(seen.key, since)
	}
	return obj, missed, err
}

// wrote records the answer to a write.
func wrote[T metav1.Object](ctx context.Context, r *requests[T], w write, now T, err error) (T, error) {
	noteWriter(ctx, r)
	switch {
	case len(w.dry) > 0:
	case w.status && isGone(err, w.key):
		r.debt.doubt(fullKey(r, w.key))
	case err != nil:
		noteFailed(ctx, r, w.seen, w.key, err)
	default:
		key, base, version := keyOf(now), w.base, now.GetResourceVersion()
		if base == "" {
			base = w.seen.rv
		}
		replaced := base
		if !w.known && base != version {
			replaced = someVersion
		}
		r.own.add(key, replaced, version, originOf(ctx))
		learnAnswer(ctx, r, now)
		noteMade(ctx, r, &changed{key, base, version, w.seen.obj}, r.cache)
	}
	return now, err
}

// learnAnswer records a state of an object that the server sent. If that fails, the server can be asked for
// what is there, but not for what is not: the watch may be about to bring an older state.
func learnAnswer[T metav1.Object](ctx context.Context, r *requests[T], obj T) {
	switch err := recordAnswer(ctx, r, obj); {
	case err == nil:
	case isThere(r.labels, obj):
		r.debt.doubt(keyOf(obj))
	default:
		r.debt.unknown(keyOf(obj).Namespace)
	}
}

// isThere reports whether reads of the objects with some labels are to have an object that the server sent.
func isThere(of labels.Selector, obj metav1.Object) bool {
	return !finished(obj) && of.Matches(labels.Set(obj.GetLabels()))
}

// recordAnswer records a state of an object that the server sent, unless that fails.
func recordAnswer[T metav1.Object](ctx context.Context, r *requests[T], obj T) error {
	switch {
	case isThere(r.labels, obj):
		if shows(r.cache, obj) {
			return nil // the watch was faster
		}
		return r.recorder.record(obj)
	case finished(obj):
		return recordEnd(ctx, r, obj)
	}
	// even if reads do not have it: the watch may be about to bring an older state
	return r.cache.recordGone(keyOf(obj), "", obj.GetResourceVersion())
}

// shows reports whether reads have this state of an object.
func shows(c requestCache, obj metav1.Object) bool {
	_, uid, rv, _ := c.shown(keyOf(obj))
	return rv != "" && rv == obj.GetResourceVersion() && uid == obj.GetUID()
}

// finished reports whether the server has deleted obj although it answered with it: it was being
// deleted, and nothing holds it up any more. A namespace, which its contents hold, has no grace
// period.
func finished(obj metav1.Object) bool {
	grace := obj.GetDeletionGracePeriodSeconds()
	return obj.GetDeletionTimestamp() != nil && len(obj.GetFinalizers()) == 0 && grace != nil && *grace == 0
}

// recordEnd records that obj, which the server sent, is gone.
func recordEnd[T metav1.Object](ctx context.Context, r *requests[T], obj T) error {
	s := sight{key: keyOf(obj), rv: obj.GetResourceVersion()}
	if r.recorder.hasUID(obj) {
		s.uid = obj.GetUID()
	}
	return recordSeenGone(ctx, r, s)
}

// noteGone records that an object that reads have shown is gone from the server.
func noteGone[T metav1.Object](ctx context.Context, r *requests[T], seen sight) {
	if recordSeenGone(ctx, r, seen) != nil {
		r.debt.unknown(seen.key.Namespace)
	}
}

// recordSeenGone is noteGone unless that fails. Without its UID, only a version from after the deletion tells
// the object apart from later ones.
func recordSeenGone[T metav1.Object](ctx context.Context, r *requests[T], seen sight) (err error) {
	if seen.uid == "" || seen.rv == "" {
		seen.uid = ""
		if seen.rv, err = versionNow(ctx, r, seen.key.Namespace); err != nil {
			return err
		}
	}
	return r.cache.recordGone(seen.key, seen.uid, seen.rv)
}

// noteFailed notes a write that failed, if the server may have carried it out, or if it shows that
// reads are behind.
func noteFailed[T metav1.Object](ctx context.Context, r *requests[T], seen sight, key types.NamespacedName, err error) {
	switch {
	case errors.Is(err, client.ErrNotSent):
	case isGone(err, key):
		if seen.has {
			noteGone(ctx, r, seen)
		}
	case isRefusal(err) && !errors.Is(err, client.ErrUnclear):
	case key.Name == "": // the server makes the name
		r.debt.unknown(fullKey(r, key).Namespace)
	default:
		r.debt.doubt(fullKey(r, key))
	}
}

// isGone reports whether err says that there is no object under key.
func isGone(err error, key types.NamespacedName) bool {
	var st apierrors.APIStatus
	return apierrors.IsNotFound(err) && errors.As(err, &st) && st.Status().Details != nil && st.Status().Details.Name == key.Name
}

// isRefusal reports whether err says that the server did nothing. A conflict and a JSON patch that
// does not fit do not count: the client may have repeated a write that was carried out, and reads
// are behind anyway.
func isRefusal(err error) bool {
	var st apierrors.APIStatus
	if !errors.As(err, &st) {
		return false
	}
	code := st.Status().Code
	return code >= 400 && code < 500 && code != 408 && code != 409 && !misfits(err)
}

// settle asks the server for an object in doubt. If that is forbidden, fails for a time, if the
// object does not fit its type, or if the answer cannot be recorded, the watch has to come as far. An
// object outside of the handle's namespaces is in doubt no more.
func settle[T metav1.Object](ctx context.Context, r *requests[T], key types.NamespacedName) error {
	since := r.debt.since(key)
	_, missed, err := read(ctx, r, key, metav1.GetOptions{})
	switch {
	case missed != nil:
		r.debt.unknown(key.Namespace)
	case err == nil || apierrors.IsNotFound(err):
		return nil
	case errors.Is(err, ErrOutside):
		// The cache drops the namespace soon. Until then reads are as old as before the write.
		if err := r.cache.waitGone(ctx, key); err != nil {
			return err
		}
	case apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err) || errors.Is(err, client.ErrAccepted),
		r.debt.failed(key, time.Now()) >= catchUpTime:
		r.debt.unknown(key.Namespace)
	default:
		return err
	}
	r.debt.settled(key, since)
	return nil
}

func (r *requests[T]) wroteSubresource(ctx context.Context, key types.NamespacedName, err error) {
	noteWriter(ctx, r)
	if !errors.Is(err, client.ErrNotSent) && (!isRefusal(err) || apierrors.IsNotFound(err)) {
		key = fullKey(r, key)
		r.debt.doubt(key)
		_ = settle(ctx, r, key) // CatchUp does so if that fails
	}
}
