package kubeproto

import (
	"reflect"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
)

// maxPresize bounds what is allocated for a map before its entries are read. An entry may be as
// short as two bytes, and all of them may have the same key.
const maxPresize = 128

// entry reads the key and the value of map entries. It reads what the generated code
// reads: key and value may go beyond the entry, but not beyond the message (data), their
// wire types are not looked at, and what comes last wins.
type entry struct {
	data       []byte
	i, end     int
	num        int32 // 1 for a key, 2 for a value, anything else to be ignored
	start, cut int   // the key or value is data[start:cut]
}

// next advances to the next field. It returns a negative number for an error, 0 at the
// end.
func (e *entry) next() int {
	if e.i >= e.end {
		return 0
	}
	tag, after := uvarint(e.data, e.i)
	if after < 0 {
		return after
	}
	if e.num = int32(tag >> 3); e.num == 1 || e.num == 2 {
		e.start, e.cut = span(e.data, after)
		e.i = e.cut
		return e.i
	}
	if e.i = skip(e.data, e.i); e.i > e.end {
		return codeEOF
	}
	return e.i
}

// stringMap reads one entry of a map whose keys and values are of string kind, whatever
// their names: maps of them are the same in memory.
func (d *decoder) stringMap(m *map[string]string, data []byte, tag uint64, i, end int) *DecodeError {
	if *m == nil {
		*m = make(map[string]string, min(1+run(data, tag, end), maxPresize))
	}
	var key, value []byte
	e := entry{data: data, i: i, end: end}
	for {
		n := e.next()
		switch {
		case n < 0:
			return failure(i, n)
		case n == 0:
			(*m)[d.strings.Get(key)] = d.strings.Get(value)
			return nil
		case e.num == 1:
			key = data[e.start:e.cut]
		case e.num == 2:
			value = data[e.start:e.cut]
		}
	}
}

// quantityMap reads one entry of a map of quantities, such as a ResourceList. Its keys
// may be of any string kind: all of them hash and compare alike.
func (d *decoder) quantityMap(p unsafe.Pointer, data []byte, tag uint64, i, end int) *DecodeError {
	m := (*map[string]resource.Quantity)(p)
	if *m == nil {
		*m = make(map[string]resource.Quantity, min(1+run(data, tag, end), maxPresize))
	}
	var key []byte
	var value resource.Quantity
	e := entry{data: data, i: i, end: end}
	for {
		n := e.next()
		switch {
		case n < 0:
			return failure(i, n)
		case n == 0:
			(*m)[d.strings.Get(key)] = value
			return nil
		case e.num == 1:
			key = data[e.start:e.cut]
		case e.num == 2:
			value = resource.Quantity{}
			if err := d.quantity(unsafe.Pointer(&value), e.start, e.cut); err != nil {
				return err.under(string(key), -1)
			}
		}
	}
}

// anyMap reads one entry of any other map, by reflection.
func (d *decoder) anyMap(f *field, p unsafe.Pointer, data []byte, i, end int) *DecodeError {
	m := reflect.NewAt(f.whole, p).Elem()
	if m.IsNil() {
		m.Set(reflect.MakeMap(f.whole))
	}
	key := reflect.New(f.whole.Key()).Elem()
	value := reflect.New(f.element.typ)
	if f.shape != shapeForeign { // no value is like an empty one
		if err := d.value(&f.element, value.UnsafePointer(), i, i); err != nil {
			return err
		}
	}
	e := entry{data: data, i: i, end: end}
	for {
		n := e.next()
		switch {
		case n < 0:
			return failure(i, n)
		case n == 0:
			m.SetMapIndex(key, value.Elem())
			return nil
		case e.num == 1:
			key.SetString(d.strings.Get(data[e.start:e.cut]))
		case e.num == 2:
			value = reflect.New(f.element.typ)
			if err := d.value(&f.element, value.UnsafePointer(), e.start, e.cut); err != nil {
				return err.under(key.String(), -1)
			}
		}
	}
}
