package kubeproto

import (
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// decoder is one call of Decode. Positions refer to data; each message reads data cut off at
// its own end. Pointers point into Go values of the types that the plan was compiled for, so
// writes through them are typed and visible to the garbage collector. With reflect.Value
// instead, a pod takes 2.3 times as long.
type decoder struct {
	data        []byte
	strings     *Strings
	alias       bool    // strings refer to data
	targets     scalars // of pointers, if strings is nil
	dropManaged bool
	depth       int
	left        int64   // rest of Options.MaxMemory
	parts       *Parts  // nil if no parts are shared
	owned       int     // number of values so far whose containers cannot be parts
	again       bool    // the object must be decoded without parts
	recent      *recent // nil if no parts are shared
}

// mapSize is the approximate size of a map with one entry.
const mapSize = 320

// text returns a string that may come again in other objects.
func (d *decoder) text(b []byte) string {
	if d.alias {
		return unsafe.String(unsafe.SliceData(b), len(b))
	}
	return d.strings.Get(b)
}

// unique returns a string that hardly comes again.
func (d *decoder) unique(b []byte) string {
	if d.alias {
		return unsafe.String(unsafe.SliceData(b), len(b))
	}
	return string(b)
}

// take counts n values of a size against the limit, before they are allocated.
func (d *decoder) take(n int, size uintptr, at int) *DecodeError {
	if d.left -= int64(n) * int64(size); d.left < 0 {
		return &DecodeError{Offset: at, Err: ErrTooLarge}
	}
	return nil
}

// message reads the fields of a message in data[i:end] into the struct at p. The most frequent
// cases are inline, because a decoder spends most of its time here.
func (d *decoder) message(l *layout, p unsafe.Pointer, i, end int) *DecodeError {
	if d.depth++; d.depth > MaxDepth {
		return &DecodeError{Offset: i, Err: ErrTooDeep}
	}
	data := d.data[:end]
	for i < len(data) {
		at := i
		tag := uint64(data[i])
		if i++; tag >= 0x80 {
			if tag, i = uvarint(data, at); i < 0 {
				return failure(at, i)
			}
		}
		num := uint32(tag >> 3)
		if num >= uint32(len(l.fields)) || l.fields[num].wire != uint8(tag&7) {
			var err *DecodeError
			if i, err = d.unexpected(l, p, data, tag, at, i); err != nil {
				return err
			}
			continue
		}
		f := &l.fields[num]
		to := unsafe.Add(p, f.offset)
		if f.wire != wireBytes {
			v, next := scalar(&f.element, data, i)
			if next < 0 {
				return failure(at, next).under(f.name, -1)
			}
			i = next
			if d.parts != nil {
				d.scalar(f, to, v)
			} else {
				d.storeScalar(f, to, v)
			}
			continue
		}
		start, cut := span(data, i)
		if cut < 0 {
			return failure(at, cut).under(f.name, -1)
		}
		from := i
		i = cut
		switch {
		case f.parts != noPart && d.parts != nil:
			var err *DecodeError
			if i, err = d.part(f, to, data, tag, from, start, cut); err != nil {
				return err
			}
		case f.holder != holdValue:
			if err := d.held(f, to, data, tag, start, cut); err != nil {
				return err
			}
		case f.shape == shapeString:
			*(*string)(to) = d.text(data[start:cut])
		default:
			if err := d.message(f.layout, to, start, cut); err != nil {
				return err.under(f.name, -1)
			}
		}
	}
	d.depth--
	return nil
}

// unexpected reads a field that is not in the layout or has another wire type, and returns the
// position after it. The field's tag is at at and its value at i.
func (d *decoder) unexpected(l *layout, p unsafe.Pointer, data []byte, tag uint64, at, i int) (int, *DecodeError) {
	num, wire := int32(tag>>3), tag&7
	f := l.field(num)
	switch {
	case num <= 0 || wire == wireEnd:
		return 0, failure(at, codeTag)
	case f == nil:
		if i = skip(data, at); i < 0 {
			return 0, failure(at, i)
		}
		return i, nil
	case wire == wireBytes && f.holder == holdSlice:
		start, end := span(data, i)
		if end < 0 {
			return 0, failure(at, end).under(f.name, -1)
		}
		return d.packed(f, unsafe.Add(p, f.offset), data, start, end)
	}
	return 0, (&DecodeError{Offset: at, Err: ErrWireType}).under(f.name, -1)
}

// in adds a field's name to an error.
func (d *decoder) in(f *field, err *DecodeError) *DecodeError {
	if err != nil {
		return err.under(f.name, -1)
	}
	return nil
}

// held reads a value that is not stored in the struct itself.
func (d *decoder) held(f *field, p unsafe.Pointer, data []byte, tag uint64, start, end int) *DecodeError {
	switch f.holder {
	case holdUnique:
		if text := (*string)(p); *text != string(data[start:end]) { // see uid
			*text = d.unique(data[start:end])
		}
		return nil
	case holdUID:
		d.uid((*metav1.ObjectMeta)(unsafe.Add(p, -int(f.offset))), data, start, end)
		return nil
	case holdOther:
		return d.in(f, d.value(&f.element, p, start, end))
	case holdPointer:
		return d.in(f, d.pointer(f, p, start, end))
	case holdStringMap, holdQuantityMap, holdMap:
		if err := d.take(1, f.size+mapSize, start); err != nil {
			return d.in(f, err)
		}
	}
	switch f.holder {
	case holdStringMap:
		return d.in(f, d.stringMap((*map[string]string)(p), data, tag, start, end))
	case holdQuantityMap:
		return d.in(f, d.quantityMap(p, data, tag, start, end))
	case holdMap:
		return d.in(f, d.anyMap(f, p, data, start, end))
	case holdManagedFields:
		if d.dropManaged {
			return nil
		}
	}
	if f.shape == shapeString && f.holder == holdSlice {
		list := (*[]string)(p)
		if err := d.roomFor(list, data, tag, start, end); err != nil {
			return d.in(f, err)
		}
		*list = append(*list, d.text(data[start:end]))
		return nil
	}
	list := (*sliceHeader)(p)
	if list.len == list.cap {
		more := 1 + run(data, tag, end)
		if err := d.take(max(more, list.len), f.stride(), start); err != nil {
			return d.in(f, err)
		}
		list.grow(f, more)
	}
	list.len++
	return d.item(f, list, start, end)
}

// roomFor makes room for a string at start, and for the following ones with the same tag.
func (d *decoder) roomFor(list *[]string, data []byte, tag uint64, start, end int) *DecodeError {
	if len(*list) < cap(*list) {
		return nil
	}
	more := max(1+run(data, tag, end), len(*list))
	if err := d.take(more, unsafe.Sizeof(""), start); err != nil {
		return err
	}
	grown := make([]string, len(*list), len(*list)+more)
	copy(grown, *list)
	*list = grown
	return nil
}

// pointer reads the target of a pointer field.
func (d *decoder) pointer(f *field, p unsafe.Pointer, start, end int) *DecodeError {
	target := (*unsafe.Pointer)(p)
	if *target == nil {
		if err := d.take(1, f.size, start); err != nil {
			return err
		}
		*target = f.alloc()
	}
	return d.value(&f.element, *target, start, end)
}

// item reads the last element of a slice.
func (d *decoder) item(f *field, list *sliceHeader, start, end int) *DecodeError {
	at := unsafe.Add(list.data, uintptr(list.len-1)*f.stride())
	var err *DecodeError
	if f.holder == holdPointers {
		err = d.pointer(f, at, start, end)
	} else {
		err = d.value(&f.element, at, start, end)
	}
	if err != nil {
		return err.under(f.name, list.len-1)
	}
	return nil
}

// value reads one length-delimited value in data[i:end].
func (d *decoder) value(e *element, p unsafe.Pointer, i, end int) *DecodeError {
	switch e.shape {
	case shapeString:
		*(*string)(p) = d.text(d.data[i:end])
	case shapeBytes:
		b := make([]byte, end-i) // not nil, even if empty
		copy(b, d.data[i:end])
		*(*[]byte)(p) = b
	case shapeMessage:
		return d.message(e.layout, p, i, end)
	case shapeTime, shapeMicroTime:
		return d.time(e.shape, p, i, end)
	case shapeQuantity:
		return d.quantity(p, i, end)
	case shapeStrings:
		return d.stringsMessage((*[]string)(p), i, end)
	default:
		return d.foreign(e, p, i, end)
	}
	return nil
}

// scalar reads a scalar that is not packed.
func scalar(e *element, data []byte, i int) (uint64, int) {
	switch {
	case e.wire == wireVarint:
		if i < len(data) && data[i] < 0x80 {
			return uint64(data[i]), i + 1
		}
		return uvarint(data, i)
	case int(e.size) > len(data)-i:
		return 0, codeEOF
	}
	var v uint64
	for n := range int(e.size) {
		v |= uint64(data[i+n]) << (8 * n)
	}
	return v, i + int(e.size)
}

// packed reads scalars that are encoded as one list. As in the generated code the last of
// them may go beyond the list's end, but not the message's.
func (d *decoder) packed(f *field, p unsafe.Pointer, data []byte, i, end int) (int, *DecodeError) {
	list := (*sliceHeader)(p)
	if d.parts != nil && list.len > 0 {
		return 0, d.without(i) // because scalars has taken the room for more, which would count against the limit
	}
	if need := packedCount(&f.element, data[i:end]); list.len+need > list.cap {
		if err := d.take(max(need, list.len), f.size, i); err != nil {
			return 0, d.in(f, err)
		}
		list.grow(f, need)
	}
	for i < end {
		v, next := scalar(&f.element, data, i)
		if next < 0 {
			return 0, failure(i, next).under(f.name, list.len)
		}
		d.storeScalar(f, p, v)
		i = next
	}
	if d.parts != nil {
		d.scalars(list)
	}
	return i, nil
}

func packedCount(e *element, data []byte) int {
	if e.wire != wireVarint {
		return len(data) / int(e.size)
	}
	n := 0
	for _, b := range data {
		if b < 0x80 {
			n++
		}
	}
	return n
}
