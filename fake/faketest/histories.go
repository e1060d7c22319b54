package faketest

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// maxViolations bounds the violations that Histories keeps; it counts the rest.
const maxViolations = 20

// Histories checks the events that an informer's handler sees. For each key they must be
// add (update)* delete; the old object of an update must be the very object seen last; no
// object may be nil; and, where T has metadata, no resourceVersion may be older than the one
// before it. Call Added, Updated and Deleted from the handler and check Err at the end.
//
// The zero value is ready. It is safe for concurrent use. Recording an event costs O(1).
type Histories[K comparable, T any] struct {
	// Packed says that the informer packs its objects: then an old object need only be equal to the one seen last.
	// Set it before the first event.
	Packed bool

	mu         sync.Mutex
	live       map[K]T
	events     int
	violations []error
	dropped    int
}

// Added records an add event.
func (h *Histories[K, T]) Added(key K, obj T) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events++
	if _, ok := h.live[key]; ok {
		h.violation(key, "added while present")
	}
	h.see(key, obj)
}

// Updated records an update event.
func (h *Histories[K, T]) Updated(key K, old, obj T) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events++
	last, ok := h.live[key]
	switch {
	case !ok:
		h.violation(key, "updated while absent")
	case !identical(last, old) && !(h.Packed && reflect.DeepEqual(last, old)):
		h.violation(key, "updated from %s, last seen %s", describe(old), describe(last))
	case older(obj, old):
		h.violation(key, "updated back in time from %s to %s", describe(old), describe(obj))
	}
	h.see(key, obj)
}

// Deleted records a delete event. last may be newer than the object seen last, never older.
func (h *Histories[K, T]) Deleted(key K, last T) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events++
	seen, ok := h.live[key]
	switch {
	case !ok:
		h.violation(key, "deleted while absent")
	case absent(last):
		h.violation(key, "deleted without its last state")
	case older(last, seen):
		h.violation(key, "deleted at %s, last seen %s", describe(last), describe(seen))
	}
	delete(h.live, key)
}

// Err returns the violations so far: the first 20 joined, and the number of the others. It
// returns nil if there are none.
func (h *Histories[K, T]) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	err := errors.Join(h.violations...)
	if h.dropped > 0 {
		err = fmt.Errorf("%w\nand %d more", err, h.dropped)
	}
	return err
}

// Events returns the number of events recorded.
func (h *Histories[K, T]) Events() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.events
}

// Live returns the objects that were added and not deleted, each as last seen. This is the
// collection as the handler knows it; [Diff] compares it with the server's. The iterator
// walks a copy, made in O(n), and can be used more than once.
func (h *Histories[K, T]) Live() iter.Seq2[K, T] {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.All(maps.Clone(h.live))
}

func (h *Histories[K, T]) see(key K, obj T) {
	if absent(obj) {
		h.violation(key, "an event without an object")
	}
	if h.live == nil {
		h.live = map[K]T{}
	}
	h.live[key] = obj
}

func (h *Histories[K, T]) violation(key K, format string, args ...any) {
	if len(h.violations) == maxViolations {
		h.dropped++
		return
	}
	h.violations = append(h.violations, fmt.Errorf("event %d, key %v: "+format, append([]any{h.events, key}, args...)...))
}

// identical compares pointers as pointers, because the old object of an update must be the
// one handed out before. It compares other values deeply.
func identical(a, b any) bool {
	if v := reflect.ValueOf(a); v.IsValid() && v.Comparable() && reflect.ValueOf(b).Comparable() {
		return a == b
	}
	return reflect.DeepEqual(a, b)
}

func absent(v any) bool {
	r := reflect.ValueOf(v)
	if !r.IsValid() {
		return true
	}
	switch r.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Interface:
		return r.IsNil()
	}
	return false
}

// older reports whether a is known to be an older version than b.
func older(a, b any) bool {
	ra, rb := versionOf(a), versionOf(b)
	if ra == "" || rb == "" {
		return false
	}
	c, err := resourceversion.CompareResourceVersion(ra, rb)
	return err == nil && c < 0
}

func versionOf(v any) string {
	if o, ok := v.(metav1.Object); ok && !absent(v) {
		return o.GetResourceVersion()
	}
	return ""
}

func describe(v any) string {
	if rv := versionOf(v); rv != "" {
		return "resourceVersion " + rv + fmt.Sprintf(" (%p)", v)
	}
	return fmt.Sprintf("%+v", v)
}
