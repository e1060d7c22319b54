package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

const (
	// fewObjects is the size up to which a collection is listed at once.
	fewObjects = 500
	// A larger one is watched for lookTime. Servers send a bookmark two seconds before the end of a
	// watch, so soon after the first second. A server that has sent none after bookmarkTime does not
	// send bookmarks.
	lookTime     = 3 * time.Second
	bookmarkTime = 2 * time.Second
)

// WaitForNow returns nil once reads through the handle have all changes that anybody made before
// the call. Use it when one process continues the work of another one, as shard.Keys.CatchUp.
//
// It asks for the present resourceVersion by a list of one object, and waits until the cache has
// that version. If nothing changes in the collection, no event shows how far the cache is, and a
// bookmark does so only once a minute, if at all. So after half a second WaitForNow asks the server
// what reads lack, in the first of these ways that gets an answer:
//
//   - by a list, if the collection has 500 objects at most
//   - by a watch of three seconds from the cache's version, which servers end with a bookmark
//   - by a list of the whole collection, if there is no bookmark within two seconds
//
// Then it gets each object that reads lack. Usually there is none. A handle over several namespaces
// or selectors asks all of them at once. Calls that come while another one works share the next
// turn, which begins within half a second.
//
// If the collection is busy, WaitForNow takes some milliseconds. Otherwise it takes half a second
// if the collection is small, and two to three seconds with bookmarks. Without bookmarks it takes two
// and a half seconds and a list of the whole collection: up to three seconds for 10,000 small objects, and
// more for more or larger ones. Beyond that, it takes longer only if the server does not answer, or if
// reads lack more than 100 objects, as they do while the watch is broken.
//
// The versions belong to one resource, because versions of different resources do not compare. If
// the versions of a server do not compare at all, or its lists have none (reflector.Polling), the
// error matches store.ErrResourceVersion. WaitForNow does not wait for namespaces that are refused
// or have failed for 10 seconds. Other errors: the errors of client.Resource.List and
// informer.Informer.WaitForRV, with the name of the resource.
//
//go:noinline
func (h *Projected[T, P]) WaitForNow(ctx context.Context) error { return h.engine.waitForNow(ctx) }

func (r *requests[T]) waitForNow(ctx context.Context) error {
	if r.invalid != nil {
		return r.invalid
	}
	err := r.nows.do(ctx, func() error {
		_, err := reachNow(ctx, r, nil)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: the cache may be older than this moment: %w", r.resource(), err)
	}
	return nil
}

// errNoVersion says that nothing tells how new reads are.
var errNoVersion = fmt.Errorf("%w: the server's lists have none", store.ErrResourceVersion)

// reachNow returns nil once reads have all changes so far in some namespaces; nil stands for all of
// the handle. stale are the namespaces whose reads may lack some. The error is errNoVersion if the lists
// of the server have no version.
func reachNow[T metav1.Object](ctx context.Context, r *requests[T], within []string) (stale []string, err error) {
	rv, err := versionNow(ctx, r, "")
	switch {
	case err != nil:
		return nil, err
	case rv == "" && len(sourcesOf(r, "")) == 0:
		return nil, nil // the handle is for no namespace
	case rv == "":
		return nil, errNoVersion
	}
	waiting, cancel := context.WithCancel(ctx)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	reached, seen := make(chan error, 1), make(chan []string, 1)
	asking.Go(func() { reached <- r.cache.waitFor(waiting, rv) })
	asking.Go(func() {
		for pause := lookAfter; ; pause *= 2 {
			select {
			case <-waiting.Done():
				return
			case <-time.After(pause):
			}
			if stale, ok := askNow(waiting, r, rv, within); ok {
				seen <- stale
				return
			}
		}
	})
	select {
	case err := <-reached:
		return r.cache.stale(), err
	case stale := <-seen:
		return stale, nil
	}
}

// askNow asks the server what reads lack, and for each of these objects. ok is false if it cannot find
// out, or if there are too many. stale are namespaces that it has not asked for.
func askNow[T metav1.Object](ctx context.Context, r *requests[T], to string, within []string) (stale []string, ok bool) {
	stale = r.cache.stale()
	l := nowLook[T]{from: r.cache.version(), to: to, cache: r.cache, recorder: r.recorder, sources: sourcesWithin(r, within, stale)}
	if l.from == "" { // not filled
		return nil, false
	}
	lacks, complete, err := listAll(ctx, &l, fewObjects)
	if err != nil {
		return nil, false
	}
	if !complete {
		lacks, err = watchAll(ctx, &l)
	}
	if err != nil {
		lacks, _, err = listAll(ctx, &l, 0)
	}
	if err != nil || len(lacks) > maxAsked {
		return nil, false
	}
	for key := range lacks {
		_, missed, err := read(ctx, r, key, metav1.GetOptions{})
		if missed != nil || err != nil && !apierrors.IsNotFound(err) && !errors.Is(err, ErrOutside) {
			return nil, false
		}
	}
	return stale, true
}

// nowLook finds out which objects reads lack.
type nowLook[T metav1.Object] struct {
	from, to string // the version of the cache when it began, and what reads must have
	cache    requestCache
	recorder recorder[T] // of cache
	sources  []located[T]
}

type keySet = map[types.NamespacedName]struct{}

// listAll compares lists with reads. A limit that is not 0 applies to each list. complete is false, and
// lacks is nil, if a source has more objects.
func listAll[T metav1.Object](ctx context.Context, l *nowLook[T], limit int64) (lacks keySet, complete bool, err error) {
	reads := l.cache.keys() // before: the lists have what is written meanwhile, or something newer
	listed := keySet{}
	complete = true
	var mu sync.Mutex
	lacks, err = eachSource(l, func(source located[T]) (keySet, error) {
		found, lacks, more, err := lookByList(ctx, l, source, limit)
		mu.Lock()
		defer mu.Unlock()
		maps.Copy(listed, found)
		complete = complete && !more
		return lacks, err
	})
	if err != nil || !complete {
		return nil, complete, err // an object that was not listed may exist
	}
	for _, key := range reads {
		if _, ok := listed[key]; !ok && asks(l, key.Namespace) {
			lacks[key] = struct{}{}
		}
	}
	return lacks, true, nil
}

// eachSource calls f for all sources at once. It returns all their keys, and one of the errors.
func eachSource[T metav1.Object](l *nowLook[T], f func(located[T]) (keySet, error)) (keySet, error) {
	all := keySet{}
	var failed error
	var mu sync.Mutex
	var running sync.WaitGroup
	for _, source := range l.sources {
		running.Go(func() {
			some, err := f(source)
			mu.Lock()
			defer mu.Unlock()
			maps.Copy(all, some)
			if err != nil {
				failed = err
			}
		})
	}
	running.Wait()
	return all, failed
}

// asks reports whether a source has the objects of a namespace.
func asks[T metav1.Object](l *nowLook[T], namespace string) bool {
	for _, source := range l.sources {
		if overlap(source.namespace, namespace) {
			return true
		}
	}
	return false
}

// lookByList returns the keys of a list, and which of its objects reads lack. A limited list may have more
// objects, and is given up if it takes long.
func lookByList[T metav1.Object](ctx context.Context, l *nowLook[T], source located[T], limit int64) (found, lacks keySet, more bool, err error) {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, catchUpTime)
		defer cancel()
	}
	found, lacks = keySet{}, keySet{}
	meta, err := source.resource.List(ctx, metav1.ListOptions{Limit: limit}, func(ev reflector.Event[T], err error) bool {
		if err != nil {
			bad, ok := keyOfBad(err)
			found[bad] = struct{}{}
			return ok
		}
		key := keyOf(ev.Object)
		found[key] = struct{}{}
		if l.recorder.keeps(ev.Object) && !lookHas(l, key, ev.Object.GetResourceVersion()) {
			lacks[key] = struct{}{}
		}
		return true
	})
	return found, lacks, meta.Continue != "", err
}

// keyOfBad returns the key of an object that cannot be used. The cache goes on with what it has.
func keyOfBad(err error) (key types.NamespacedName, ok bool) {
	var bad *reflector.ObjectError
	if !errors.As(err, &bad) || bad.Key == "" {
		return key, false
	}
	namespace, name, divided := strings.Cut(bad.Key, "/")
	if !divided {
		return types.NamespacedName{Name: bad.Key}, true
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, true
}

// lookHas reports whether reads have a state of an object, or a newer one.
func lookHas[T metav1.Object](l *nowLook[T], key types.NamespacedName, rv string) bool {
	if !mayBeOlder(l.from, rv) {
		return true
	}
	_, _, shown, ok := l.cache.shown(key)
	return ok && shown != "" && !mayBeOlder(shown, rv)
}

// watchAll watches all sources for the changes after the cache's version. It fails if one does not
// say that these are all.
func watchAll[T metav1.Object](ctx context.Context, l *nowLook[T]) (lacks keySet, err error) {
	ctx, cancel := context.WithTimeout(ctx, bookmarkTime)
	defer cancel()
	return eachSource(l, func(source located[T]) (keySet, error) { return lookByWatch(ctx, l, source) })
}

// compare adds the key of an event if reads lack its state, and otherwise removes it.
func compare[T metav1.Object](l *nowLook[T], lacks keySet, ev reflector.Event[T]) {
	key := keyOf(ev.Object)
	has := lookHas(l, key, ev.ResourceVersion)
	if ev.Type == reflector.Deleted {
		_, _, _, shown := l.cache.shown(key)
		has = !shown
	}
	if has {
		delete(lacks, key)
	} else {
		lacks[key] = struct{}{}
	}
}

// errNoBookmark says that a watch has not shown that its events are all there are.
var errNoBookmark = errors.New("the watch has brought no bookmark")

func lookByWatch[T metav1.Object](ctx context.Context, l *nowLook[T], source located[T]) (lacks keySet, err error) {
	lacks = keySet{}
	seconds := int64(lookTime / time.Second)
	for ev, err := range source.resource.Watch(ctx, metav1.ListOptions{ResourceVersion: l.from, AllowWatchBookmarks: true, TimeoutSeconds: &seconds}) {
		if err != nil {
			if _, ok := keyOfBad(err); ok {
				continue
			}
			return lacks, err
		}
		order, err := resourceversion.CompareResourceVersion(ev.ResourceVersion, l.to)
		switch {
		case err != nil:
			return lacks, err
		case ev.Type != reflector.Bookmark && l.recorder.keeps(ev.Object):
			compare(l, lacks, ev)
		}
		if order > 0 || order == 0 && ev.Type == reflector.Bookmark {
			return lacks, nil
		}
	}
	return lacks, errNoBookmark
}
