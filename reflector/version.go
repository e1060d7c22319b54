package reflector

import "k8s.io/apimachinery/pkg/util/resourceversion"

// isOlder reports whether resourceVersion a is older than b. It is false for versions that do not
// compare, as on some aggregated API servers (KEP-5504).
func isOlder(a, b string) bool {
	c, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && c < 0
}

// newest is the newer one of two versions. "0" is the version of no state, and a watch from it begins with
// the existing objects and leaves out the deletions. So it never replaces another version.
func newest(seen, rv string) string {
	if rv == "" || rv == "0" && seen != "" || isOlder(rv, seen) {
		return seen
	}
	return rv
}

// advance is the version to resume from after an event. A watch from "0" begins with the existing
// objects, in any order. The first event that is not Added shows that it is past them.
func advance(seen string, typ EventType, rv string) string {
	if seen == "0" && typ == Added {
		return seen
	}
	return newest(seen, rv)
}

// comparable reports whether a version can be compared with others.
func comparable(rv string) bool {
	_, err := resourceversion.CompareResourceVersion(rv, rv)
	return err == nil
}
