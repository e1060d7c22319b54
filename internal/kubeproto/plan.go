package kubeproto

import (
	"fmt"
	"math"
	"reflect"
	"unsafe"
)

// MaxDepth is how deep messages may nest, as in Go's own protobuf. Real objects stay below
// 20; schemas of custom resources go deeper.
const MaxDepth = 10_000

// Plan is a type's compiled decoder. It is immutable and may be used by many goroutines.
type Plan struct {
	typ  reflect.Type
	root element
}

// Options say what becomes of what is decoded. The zero value decodes like the generated
// code.
type Options struct {
	// Strings makes equal strings share memory. Nil allocates each.
	Strings *Strings
	// DropManagedFields leaves metadata.managedFields out, also that of templates within
	// the object. Its bytes are then not looked at.
	DropManagedFields bool
	// MaxMemory bounds, in bytes, what the lists, maps and pointers of an object take beside
	// its strings: one of 700 bytes can be two bytes of data. An object that would take
	// more is refused with [ErrTooLarge]. Zero is no limit.
	MaxMemory int64
}

// Decode reads data, an object's own bytes without an envelope, into the value that into
// points to. The value has the plan's type and is zero. (As with the generated code, Decode keeps
// fields that data does not have, and appends to lists.) After an error the value holds the fields
// that came before.
//
// Errors: a *[DecodeError]; another one if into is of a wrong type or nil.
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
	d := decoder{data: data, strings: o.Strings, dropManaged: o.DropManagedFields, left: math.MaxInt64}
	if o.MaxMemory > 0 {
		d.left = o.MaxMemory
	}
	return d.value(&p.root, into, 0, len(data))
}
