package reflector

import "k8s.io/apimachinery/pkg/util/resourceversion"

// older reports whether resourceVersion a is older than b. It is false for versions that do
// not compare, as those of some aggregated API servers (KEP-5504).
func older(a, b string) bool {
	c, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && c < 0
}

// inOrder reports whether ev is new to the sink. It returns ErrOutOfOrder if ev is older than
// the newest version seen. A deleted object carries the version of its deletion, so the rule
// holds for every type of event.
func inOrder[T any](ev Event[T], seen string) (fresh bool, err error) {
	c, err := resourceversion.CompareResourceVersion(ev.ResourceVersion, seen)
	switch {
	case err != nil || c > 0:
		return true, nil // accept versions that do not compare in any order
	case c == 0:
		return ev.Type == Bookmark, nil
	}
	return false, ErrOutOfOrder
}

func newest(seen, rv string) string {
	if rv == "" || older(rv, seen) {
		return seen
	}
	return rv
}

// advance is the version to resume from after ev. A watch from "0" begins with the existing
// objects, in any order. The first event that is not Added shows that it is past them.
func advance[T any](seen string, ev Event[T]) string {
	if seen == "0" && ev.Type == Added {
		return seen
	}
	return newest(seen, ev.ResourceVersion)
}
