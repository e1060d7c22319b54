package reflector

import "k8s.io/apimachinery/pkg/util/resourceversion"

// older reports whether resourceVersion a is older than b. Versions that are not
// comparable, as those of some aggregated API servers, are not (KEP-5504).
func older(a, b string) bool {
	c, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && c < 0
}

// inOrder reports whether ev is for the sink; ErrOutOfOrder if it is older than what was
// seen. A deleted object carries the version of its deletion, so the rule holds for every
// type of event.
func inOrder[T any](ev Event[T], seen string) (fresh bool, err error) {
	c, err := resourceversion.CompareResourceVersion(ev.ResourceVersion, seen)
	switch {
	case err != nil || c > 0:
		return true, nil // versions that are not comparable are taken as they come
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

// advance is the version to go on from after ev. A watch from "0" begins with what is
// there, in any order, and only other events than Added show that it is past that.
func advance[T any](seen string, ev Event[T]) string {
	if seen == "0" && ev.Type == Added {
		return seen
	}
	return newest(seen, ev.ResourceVersion)
}
