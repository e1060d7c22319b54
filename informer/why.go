package informer

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kinform/kinform/reflector"
)

// unsynced returns the error of a wait for a cache that ended with err. It waits for mu for a tenth of a second only,
// because a function of the user's that hangs in a commit holds it, and an error about that must come, to a probe too.
func unsynced(resource string, started bool, mu *sync.Mutex, stats func() Stats, err error) *UnsyncedError {
	e := &UnsyncedError{Resource: resource, NeverRan: !started, Why: neverRan, Err: err}
	if e.NeverRan {
		return e
	}
	e.Why = "it is busy: the function of an index may not return"
	for range 10 {
		if mu.TryLock() {
			mu.Unlock()
			s := stats()
			e.Failing, e.Why = s.Failing, whyUnfilled(resource, s, time.Now())
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return e
}

// Unfilled says why the initial list of the resource is not complete, as it is at this moment. Of several namespaces it
// names one. It returns "" once each namespace has listed, or is late.
func (s *Stats) Unfilled(resource string) string {
	awaited := func(n NamespaceStats) bool { return !n.Synced && !n.Late }
	if len(s.Namespaces) == 0 && s.Lists == 0 || slices.ContainsFunc(s.Namespaces, awaited) {
		return whyUnfilled(resource, *s, time.Now())
	}
	return ""
}

// whyUnfilled says what a cache waits for before its initial list is in the store. Of several namespaces it names one.
func whyUnfilled(resource string, s Stats, now time.Time) string {
	if len(s.Namespaces) == 0 {
		return whyUnlisted(resource, s.Stats, now)
	}
	why, others := "", -1
	for _, n := range s.Namespaces {
		if n.Synced || n.Late {
			continue
		}
		if others++; others == 0 {
			why = "in namespace " + n.Namespace + ": " + whyUnlisted(n.Resource, n.Stats, now)
		}
	}
	switch {
	case others < 0:
		return whole
	case others > 0:
		why += fmt.Sprintf(" (and %d more namespaces)", others)
	}
	return why
}

const whole = "the list is complete, and waits to enter the cache"

// whyUnlisted says what a list waits for.
func whyUnlisted(resource string, s reflector.Stats, now time.Time) string {
	spent := func(since time.Time) time.Duration { return now.Sub(since).Round(time.Second) }
	failing := ""
	if s.Failing.Err != nil {
		failing = fmt.Sprintf("requests have failed for %v; the last: %s", spent(s.Failing.Since), strings.TrimPrefix(s.Failing.Err.Error(), resource+": "))
	}
	switch {
	case !s.QuietSince.IsZero():
		slow := fmt.Sprintf("the list is slow: nothing has come for %v, after %d objects", spent(s.QuietSince), s.Listed)
		return strings.TrimSuffix(slow+"; "+failing, "; ")
	case failing != "":
		return failing
	case !s.ListingSince.IsZero() && s.Expected > s.Listed:
		return fmt.Sprintf("the list has taken %v so far, and has %d of %d objects", spent(s.ListingSince), s.Listed, s.Expected)
	case !s.ListingSince.IsZero():
		return fmt.Sprintf("the list has taken %v so far, and has %d objects", spent(s.ListingSince), s.Listed)
	case s.Lists > 0:
		return whole
	}
	return "the first list has not begun"
}
