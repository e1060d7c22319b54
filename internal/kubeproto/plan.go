package kubeproto

import (
	"fmt"
	"math"
	"reflect"
	"unsafe"
)

// MaxDepth is the limit for the nesting of messages, as in Go's own protobuf. Real objects
// stay below 20; schemas of custom resources nest deeper.
const MaxDepth = 10_000

// Plan is a type's compiled decoder. It is immutable and may be used by many goroutines.
type Plan struct {
	typ  reflect.Type
	root element
}

// Options configure decoding. With the zero value Decode behaves like the generated code.
type Options struct {
	// Strings makes equal strings share memory. Nil allocates each.
	Strings *Strings
	// Alias makes strings refer to data, which then must not change as long as one of them is in use. Strings and
	// Parts do not count.
	Alias bool
	// DropManagedFields leaves out metadata.managedFields, even in templates within the
	// object. Its bytes are then not checked.
	DropManagedFields bool
	// MaxMemory limits the memory in bytes of the lists, maps and pointers of an object,
	// without its strings: two bytes of data can become a struct of 700 bytes. An object that
	// would take more is refused with [ErrTooLarge]. Zero means no limit.
	MaxMemory int64
	// Parts makes objects share equal parts. Nil shares none.
	Parts *Parts
	// KnownParts lets no part enter Parts: the object has those that are known already. It is for a new state of
	// an object, whose parts came before in the old one, so that coming twice means nothing.
	KnownParts bool
}

// Decode reads data, an object's own bytes without an envelope, into the value that into
// points to. The value has the plan's type and is zero. (Like the generated code, Decode keeps
// fields that are not in data, and appends to lists.) After an error the value holds the
// fields before it.
//
// Errors: a *[DecodeError]; another one if into has a wrong type or is nil.
func (p *Plan) Decode(data []byte, into any, o Options) error {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.Type().Elem() != p.typ || v.IsNil() {
		return fmt.Errorf("kubeproto: decode into %T, want a pointer to a %v", into, p.typ)
	}
	if err := p.decode(data, v.UnsafePointer(), o); err != nil {
		return err
	}
	return nil
}

func (p *Plan) decode(data []byte, into unsafe.Pointer, o Options) *DecodeError {
	if o.Alias {
		o.Strings, o.Parts = nil, nil
	}
	d := decoder{data: data, strings: o.Strings, alias: o.Alias, dropManaged: o.DropManagedFields, left: math.MaxInt64, parts: o.Parts}
	if o.MaxMemory > 0 {
		d.left = o.MaxMemory
	}
	if o.Parts != nil {
		d.recent = o.Parts.lend(o.KnownParts)
		defer o.Parts.giveBack(d.recent)
	}
	err := d.value(&p.root, into, 0, len(data))
	if d.again {
		reflect.NewAt(p.typ, into).Elem().SetZero()
		o.Parts = nil
		return p.decode(data, into, o)
	}
	return err
}
