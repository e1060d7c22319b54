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
)

// Namespaces is a set of namespaces that changes while informers follow it. One set may serve the
// informers of many resources: see controller.OpenOptions and [NewNamespaced]. The zero value is an
// empty set, and works. Do not copy a set. Any goroutine may call the methods, including the
// goroutines of handlers and reconciles.
//
// A controller has several handles for the same namespaces, and these must agree, so they share a
// set. A namespace is in the set only once all followers have it. So a write that the set allows is
// always recorded. Otherwise reads would never show its result.
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

// follower is an informer that follows a set. The informer keeps it alive.
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

// Add adds namespaces. Some may be in the set already. All informers that follow the set begin to
// list and watch them. Add does not wait for that: see [Stats]. A namespace that does not exist on
// the server counts as empty.
//
// An error says which namespaces were not added, to any informer: [ErrInvalid], and the errors of
// the functions given to [NewNamespaced].
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
	defer func() { n.finish(name, joined) }() // even if the user's function panics
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

// Remove removes namespaces. Some may be absent. The informers that follow the set end their
// requests there, and their caches do not have the objects any more when Remove returns: see
// [NewNamespaced].
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

// follow lets f follow the set. f has no namespace of the set after an error.
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
		return fmt.Errorf("%w: %q: %s", errNamespace, name, strings.Join(faults, "; "))
	}
	return nil
}
