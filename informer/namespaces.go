package informer

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/kinform/kinform/internal/followers"
	"github.com/kinform/kinform/reflector"
)

// ErrNamespace is the cause when text cannot be the name of a namespace.
var ErrNamespace = errors.New("not the name of a namespace")

// Namespaces is a set of namespaces that changes while informers follow it. One set may serve the
// informers of many resources: see controller.OpenOptions and [Union.Follow]. The zero value is an
// empty set, and works. Do not copy a set. All methods may be called by any goroutine, also by
// handlers and reconciles.
//
// A set is an object of its own because a controller has several handles for the same namespaces, and these
// must agree. A namespace is in the set only once all followers have it, so a write that the set allows is
// always recorded: nothing would ever show reads what a write elsewhere has done.
//
// The set does not keep its informers alive.
type Namespaces struct {
	// changes is held during each change, so that all followers see the changes in one order.
	changes   sync.Mutex
	followers followers.Of[follower] // guarded by changes

	mu     sync.RWMutex
	names  map[string]struct{}
	coming string // some followers have it and others do not yet; empty for none
}

// follower is a union that follows a set. The union keeps it alive.
type follower struct {
	join  func(namespace string) error
	leave func(namespace string)
}

// NewNamespaces returns a set of these namespaces. The informers that follow the set check the
// names.
func NewNamespaces(names ...string) *Namespaces {
	n := &Namespaces{names: map[string]struct{}{}}
	for _, name := range names {
		n.names[name] = struct{}{}
	}
	return n
}

// Add adds namespaces, each of which may be in the set already. All informers that follow the set
// begin to list and watch them. Add does not wait for that: see [Union.Members]. A namespace that
// does not exist on the server counts as empty.
//
// An error says which namespaces were not added, to any informer: [ErrNamespace], and those of the
// function given to [Union.Follow].
func (n *Namespaces) Add(names ...string) error {
	n.changes.Lock()
	defer n.changes.Unlock()
	var failed []error
	for _, name := range names {
		if n.Has(name) {
			continue
		}
		if err := n.add(name); err != nil {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// add adds one namespace. Called with changes held.
func (n *Namespaces) add(name string) (err error) {
	joined := false
	n.begin(name)
	defer func() { n.finish(name, joined) }() // also if the user's function panics
	err = n.join(name)
	joined = err == nil
	return err
}

func (n *Namespaces) begin(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.coming = name
}

// finish puts a namespace into the set only when all informers are behind it.
func (n *Namespaces) finish(name string, joined bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.coming = ""
	if !joined {
		return
	}
	if n.names == nil {
		n.names = map[string]struct{}{}
	}
	n.names[name] = struct{}{}
}

// isComing returns the namespace that some followers may have and others not.
func (n *Namespaces) isComing() (name string, ok bool) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.coming, n.coming != ""
}

// join adds a namespace to all followers, or to none. Called with changes held.
func (n *Namespaces) join(name string) error {
	if err := checkNamespace(name); err != nil {
		return err
	}
	return allOrNone(followers.Living(&n.followers), func(f *follower) error { return f.join(name) }, func(f *follower) { f.leave(name) })
}

// allOrNone calls do for each element. If one call fails or panics, undo is called for those before
// it.
func allOrNone[E any](all []E, do func(E) error, undo func(E)) error {
	done := 0
	defer func() {
		if done < len(all) {
			for _, e := range all[:done] {
				undo(e)
			}
		}
	}()
	for _, e := range all {
		if err := do(e); err != nil {
			return err
		}
		done++
	}
	return nil
}

// Remove removes namespaces, each of which may be absent. The informers that follow the set end
// their requests there and delete the objects from their caches soon: see [Union.Remove].
func (n *Namespaces) Remove(names ...string) {
	n.changes.Lock()
	defer n.changes.Unlock()
	for _, name := range names {
		if !n.Has(name) {
			continue
		}
		n.mu.Lock()
		delete(n.names, name)
		n.mu.Unlock()
		for _, f := range followers.Living(&n.followers) {
			f.leave(name)
		}
	}
}

// Has reports whether a namespace is in the set.
func (n *Namespaces) Has(name string) bool {
	n.mu.RLock()
	defer n.mu.RUnlock()
	_, ok := n.names[name]
	return ok
}

// Names returns the namespaces in the set, sorted.
func (n *Namespaces) Names() []string {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return slices.Sorted(maps.Keys(n.names))
}

// follow lets f follow the set. f has no member of the set after an error.
func (n *Namespaces) follow(f *follower) error {
	n.changes.Lock()
	defer n.changes.Unlock()
	join := func(name string) error {
		if err := checkNamespace(name); err != nil {
			return err
		}
		return f.join(name)
	}
	if err := allOrNone(n.Names(), join, f.leave); err != nil {
		return err
	}
	n.followers.Add(f)
	return nil
}

func checkNamespace(name string) error {
	if faults := content.IsDNS1123Label(name); len(faults) > 0 {
		return fmt.Errorf("%w: %q: %s", ErrNamespace, name, strings.Join(faults, "; "))
	}
	return nil
}

// Follow makes each namespace of a set a member, now and whenever the set changes. It may be called
// before Run or while it runs. The union may have other members, too.
//
//	err := pods.Follow(namespaces, func(namespace string) (map[string]reflector.Source[*corev1.Pod], error) {
//		source, err := client.New(server, core.Pods, client.Options{Namespace: namespace})
//		return map[string]reflector.Source[*corev1.Pod]{namespace: source}, err
//	}, informer.InNamespace)
//
// sources makes the sources of a namespace, keyed by the names of the members: one source, or one
// for each selector if an object must match one of several. It is called once for each namespace,
// one call at a time, and must not change the set. covers returns the argument covers of
// [Union.Add] for a namespace: usually [InNamespace]. It may be nil. After an error, the union does
// not follow the set. Errors: [ErrNamespace], reflector.ErrNoSource, and those of sources and
// [Union.Add].
func (u *Union[K, T]) Follow(set *Namespaces, sources func(namespace string) (map[string]reflector.Source[T], error), covers func(namespace string) func(K) bool) error {
	if set == nil || sources == nil {
		return u.members.inf.about(fmt.Errorf("%w: Follow needs a set of namespaces and a function for their sources", reflector.ErrNoSource))
	}
	covering := func(namespace string) func(K) bool {
		if covers == nil {
			return nil
		}
		return covers(namespace)
	}
	members := map[string][]string{} // their names, by namespace; the set makes one change at a time
	leave := func(namespace string) {
		for _, name := range members[namespace] {
			u.Remove(name)
		}
		delete(members, namespace)
	}
	join := func(namespace string) error {
		all, err := sources(namespace)
		if err != nil {
			return err
		}
		names := slices.Sorted(maps.Keys(all))
		err = allOrNone(names, func(name string) error {
			_, err := u.Add(name, all[name], covering(namespace))
			return err
		}, func(name string) { u.Remove(name) })
		if err == nil {
			members[namespace] = names
		}
		return err
	}
	coming := func(key K) bool {
		name, ok := set.isComing()
		if !ok {
			return false
		}
		covered := covering(name)
		return covered == nil || covered(key)
	}
	f := &follower{join, leave}
	beginToFollow(u, following[K]{f, coming})
	if err := set.follow(f); err != nil {
		u.members.inf.mu.Lock()
		defer u.members.inf.mu.Unlock()
		u.members.follows = slices.DeleteFunc(slices.Clone(u.members.follows), func(other following[K]) bool { return other.follower == f })
		return err
	}
	return nil
}

// beginToFollow adds f to the sets that the union follows.
func beginToFollow[K comparable, T any](u *Union[K, T], f following[K]) {
	u.members.inf.mu.Lock()
	defer u.members.inf.mu.Unlock()
	u.members.follows = append(u.members.follows, f)
}

// following is a set that a union follows.
type following[K comparable] struct {
	*follower // kept alive here
	// coming reports whether a key may be in a namespace that some unions have and others not.
	coming func(K) bool
}
