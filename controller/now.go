package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/internal/objmeta"
	"github.com/kinform/kinform/reflector"
)

const (
	// lookAfter is how long WaitForNow waits for the watch of the cache before it opens a watch of
	// its own, which shows whether the cache lacks anything.
	lookAfter = time.Second
	// lookTime is the duration of that watch. Servers send a bookmark two seconds before the end.
	lookTime = 3 * time.Second
	// looks is the largest number of such watches: a server that sends no bookmarks never answers.
	looks = 3
)

// WaitForNow returns nil once the cache has all changes that anybody had made before the call. Use
// it where one process goes on with the work of another one, as shard.Keys.CatchUp.
//
// It asks for the present resourceVersion by a list of one object, and waits until the cache has
// that. If nothing changes in the collection, no event shows how far the cache is, and a bookmark
// only once a minute. So after a second WaitForNow opens a watch of three seconds from the cache's
// own version, and waits for the objects that it brings, except those of another OpenOptions.Part:
// mostly none. A handle over several namespaces or selectors opens one for each.
//
// Costs: one request if the collection is busy, and one more watch if not. Then it takes two to
// four seconds. This needs a server that sends a bookmark before a watch ends, and whose cache is
// as new as the list, as kube-apiserver's is when it answers the list from that cache. Otherwise
// there are two more such watches, and then it takes until the next event or bookmark of the
// cache's own watch: up to a minute, or without end if the server sends no bookmarks.
//
// The versions are those of one resource, since versions of different resources do not compare. If
// the versions of a server do not compare at all, the error matches store.ErrResourceVersion.
// Namespaces that are refused, or have failed for 10 seconds, are not waited for. Other errors:
// those of List of client.Resource and of informer.Informer.WaitForRV, with the name of the
// resource.
func (h *Projected[T, P]) WaitForNow(ctx context.Context) error {
	rv, err := h.now(ctx, "")
	if err == nil && rv != "" {
		err = h.waitForVersion(ctx, rv)
	}
	if err != nil {
		return fmt.Errorf("%s: the cache may be older than this moment: %w", h.client.Resource(), err)
	}
	return nil
}

// waitForVersion waits until the cache has what there was at a version.
func (h *Projected[T, P]) waitForVersion(ctx context.Context, rv string) error {
	waiting, cancel := context.WithCancel(ctx)
	var looking sync.WaitGroup
	defer looking.Wait()
	defer cancel()
	seen := make(chan struct{})
	looking.Go(func() {
		if h.lookFor(waiting, rv) {
			close(seen)
		}
	})
	reached := make(chan error, 1)
	looking.Go(func() { reached <- h.inf.WaitForRV(waiting, rv) })
	select {
	case err := <-reached:
		return err
	case <-seen:
		return nil
	}
}

// lookFor reports true once the cache has all changes from its own version up to rv. It reports
// false if it cannot find out.
func (h *Projected[T, P]) lookFor(ctx context.Context, rv string) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(lookAfter):
	}
	from := h.inf.Store().ResourceVersion()
	if from == "" { // not filled
		return false
	}
	sources := h.sources("")
	missing := make([]map[types.NamespacedName]sighting, len(sources))
	var all sync.WaitGroup
	for n, source := range sources {
		all.Go(func() {
			for range looks {
				if missing[n] = h.changes(ctx, source, from, rv); missing[n] != nil || ctx.Err() != nil {
					return
				}
			}
		})
	}
	all.Wait()
	for _, changed := range missing {
		if changed == nil {
			return false
		}
		for key, c := range changed {
			if h.inf.WaitFor(ctx, key, func(p P, exists bool) bool { return c.isIn(objmeta.VersionOf(p), exists) }) != nil {
				return false
			}
		}
	}
	return true
}

// sighting is the newest state of an object that a watch has brought.
type sighting struct {
	rv   string
	gone bool
}

// isIn reports whether a cache that has an object of that version, if it exists, has the change. It
// cannot tell if the object was deleted after the change: then the cache's own version tells.
func (c sighting) isIn(rv string, exists bool) bool {
	if !exists {
		return c.gone
	}
	order, err := resourceversion.CompareResourceVersion(rv, c.rv)
	return err == nil && (order > 0 || order == 0 && !c.gone)
}

// changes returns the changes after one version up to another one, by object. It leaves out objects
// that do not belong in the cache. It returns nil if it cannot find out.
func (h *Projected[T, P]) changes(ctx context.Context, source *client.Resource[T], from, to string) map[types.NamespacedName]sighting {
	ctx, cancel := context.WithTimeout(ctx, 2*lookTime) // the server should end it
	defer cancel()
	seconds := int64(lookTime / time.Second)
	reached := false
	all := map[types.NamespacedName]sighting{}
	for ev, err := range source.Watch(ctx, metav1.ListOptions{ResourceVersion: from, AllowWatchBookmarks: true, TimeoutSeconds: &seconds}) {
		if err != nil {
			return nil
		}
		order, err := resourceversion.CompareResourceVersion(ev.ResourceVersion, to)
		switch {
		case err != nil:
			return nil
		case order > 0, order == 0 && ev.Type == reflector.Bookmark:
			return all
		case ev.Type != reflector.Bookmark && h.keeps(ev.Object):
			all[keyOf(ev.Object)] = sighting{ev.ResourceVersion, ev.Type == reflector.Deleted}
		}
		reached = order == 0
	}
	if reached { // servers send no bookmark for the version of the last event, though more events may have that
		return all
	}
	return nil
}
