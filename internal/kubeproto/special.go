package kubeproto

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// maxIdentity is the largest number of bytes that a UID keeps in memory.
const maxIdentity = 64

// uid reads the UID, and the resourceVersion if that follows: both are in one allocation, which is
// then no larger than the UID's alone.
func (d *decoder) uid(meta *metav1.ObjectMeta, data []byte, start, end int) {
	if tag, next := uvarint(data, end); next > 0 && tag == 6<<3|wireBytes {
		if from, to := span(data, next); to > 0 && to-start <= maxIdentity {
			text := d.unique(data[start:to])
			meta.UID, meta.ResourceVersion = types.UID(text[:end-start]), text[from-start:]
			return
		}
	}
	meta.UID = types.UID(d.unique(data[start:end]))
}

// time reads a metav1.Time or metav1.MicroTime: a message of seconds and nanoseconds. A Time
// ignores the latter. Both are local times, and zero if there are no bytes.
func (d *decoder) time(s shape, p unsafe.Pointer, i, end int) *DecodeError {
	var seconds int64
	var nanos int32
	empty := i == end
	for data := d.data[:end]; i < len(data); {
		if data[i] == 1<<3|wireVarint { // almost always the case
			v, next := uvarint(data, i+1)
			if next < 0 {
				return failure(i, next)
			}
			seconds, i = int64(v), next
			continue
		}
		f := readField(data, i)
		if f.next < 0 {
			return failure(i, f.next)
		}
		if f.num == 1 || f.num == 2 {
			if f.wire != wireVarint {
				return &DecodeError{Offset: i, Err: ErrWireType}
			}
			if f.num == 1 {
				seconds = int64(f.value)
			} else {
				nanos = int32(f.value)
			}
		}
		i = f.next
	}
	var t time.Time
	switch {
	case empty:
	case s == shapeTime:
		t = time.Unix(seconds, 0).Local()
	default:
		t = time.Unix(seconds, int64(time.Duration(nanos).Truncate(time.Microsecond))).Local()
	}
	if s == shapeTime {
		(*metav1.Time)(p).Time = t
	} else {
		(*metav1.MicroTime)(p).Time = t
	}
	return nil
}

// quantity reads a resource.Quantity: a message of one string.
func (d *decoder) quantity(p unsafe.Pointer, i, end int) *DecodeError {
	for data := d.data[:end]; i < len(data); {
		f := readField(data, i)
		if f.next < 0 {
			return failure(i, f.next)
		}
		if f.num == 1 {
			if f.wire != wireBytes {
				return &DecodeError{Offset: i, Err: ErrWireType}
			}
			q, err := d.strings.quantity(d.text(data[f.start:f.end]))
			if err != nil {
				return &DecodeError{Offset: i, Err: err}
			}
			*(*resource.Quantity)(p) = q
		}
		i = f.next
	}
	return nil
}

// stringsMessage reads a message that is a Go slice of strings. It is never nil.
func (d *decoder) stringsMessage(list *[]string, i, end int) *DecodeError {
	if *list == nil {
		*list = []string{}
	}
	for data := d.data[:end]; i < len(data); {
		f := readField(data, i)
		if f.next < 0 {
			return failure(i, f.next)
		}
		if f.num == 1 {
			if f.wire != wireBytes {
				return &DecodeError{Offset: i, Err: ErrWireType}
			}
			if err := d.roomFor(list, data, 1<<3|wireBytes, i, f.next); err != nil {
				return err
			}
			*list = append(*list, d.text(data[f.start:f.end]))
		}
		i = f.next
	}
	*list = slices.Clip(*list)
	return nil
}

// foreign reads a value with its own method, and contains the method's panics.
func (d *decoder) foreign(e *element, p unsafe.Pointer, i, end int) (failed *DecodeError) {
	defer func() {
		if r := recover(); r != nil {
			failed = &DecodeError{Offset: i, Err: fmt.Errorf("method Unmarshal of %v panicked: %v", e.typ, r)}
		}
	}()
	if e.apart {
		d.owned++
	}
	u, ok := reflect.NewAt(e.typ, p).Interface().(unmarshaler)
	if !ok {
		return &DecodeError{Offset: i, Err: errors.New("no Unmarshal method")} // Compile saw one
	}
	raw := d.data[i:end:end]
	if d.alias {
		raw = bytes.Clone(raw) // which the method may change or keep
	}
	if err := u.Unmarshal(raw); err != nil {
		return &DecodeError{Offset: i, Err: err}
	}
	return nil
}
