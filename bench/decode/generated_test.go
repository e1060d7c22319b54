package decode

import (
	"reflect"
	"unsafe"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform/internal/kubeproto"
)

// generatedList is the way without a plan: the same reader of lists, the generated Unmarshal
// for each pod, and then a walk over the pod that makes equal strings share memory, as a plan
// does while it decodes. Nil strings mean no walk.
func generatedList(shared *kubeproto.Strings) way {
	var intern walk
	if shared != nil {
		intern = walker{}.of(reflect.TypeFor[corev1.Pod]())
	}
	return protobufList(func(item []byte, pod *corev1.Pod) error {
		if err := pod.Unmarshal(item); err != nil {
			return err
		}
		if intern != nil {
			intern(unsafe.Pointer(pod), shared)
		}
		return nil
	})
}

// walk replaces the strings in the value at p by equal ones that were there before.
type walk func(p unsafe.Pointer, shared *kubeproto.Strings)

// walker makes the walks of Go types; nil for a type without strings. Types must not be
// recursive.
type walker map[reflect.Type]walk

func (w walker) of(t reflect.Type) walk {
	if f, known := w[t]; known {
		return f
	}
	f := w.compile(t)
	w[t] = f
	return f
}

func (w walker) compile(t reflect.Type) walk {
	switch t.Kind() {
	case reflect.String:
		return internString
	case reflect.Struct:
		return w.structure(t)
	case reflect.Pointer:
		if elem := w.of(t.Elem()); elem != nil {
			return func(p unsafe.Pointer, shared *kubeproto.Strings) {
				if to := *(*unsafe.Pointer)(p); to != nil {
					elem(to, shared)
				}
			}
		}
	case reflect.Slice:
		if elem, size := w.of(t.Elem()), t.Elem().Size(); elem != nil {
			return func(p unsafe.Pointer, shared *kubeproto.Strings) {
				list := *(*[]byte)(p) // of elements of any size: only its start and length count
				for i := range uintptr(len(list)) {
					elem(unsafe.Add(unsafe.Pointer(unsafe.SliceData(list)), i*size), shared)
				}
			}
		}
	case reflect.Map:
		if t.Key().Kind() == reflect.String && t.Elem().Kind() == reflect.String {
			return internMap
		}
	}
	return nil
}

func (w walker) structure(t reflect.Type) walk {
	type member struct {
		offset uintptr
		walk   walk
	}
	var members []member
	for i := range t.NumField() {
		if sf := t.Field(i); sf.IsExported() {
			if f := w.of(sf.Type); f != nil {
				members = append(members, member{sf.Offset, f})
			}
		}
	}
	if members == nil {
		return nil
	}
	return func(p unsafe.Pointer, shared *kubeproto.Strings) {
		for i := range members {
			members[i].walk(unsafe.Add(p, members[i].offset), shared)
		}
	}
}

func internString(p unsafe.Pointer, shared *kubeproto.Strings) {
	s := (*string)(p)
	*s = shared.Get(unsafe.Slice(unsafe.StringData(*s), len(*s)))
}

// internMap also replaces the keys: to assign to an entry does that.
func internMap(p unsafe.Pointer, shared *kubeproto.Strings) {
	m := *(*map[string]string)(p)
	for k, v := range m {
		internString(unsafe.Pointer(&k), shared)
		internString(unsafe.Pointer(&v), shared)
		m[k] = v
	}
}
