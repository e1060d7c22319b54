package packed

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// tree is the form of untyped objects: Unstructured, and maps of that sort. A value is one of the bytes below and what
// it says there, so that nil and empty, int64 and float64 are kept apart.
type tree struct {
	room sync.Pool // of *[]byte, each large enough for an object
}

const (
	treeNil = iota
	treeFalse
	treeTrue
	treeInt   // a varint
	treeFloat // eight bytes
	treeText  // a length, and so many bytes
	treeList  // 0 for nil, or a number and 1, and so many values
	treeMap   // 0 for nil, or a number and 1, and so many keys like texts, each with a value
)

// mostDepth bounds recursion, as in JSON.
const mostDepth = 10_000

// object returns the place of an object's contents.
func (*tree) object(obj any) *map[string]any {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return &u.Object
	}
	return obj.(*map[string]any)
}

func (t *tree) pack(first byte, obj any) ([]byte, error) {
	room, _ := t.room.Get().(*[]byte)
	if room == nil {
		room = new([]byte)
	}
	defer t.room.Put(room)
	var err error
	*room, err = appendValue((*room)[:0], *t.object(obj), 0)
	return joined(first, *room), err
}

func (t *tree) unpack(bytes string, obj any) error {
	r := reader{rest: bytes[1:]}
	v := r.value(0)
	m, ok := v.(map[string]any)
	if r.failed || !ok || r.rest != "" {
		return io.ErrUnexpectedEOF
	}
	if meta, ok := m["metadata"].(map[string]any); ok {
		for _, name := range [...]string{"namespace", "name", "uid"} { // see ownKey
			if text, ok := meta[name].(string); ok {
				meta[name] = strings.Clone(text)
			}
		}
	}
	*t.object(obj) = m
	return nil
}

// appendValue appends a value in its form.
func appendValue(data []byte, v any, depth int) (_ []byte, err error) {
	if depth++; depth > mostDepth {
		return data, fmt.Errorf(": nested more than %d deep", mostDepth)
	}
	switch v := v.(type) {
	case nil:
		return append(data, treeNil), nil
	case bool:
		if v {
			return append(data, treeTrue), nil
		}
		return append(data, treeFalse), nil
	case int64:
		return binary.AppendVarint(append(data, treeInt), v), nil
	case float64:
		return binary.LittleEndian.AppendUint64(append(data, treeFloat), math.Float64bits(v)), nil
	case string:
		return appendText(append(data, treeText), v), nil
	case []any:
		data = appendNumber(append(data, treeList), len(v), v == nil)
		for n, item := range v {
			if data, err = appendValue(data, item, depth); err != nil {
				return data, under(depth, fmt.Sprintf("[%d]", n), err)
			}
		}
		return data, nil
	case map[string]any:
		data = appendNumber(append(data, treeMap), len(v), v == nil)
		keys := make([]string, 0, 16)
		for key := range v {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		for _, key := range keys {
			if data, err = appendValue(appendText(data, key), v[key], depth); err != nil {
				return data, under(depth, "."+key, err)
			}
		}
		return data, nil
	}
	return data, fmt.Errorf(": a %T is no untyped value", v)
}

// under puts a name in front of an error, unless it is deep in an object: its path has no end then.
func under(depth int, name string, err error) error {
	if depth > 20 {
		return err
	}
	return fmt.Errorf("%s%w", name, err)
}

// appendNumber appends the number of values in a list or map.
func appendNumber(data []byte, n int, isNil bool) []byte {
	if isNil {
		return append(data, 0)
	}
	return binary.AppendUvarint(data, uint64(n)+1)
}

// reader reads from the start of rest.
type reader struct {
	rest   string
	failed bool
}

func (r *reader) value(depth int) any {
	if depth++; depth > mostDepth || r.failed || r.rest == "" {
		r.failed = true
		return nil
	}
	sort := r.rest[0]
	r.rest = r.rest[1:]
	switch sort {
	case treeNil:
		return nil
	case treeFalse, treeTrue:
		return sort == treeTrue
	case treeInt:
		n := r.number()
		return int64(n>>1) ^ -int64(n&1)
	case treeFloat:
		if len(r.rest) < 8 {
			break
		}
		bits := binary.LittleEndian.Uint64([]byte(r.rest[:8]))
		r.rest = r.rest[8:]
		return math.Float64frombits(bits)
	case treeText:
		return r.text()
	case treeList:
		n := r.number()
		if n == 0 {
			return []any(nil)
		}
		list := make([]any, min(n-1, uint64(len(r.rest))))
		for n := 0; n < len(list) && !r.failed; n++ {
			list[n] = r.value(depth)
		}
		return list
	case treeMap:
		n := r.number()
		if n == 0 {
			return map[string]any(nil)
		}
		n = min(n-1, uint64(len(r.rest)))
		m := make(map[string]any, n)
		for ; n > 0 && !r.failed; n-- {
			key := r.text()
			m[key] = r.value(depth)
		}
		return m
	}
	r.failed = true
	return nil
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint([]byte(r.rest[:min(len(r.rest), binary.MaxVarintLen64)]))
	if size <= 0 {
		r.failed, size = true, 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *reader) text() string {
	n := r.number()
	if n > uint64(len(r.rest)) {
		r.failed, n = true, 0
	}
	text := r.rest[:n]
	r.rest = r.rest[n:]
	return text
}
