package informer

import (
	"strconv"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// older reports whether resourceVersion a is older than b. If they cannot be compared, it is
// not.
func older(a, b string) bool {
	c, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && c < 0
}

// parseVersion returns a version as a number, or 0 if it is not a number. Such a version is never
// equal to another: the object counts as changed.
func parseVersion(rv string) uint64 {
	if rv == "" {
		return 0 // avoids the allocation of ParseUint's error
	}
	number, err := strconv.ParseUint(rv, 10, 64)
	if err != nil {
		return 0
	}
	return number
}

// versionText returns a version as a text.
func versionText(version uint64) string {
	if version == 0 {
		return ""
	}
	return strconv.FormatUint(version, 10)
}
