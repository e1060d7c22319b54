package kubeproto

import (
	"reflect"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
)

// maxPresize limits the room allocated for a map before its entries are read. An entry may be
// as short as two bytes, and all entries may have the same key.
const maxPresize = 128

// entry reads the entry data[i:end] of a map. It calls value for each value, at
// data[start:cut], and returns the last key, even with an error. It accepts the same bytes as
// the generated code: key and value may extend beyond the entry, but not beyond the message
// (data), and their wire types are not checked. Then at is beyond end. The last value wins.
func entry(data []byte, i, end int, value func(start, cut int) *DecodeError) (key []byte, at int, err *DecodeError) {
	for at = i; at < end; {
		tag, after := uvarint(data, at)
		if after < 0 {
			return key, at, failure(i, after)
		}
		start, num := after, int32(tag>>3)
		if num == 1 || num == 2 {
			start, at = span(data, after)
		} else if at = skip(data, at); at > end {
			at = codeEOF
		}
		switch {
		case at < 0:
			return key, at, failure(i, at)
		case num == 1:
			key = data[start:at]
		case num == 2:
			if err := value(start, at); err != nil {
				return key, at, err.under(string(key), -1)
			}
		}
	}
	return key, at, nil
}

// stringMap reads one entry of a map whose keys and values have string kind. The names of the
// types do not matter: all such maps have the same form in memory.
func (d *decoder) stringMap(m *map[string]string, data []byte, tag uint64, i, end int) *DecodeError {
	if *m == nil {
		*m = make(map[string]string, min(1+run(data, tag, end), maxPresize))
	}
	var value []byte
	key, at, err := entry(data, i, end, func(start, cut int) *DecodeError {
		value = data[start:cut]
		return nil
	})
	d.within(at, end)
	if err == nil {
		(*m)[d.text(key)] = d.text(value)
	}
	return err
}

// quantityMap reads one entry of a map of quantities, such as a ResourceList. Its keys
// may be of any string kind: all of them hash and compare alike.
func (d *decoder) quantityMap(p unsafe.Pointer, data []byte, tag uint64, i, end int) *DecodeError {
	m := (*map[string]resource.Quantity)(p)
	if *m == nil {
		*m = make(map[string]resource.Quantity, min(1+run(data, tag, end), maxPresize))
	}
	var value resource.Quantity
	key, at, err := entry(data, i, end, func(start, cut int) *DecodeError {
		value = resource.Quantity{}
		return d.quantity(unsafe.Pointer(&value), start, cut)
	})
	d.within(at, end)
	if err == nil {
		(*m)[d.text(key)] = value
	}
	return err
}

// anyMap reads one entry of any other map, by reflection.
func (d *decoder) anyMap(f *field, p unsafe.Pointer, data []byte, i, end int) *DecodeError {
	m := reflect.NewAt(f.whole, p).Elem()
	if m.IsNil() {
		m.Set(reflect.MakeMap(f.whole))
	}
	value := reflect.New(f.element.typ)
	if f.shape != shapeForeign { // a missing value equals an empty one
		if err := d.value(&f.element, value.UnsafePointer(), i, i); err != nil {
			return err
		}
	}
	text, at, err := entry(data, i, end, func(start, cut int) *DecodeError {
		value = reflect.New(f.element.typ)
		return d.value(&f.element, value.UnsafePointer(), start, cut)
	})
	d.within(at, end)
	if err != nil {
		return err
	}
	key := reflect.New(f.whole.Key()).Elem()
	key.SetString(d.text(text))
	m.SetMapIndex(key, value.Elem())
	return nil
}
