// Package objid names the states of objects that a list need not decode.
package objid

import "k8s.io/apimachinery/pkg/types"

// Identity is one state of an object, as a list names it before the object is decoded. Version and
// UID alone do not name a state: the API server applies defaults and converts when it reads from
// etcd, so the contents of an object can change at its version. A new default or conversion webhook
// in a CustomResourceDefinition does that, and so does an upgrade of the server. Two equal
// identities have the same contents because their sums are equal, too. If a restored server gives
// out a version again, the bytes differ, so its lists need no exception.
type Identity struct {
	types.NamespacedName
	UID             types.UID
	ResourceVersion string
	// Sum is the reflector.Event.Sum of the event that would carry the decoded object. An identity without
	// it is never known.
	Sum uint64
}
