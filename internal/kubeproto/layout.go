package kubeproto

import "reflect"

// shape is the encoding of a value, independent of its holder.
type shape uint8

const (
	shapeString    shape = iota // any string kind
	shapeBytes                  // []byte
	shapeMessage                // a struct, decoded by its layout
	shapeTime                   // metav1.Time
	shapeMicroTime              // metav1.MicroTime
	shapeQuantity               // resource.Quantity
	shapeStrings                // a named []string that is a message, like metav1.Verbs
	shapeForeign                // anything else with an Unmarshal method
	shapeBool
	shape8  // int8 and uint8
	shape16 // int16 and uint16
	shape32 // int32, uint32 and float32
	shape64 // int64, uint64, int, uint and float64
)

// holder is the Go value that stores a field's values.
type holder uint8

const (
	holdValue         holder = iota // the struct itself; a string or message, if it is length-delimited
	holdOther                       // the struct itself, any other length-delimited value
	holdPointer                     // a pointer, allocated if there is a value
	holdSlice                       // a slice of values
	holdPointers                    // a slice of pointers
	holdStringMap                   // a map of strings by strings
	holdQuantityMap                 // a map of quantities by strings
	holdMap                         // a map of anything else that is not a scalar, by strings
	holdUnique                      // a string that hardly repeats: not worth a cache lookup
	holdUID                         // metadata.uid, which shares its memory with the resourceVersion
	holdManagedFields               // metadata.managedFields, a slice that can be dropped
)

// element is the decoder of one value.
type element struct {
	shape  shape
	wire   uint8        // the wire type, not packed
	apart  bool         // the container of a value cannot be a part
	size   uintptr      // of typ
	layout *layout      // of a message
	typ    reflect.Type // the Go type
}

// field is one field of a message. It is as large as a line of the processor's cache. Data for
// errors is kept elsewhere, because the next field is mostly on another line.
type field struct {
	holder holder
	parts  partRule
	offset uintptr // in the struct
	element
	*naming
}

// naming holds a field's names, in Go and on the wire.
type naming struct {
	whole reflect.Type // including slice, map or pointer
	name  string       // on the wire
}

// layout is a message: its fields by number. An unused number has the wire type noWire.
type layout struct {
	fields []field
}

// noWire is a wire type that no field has on the wire.
const noWire = 0xff

// field returns the field with the given number, or nil.
func (l *layout) field(num int32) *field {
	if uint(num) < uint(len(l.fields)) && l.fields[num].wire != noWire {
		return &l.fields[num]
	}
	return nil
}
