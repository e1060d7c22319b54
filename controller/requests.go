package controller

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/kind"
)

// Requests are the requests of a [Handle]. They are those of client.Resource, with the same errors.
// The handle records a copy of each answer, so its reads are never older than an answer. The object
// that a request returns is yours to change. A handle has the requests as methods, so it is a
// [Client] and an [Applier], and [CreateOrUpdate], [Apply] and their like take it.
//
// If the handle is for a set of namespaces, each request for an object in another namespace returns
// [ErrOutside] and sends nothing.
//
// A dry run is not recorded. If the object in an answer does not match the handle's label
// selectors, reads do not have that object. Only the server evaluates field selectors: until the
// watch has caught up, reads may have an object that such a selector leaves out.
type Requests[T metav1.Object] struct {
	sender    sender[T]
	engine    engine // the same *requests[T]
	namespace string // of keys that have none
}

// sender is the part of requests that needs T. It is a *requests[T], which only the functions
// that open handles name. Go compiles all methods of a generic type wherever the type is named, so a package
// that holds a handle compiles the few lines of [Requests], and not the client.
type sender[T metav1.Object] interface {
	get(ctx context.Context, key types.NamespacedName, opts *metav1.GetOptions) (T, error)
	create(ctx context.Context, obj T, opts *metav1.CreateOptions) (T, error)
	update(ctx context.Context, obj T, opts *metav1.UpdateOptions, status bool) (T, error)
	patch(ctx context.Context, p *patchRequest) (T, error)
	apply(ctx context.Context, config any, opts *metav1.ApplyOptions) (T, error)
	subresource(name string, more []string) *Subresource[T]
	kind() *kind.Kind[T]
}

// patchRequest is a patch of an object, or of its status.
type patchRequest struct {
	key    types.NamespacedName
	pt     types.PatchType
	data   []byte
	opts   metav1.PatchOptions
	status bool
}

// engine is the part of requests that needs no type parameter, so a package that holds handles of many kinds
// compiles nothing of it.
type engine interface {
	writer
	subject
	remove(ctx context.Context, key types.NamespacedName, opts *metav1.DeleteOptions) error
	removeAll(ctx context.Context, opts *metav1.DeleteOptions, list *metav1.ListOptions) error
	serverVersion(ctx context.Context, key string) (string, error)
	// waitForNow is [Projected.WaitForNow], and so on.
	waitForNow(ctx context.Context) error
	covers(namespace string) bool
	// stats returns the numbers of all requests.
	stats() client.Stats
	// writes returns the latest writes through the handle.
	writes() *ownWrites
	// sure reports whether an object that the cache does not have most likely does not exist.
	sure(key types.NamespacedName) bool
	// opened returns the connection of the handle, or why it could not be opened.
	opened() (client.Connection, error)
}

// requests are the sender of a handle.
type requests[T metav1.Object] struct {
	of        *kind.Kind[T]
	invalid   error // why the handle could not be opened; then what follows is not set
	server    client.Connection
	client    *client.Resource[T]
	members   *members[T]     // nil without OpenOptions.Namespaces
	namespace string          // of keys that have none
	labels    labels.Selector // of the handle's objects
	selects   bool            // by labels or fields
	cache     cache
	recorder  recorder[T] // the same *cached[T, P]
	own       ownWrites
	debt      debt
	turn      chan struct{} // holds a value while CatchUp works
	nows      turns         // of WaitForNow
}

// recorder is the part of the informer that Requests use for an object.
type recorder[T any] interface {
	// record is RecordWrite of the informer.
	record(obj T) error
	// hasUID reports whether reads of obj have its UID.
	hasUID(obj T) bool
	// keeps reports whether an object that the server sends belongs into the cache.
	keeps(obj T) bool
}

// cache is the part of the informer that Requests use and that needs no type parameter.
type cache interface {
	// recordGone is RecordGone of the informer.
	recordGone(key types.NamespacedName, uid types.UID, rv string) error
	// shown returns what reads have under key; without metadata, uid and rv are empty.
	shown(key types.NamespacedName) (uid types.UID, rv string, ok bool)
	// keys returns the keys of all objects that reads have.
	keys() []types.NamespacedName
	// version returns the version of the store, which is empty before the first list.
	version() string
	// lost and lostKeys are LostWrites and LostKeys of the informer.
	lost() uint64
	lostKeys(since uint64) ([]types.NamespacedName, uint64, bool)
	waitFor(ctx context.Context, rv string) error
	waitGone(ctx context.Context, key types.NamespacedName) error
	// live reports whether the informer runs and has its first list.
	live() bool
	informer() any
	listing(namespace string) bool
	// stale returns the namespaces that are not up to date with the version of the cache. A cache
	// that is not divided by namespace is the namespace "".
	stale() []string
	// covers reports whether a namespace is up to date with that version.
	covers(namespace string) bool
	// waits reports whether the keys of a stale namespace wait. They do not if it was refused from
	// the start.
	waits(namespace string) bool
}

func openRequests[T metav1.Object](r *requests[T], server client.Connection, opts client.Options) (err error) {
	if r.client, err = client.New(server, r.of, opts); err != nil {
		return err
	}
	r.server, r.namespace, r.turn = server, opts.Namespace, make(chan struct{}, 1)
	r.nows.gate = make(chan struct{}, 1)
	r.selects = opts.LabelSelector != "" || opts.FieldSelector != ""
	r.labels, err = labels.Parse(opts.LabelSelector)
	return err // client.New has parsed it
}

func (r *requests[T]) opened() (client.Connection, error) { return r.server, r.invalid }

func (r *requests[T]) writes() *ownWrites { return &r.own }

func (r *requests[T]) sure(key types.NamespacedName) bool {
	return !r.selects && r.cache.version() != "" && r.cache.covers(key.Namespace)
}

// Get asks the server for an object.
//
//go:noinline
func (r *Requests[T]) Get(ctx context.Context, key types.NamespacedName, opts metav1.GetOptions) (T, error) {
	return r.sender.get(ctx, key, &opts)
}

func (r *requests[T]) get(ctx context.Context, key types.NamespacedName, opts *metav1.GetOptions) (T, error) {
	obj, missed, err := read(ctx, r, key, *opts)
	if missed != nil {
		r.debt.doubt(fullKey(r, key))
	}
	return obj, err
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
		missed = record(ctx, r, obj)
	case newest && seen.has && isGone(err, key):
		missed = recordGone(ctx, r, seen)
	}
	if newest && since > 0 && missed == nil && (err == nil || apierrors.IsNotFound(err)) {
		r.debt.settled(seen.key, since)
	}
	return obj, missed, err
}

// Create writes a new object. A nil object is [ErrNoObject], here and in Update and Apply.
//
//go:noinline
func (r *Requests[T]) Create(ctx context.Context, obj T, opts metav1.CreateOptions) (T, error) {
	return r.sender.create(ctx, obj, &opts)
}

func (r *requests[T]) create(ctx context.Context, obj T, opts *metav1.CreateOptions) (T, error) {
	if err := checkObject(r, obj); err != nil {
		return *new(T), err
	}
	made, err := r.client.Create(ctx, obj, *opts)
	return wrote(ctx, r, write{key: keyOf(obj), dry: opts.DryRun, known: true}, made, err)
}

// Update replaces an object.
//
//go:noinline
func (r *Requests[T]) Update(ctx context.Context, obj T, opts metav1.UpdateOptions) (T, error) {
	return r.sender.update(ctx, obj, &opts, false)
}

// UpdateStatus replaces the status of an object.
//
//go:noinline
func (r *Requests[T]) UpdateStatus(ctx context.Context, obj T, opts metav1.UpdateOptions) (T, error) {
	return r.sender.update(ctx, obj, &opts, true)
}

func (r *requests[T]) update(ctx context.Context, obj T, opts *metav1.UpdateOptions, status bool) (now T, err error) {
	if err := checkObject(r, obj); err != nil {
		return now, err
	}
	base := obj.GetResourceVersion()
	w := write{key: keyOf(obj), seen: lookAt(r, keyOf(obj)), dry: opts.DryRun, base: base, known: base != "", status: status}
	if status {
		now, err = r.client.UpdateStatus(ctx, obj, *opts)
	} else {
		now, err = r.client.Update(ctx, obj, *opts)
	}
	return wrote(ctx, r, w, now, err)
}

// Patch changes an object.
//
//go:noinline
func (r *Requests[T]) Patch(ctx context.Context, key types.NamespacedName, pt types.PatchType, data []byte, opts metav1.PatchOptions) (T, error) {
	return r.sender.patch(ctx, &patchRequest{key, pt, data, opts, false})
}

// PatchStatus changes the status of an object.
//
//go:noinline
func (r *Requests[T]) PatchStatus(ctx context.Context, key types.NamespacedName, pt types.PatchType, data []byte, opts metav1.PatchOptions) (T, error) {
	return r.sender.patch(ctx, &patchRequest{key, pt, data, opts, true})
}

func (r *requests[T]) patch(ctx context.Context, p *patchRequest) (now T, err error) {
	if err := r.check(p.key); err != nil {
		return now, err
	}
	base := statedVersion(p.data)
	w := write{key: p.key, seen: lookAt(r, p.key), dry: p.opts.DryRun, base: base, known: base != "", status: p.status}
	if p.status {
		now, err = r.client.PatchStatus(ctx, p.key, p.pt, p.data, p.opts)
	} else {
		now, err = r.client.Patch(ctx, p.key, p.pt, p.data, p.opts)
	}
	return wrote(ctx, r, w, now, err)
}

// statedVersion returns the version that an object must have for a patch of it, empty if any will
// do.
func statedVersion(data []byte) string {
	var based struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	if json.Unmarshal(data, &based) == nil {
		return based.Metadata.ResourceVersion
	}
	var steps []struct {
		Path  string
		Value any
	}
	_ = json.Unmarshal(data, &steps) // otherwise the server refuses it
	for _, s := range steps {
		if version, ok := s.Value.(string); ok && s.Path == "/metadata/resourceVersion" {
			return version
		}
	}
	return ""
}

// Apply is a server-side apply.
//
//go:noinline
func (r *Requests[T]) Apply(ctx context.Context, config any, opts metav1.ApplyOptions) (T, error) {
	return r.sender.apply(ctx, config, &opts)
}

func (r *requests[T]) apply(ctx context.Context, config any, opts *metav1.ApplyOptions) (T, error) {
	key, err := appliedKey(r.resource(), config)
	if err == nil {
		err = r.check(key)
	}
	if err != nil {
		return *new(T), err
	}
	now, err := r.client.Apply(ctx, config, *opts)
	return wrote(ctx, r, write{key: key, dry: opts.DryRun}, now, err)
}

// Delete asks the server to delete an object. If the object waits for its finalizers, reads have it
// with a deletionTimestamp. Otherwise they no longer have it.
//
// If reads do not show the object's UID, as in a projection without one, a second request finds out
// at which version it is gone. If that fails, Delete still returns nil, because the object is
// deleted. Reads may then show the object until CatchUp has returned nil. [Controller.Run] waits
// for that before it calls reconcile again.
//
//go:noinline
func (r *Requests[T]) Delete(ctx context.Context, key types.NamespacedName, opts metav1.DeleteOptions) error {
	return r.engine.remove(ctx, key, &opts)
}

// The answer is mostly a Status with the UID and without a version. Then the version that reads had before the
// request belongs to that UID.
func (r *requests[T]) remove(ctx context.Context, key types.NamespacedName, opts *metav1.DeleteOptions) error {
	if err := r.check(key); err != nil {
		return err
	}
	noteWriter(ctx, r)
	seen := lookAt(r, key)
	said, err := r.client.Remove(ctx, key, *opts)
	switch {
	case len(opts.DryRun) > 0:
	case err == nil && said.Answered && said.Object.GetDeletionTimestamp() != nil:
		learn(ctx, r, said.Object)
	case err == nil && said.Answered:
		if recordEnd(ctx, r, said.Object) != nil {
			r.debt.unknown(fullKey(r, key).Namespace)
		}
	case err == nil:
		if said.UID != seen.uid {
			seen.uid = ""
		}
		noteGone(ctx, r, seen)
	default:
		noteFailed(ctx, r, seen, key, err)
	}
	return err
}

// DeleteCollection asks the server to delete all objects of the handle that match list. If it
// succeeds, it also waits until reads have caught up, as [Requests.CatchUp] does.
//
//go:noinline
func (r *Requests[T]) DeleteCollection(ctx context.Context, opts metav1.DeleteOptions, list metav1.ListOptions) error {
	return r.engine.removeAll(ctx, &opts, &list)
}

func (r *requests[T]) removeAll(ctx context.Context, opts *metav1.DeleteOptions, list *metav1.ListOptions) error {
	if r.invalid != nil {
		return r.invalid
	}
	noteWriter(ctx, r)
	err := deleteCollection(ctx, r, *opts, *list)
	if len(opts.DryRun) > 0 {
		return err
	}
	r.debt.unknown("") // on an error, some may be deleted
	if err != nil {
		return err
	}
	return r.CatchUp(ctx)
}

// write is one request that writes, before its answer.
type write struct {
	key  types.NamespacedName
	seen sight
	dry  []string
	// base is the version that the write replaces, empty for a creation; known says that no
	// other version can be between base and the answer's.
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
}

func lookAt[T metav1.Object](r *requests[T], key types.NamespacedName) (s sight) {
	s.key = fullKey(r, key)
	s.uid, s.rv, s.has = r.cache.shown(s.key)
	return s
}

// fullKey adds the handle's namespace to a key without one.
func fullKey[T metav1.Object](r *requests[T], key types.NamespacedName) types.NamespacedName {
	return completed(r.namespace, key)
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
		if w.known {
			r.own.add(keyOf(now), w.base, now.GetResourceVersion(), originOf(ctx))
		}
		learn(ctx, r, now)
	}
	return now, err
}

// learn records a state of an object that the server sent. If that fails, the server can be asked for
// what is there, but not for what is not: the watch may be about to bring an older state.
func learn[T metav1.Object](ctx context.Context, r *requests[T], obj T) {
	switch err := record(ctx, r, obj); {
	case err == nil:
	case isThere(r, obj):
		r.debt.doubt(keyOf(obj))
	default:
		r.debt.unknown(keyOf(obj).Namespace)
	}
}

// isThere reports whether reads are to have an object that the server sent.
func isThere[T metav1.Object](r *requests[T], obj T) bool { return !finished(obj) && matches(r, obj) }

// record records a state of an object that the server sent, unless that fails.
func record[T metav1.Object](ctx context.Context, r *requests[T], obj T) error {
	switch {
	case isThere(r, obj):
		return r.recorder.record(obj)
	case finished(obj):
		return recordEnd(ctx, r, obj)
	}
	// even if reads do not have it: the watch may be about to bring an older state
	return r.cache.recordGone(keyOf(obj), "", obj.GetResourceVersion())
}

// matches reports whether the labels of obj are among those that the handle selects.
func matches[T metav1.Object](r *requests[T], obj T) bool {
	return r.labels.Matches(labels.Set(obj.GetLabels()))
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
	return recordGone(ctx, r, s)
}

// noteGone records that an object that reads have shown is gone from the server.
func noteGone[T metav1.Object](ctx context.Context, r *requests[T], seen sight) {
	if recordGone(ctx, r, seen) != nil {
		r.debt.unknown(seen.key.Namespace)
	}
}

// recordGone is noteGone unless that fails. Without its UID, only a version from after the deletion tells
// the object apart from later ones.
func recordGone[T metav1.Object](ctx context.Context, r *requests[T], seen sight) (err error) {
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
