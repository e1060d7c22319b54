package deepcopy

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// maxPlaces is the number of places that a difference names. It counts the others.
const maxPlaces = 20

// Difference returns the places in which two objects differ, each with the value before on a
// line with - and the value after on a line with +. It is empty if their types' Equal methods
// find no difference. These methods can panic.
func Difference[T any](before, after T) (diff string) {
	return difference(&before, &after)
}

// difference is [Difference] for the values at two pointers.
func difference(before, after any) (diff string) {
	defer func() {
		if value := recover(); value != nil {
			diff = fmt.Sprintf("(no difference: comparing panicked: %v)", value)
		}
	}()
	was, is := leavesOf(before), leavesOf(after)
	var out strings.Builder
	places := 0
	for _, path := range slices.Concat(was.order, is.order) {
		b, a := was.at[path], is.at[path]
		if equal(b, a) {
			continue
		}
		delete(is.at, path) // a path of both walks comes twice
		delete(was.at, path)
		if places++; places <= maxPlaces {
			write(&out, path, b, a)
		}
	}
	if more := places - maxPlaces; more > 0 {
		fmt.Fprintf(&out, "and %d more\n", more)
	}
	return out.String()
}

// leaves are the values of an object that are compared as a whole, by their paths: those
// without parts, and those whose types have an Equal method. Functions and channels are not
// among them.
type leaves struct {
	at    map[string]reflect.Value
	order []string         // paths, in the order of the walk
	met   map[visit]string // pointers, maps and slices, with the paths where the walk met them first
}

func leavesOf(pointer any) leaves {
	l := leaves{at: map[string]reflect.Value{}, met: map[visit]string{}}
	l.walk("", reflect.ValueOf(pointer).Elem())
	return l
}

func (l *leaves) add(path string, v reflect.Value) {
	l.at[path] = v
	l.order = append(l.order, path)
}

func (l *leaves) addWord(path string, w word) { l.add(path, reflect.ValueOf(w)) }

// walk adds the leaves of v, which is addressable.
func (l *leaves) walk(path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Func, reflect.Chan:
		return
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface:
		if v.IsNil() {
			l.addWord(path, "nil")
			return
		}
	}
	if !l.enter(path, v) {
		return
	}
	if hasEqual(v.Type()) {
		l.add(path, v)
		return
	}
	l.parts(path, v)
}

// enter reports whether the walk meets v for the first time. Otherwise it adds the first path
// as a leaf, so that it ends on values that contain themselves.
func (l *leaves) enter(path string, v reflect.Value) bool {
	if k := v.Kind(); k != reflect.Pointer && k != reflect.Map && (k != reflect.Slice || v.Len() == 0) {
		return true
	}
	here := visitOf(v)
	if first, ok := l.met[here]; ok {
		l.addWord(path, word("the same as "+cmp.Or(first, "the object")))
		return false
	}
	l.met[here] = path
	return true
}

// parts walks the parts of v. A value without parts is a leaf.
func (l *leaves) parts(path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		l.walk(path, v.Elem())
	case reflect.Interface:
		l.walk(path, addressable(v.Elem()))
	case reflect.Struct:
		for n := range v.NumField() {
			field := v.Field(n) // of an unexported field, reflect gives no value that can be used
			l.walk(path+"."+v.Type().Field(n).Name, reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Elem())
		}
		if v.NumField() == 0 {
			l.add(path, v)
		}
	case reflect.Slice, reflect.Array:
		for n := range v.Len() {
			l.walk(fmt.Sprintf("%s[%d]", path, n), v.Index(n))
		}
		if v.Len() == 0 {
			l.addWord(path, "empty")
		}
	case reflect.Map:
		l.entries(path, v)
	default:
		l.add(path, v)
	}
}

// entries walks the values of a map, in the order of the texts of their keys.
func (l *leaves) entries(path string, v reflect.Value) {
	values := map[string]reflect.Value{}
	for all := v.MapRange(); all.Next(); {
		values[text(all.Key())] = addressable(all.Value())
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		l.walk(path+"["+key+"]", values[key])
	}
	if len(values) == 0 {
		l.addWord(path, "empty")
	}
}

// word is a leaf that stands for a value without its own contents: nil, empty, or one met before.
type word string

// equal reports whether two leaves are equal. NaNs are, and so are two missing leaves.
func equal(a, b reflect.Value) bool {
	if !a.IsValid() || !b.IsValid() {
		return a.IsValid() == b.IsValid()
	}
	if a.Type() != b.Type() {
		return false
	}
	if hasEqual(a.Type()) {
		// By its name: Method(n) would make the linker keep every exported method of the whole
		// program.
		return a.MethodByName("Equal").Call([]reflect.Value{b})[0].Bool()
	}
	return a.Equal(b) || !a.Equal(a) && !b.Equal(b)
}

// hasEqual reports whether a type has a method Equal that compares with a value of the same type.
func hasEqual(t reflect.Type) bool {
	m, ok := t.MethodByName("Equal")
	if !ok {
		return false
	}
	f := m.Type
	return f.NumIn() == 2 && !f.IsVariadic() && t.AssignableTo(f.In(1)) && f.NumOut() == 1 && f.Out(0).Kind() == reflect.Bool
}

// write appends the lines for one place.
func write(out *strings.Builder, path string, before, after reflect.Value) {
	was, is := text(before), text(after)
	if was == is && before.IsValid() && after.IsValid() {
		was, is = was+" of type "+before.Type().String(), is+" of type "+after.Type().String()
	}
	path = cmp.Or(strings.TrimPrefix(path, "."), "value")
	if before.IsValid() {
		fmt.Fprintf(out, "- %s: %s\n", path, was)
	}
	if after.IsValid() {
		fmt.Fprintf(out, "+ %s: %s\n", path, is)
	}
}

// text returns v as people read it, or "" if there is no v. It formats a copy, because a
// String method may write to its receiver.
func text(v reflect.Value) string {
	if !v.IsValid() {
		return ""
	}
	if v.Type() == reflect.TypeFor[word]() {
		return v.String()
	}
	if v.Kind() == reflect.String {
		return strconv.Quote(v.String())
	}
	own := addressable(v)
	copier{}.deepen(own)
	if s, ok := own.Addr().Interface().(fmt.Stringer); ok {
		return s.String()
	}
	return fmt.Sprintf("%+v", own.Interface())
}

// addressable returns a shallow copy of v whose fields have addresses.
func addressable(v reflect.Value) reflect.Value {
	own := reflect.New(v.Type()).Elem()
	own.Set(v)
	return own
}
