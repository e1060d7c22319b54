package reflector

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
)

// knownObject is an object as it was at the newest version seen.
type knownObject struct {
	key types.NamespacedName
	uid types.UID
	rv  string
}

// describeObject is the known object at version rv whose metadata is about, which is nil if it has none. Key
// and uid are empty then.
func describeObject(rv string, about metav1.Object) (o knownObject) {
	o.rv = rv
	if about == nil {
		return o
	}
	defer func() {
		if recover() != nil { // a nil pointer
			o.key = types.NamespacedName{}
		}
	}()
	o.key = types.NamespacedName{Namespace: about.GetNamespace(), Name: about.GetName()}
	o.uid = about.GetUID()
	return o
}

// is reports whether found is the same object at the same version.
func (o knownObject) is(found knownObject) bool {
	return o.key == found.key && o.uid == found.uid && o.rv == found.rv
}

// nameOf names the object in errors.
func (o knownObject) nameOf() string {
	name := o.key.Name
	switch {
	case name == "":
		return "an object at resourceVersion " + o.rv
	case o.key.Namespace != "":
		name = o.key.String()
	}
	return fmt.Sprintf("%s (uid %s) at resourceVersion %s", name, o.uid, o.rv)
}

// hasMetadata reports whether the object has a name to know it by.
func (o knownObject) hasMetadata() bool { return o.key.Name != "" }

// isNamed reports whether the object can be asked for.
func (o knownObject) isNamed() bool { return o.key.Name != "" && o.uid != "" }

// selector selects the object by its name.
func (o knownObject) selector() string {
	name := fields.OneTermEqualSelector("metadata.name", o.key.Name)
	if o.key.Namespace == "" {
		return name.String()
	}
	return fields.AndSelectors(name, fields.OneTermEqualSelector("metadata.namespace", o.key.Namespace)).String()
}

// notice is what the core has to know of an event: all but its object.
type notice struct {
	typ         EventType
	initialEnds bool // InitialEventsEnd
	omitted     bool
	rv          string

	// Not set before they are needed.
	object knownObject
	// In which slots the same object was kept, and had other contents. That alone is no proof: a server with
	// other defaults sends an object differently, and a handler may have changed it in the cache.
	differs [maxRecent]bool
}

// describe names the event.
func (e *notice) describe() string {
	if e.typ == Bookmark {
		return "BOOKMARK at resourceVersion " + e.rv
	}
	return e.typ.String() + " of " + e.object.nameOf()
}

// maxRecent is the number of events that the server has to repeat. One event would not be
// enough: if T holds only metadata, a restored server that wrote to the same object at the
// same version shows the same event.
const maxRecent = 4
