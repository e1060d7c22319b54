package sharing

import (
	"fmt"
	"hash/maphash"
	"reflect"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
)

// The hashes of values without content.
const (
	ofNil   = 0x8ebc6af09c88c6e3
	ofEmpty = 0x589965cc75374cc3
)

// Share replaces the parts of an object by equal parts of earlier objects. object is a pointer
// to the plan's type; in place of a pointer to a struct it may be a map, which is then not a
// part itself. Nobody else may use the object yet. Share panics if object has another type.
func (p *Plan) Share(object any, c *Cache) {
	v := reflect.ValueOf(object)
	if v.Kind() != reflect.Pointer || v.Type().Elem() != p.typ || v.IsNil() {
		panic(fmt.Sprintf("sharing: %T, want a pointer to a %v", object, p.typ))
	}
	c.weight, c.depth = 0, 0
	switch at := v.UnsafePointer(); p.root.kind {
	case record:
		c.visit(p.root, at)
	case texts, quantities, tree, mapping:
		if m := *(*unsafe.Pointer)(at); m != nil {
			c.content(p.root, m, 0)
		}
	}
}

// sliceHeader is a slice whose element type only the node knows.
type sliceHeader struct {
	data     unsafe.Pointer
	len, cap int
}

// visit shares the parts of the value at p and returns a hash of its content.
func (c *Cache) visit(n *node, p unsafe.Pointer) uint64 {
	switch n.kind {
	case memory:
		c.weight += n.size
		return c.bytes(p, n.size)
	case text:
		s := *(*string)(p)
		c.weight += n.size + uintptr(len(s))
		if s == "" {
			return ofEmpty
		}
		return maphash.String(c.seed, s)
	case record:
		h := n.id
		for i := range n.fields {
			f := &n.fields[i]
			h = mix(h, c.visit(f.node, unsafe.Add(p, f.offset)))
		}
		return h
	case slice:
		s := (*sliceHeader)(p)
		s.cap = s.len
		c.weight += n.size
		if s.data == nil || s.len == 0 {
			return c.bytes(p, unsafe.Sizeof(s.data)) ^ ofEmpty
		}
		before := c.weight
		h := c.content(n, s.data, s.len)
		s.data, h = c.find(part{s.data, n, s.len}, h, before)
		return h
	case dynamic:
		return c.dynamic((*any)(p))
	}
	to := (*unsafe.Pointer)(p) // of a pointer or a map
	c.weight += n.size
	if *to == nil {
		return ofNil
	}
	before := c.weight
	h := c.content(n, *to, 0)
	*to, h = c.find(part{*to, n, 0}, h, before)
	return h
}

// content shares the parts within a part and returns a hash of its content. length is the length of
// a slice.
func (c *Cache) content(n *node, at unsafe.Pointer, length int) uint64 {
	if c.depth++; c.depth > maxDepth {
		c.weight += maxPart + 1 // so that nothing around it counts as a part
		c.depth--
		return 0
	}
	h := n.id
	switch n.kind {
	case texts, quantities, tree, mapping:
		c.weight += emptyMap
	}
	switch n.kind {
	case pointer:
		h = mix(h, c.visit(n.elem, at))
	case slice:
		h = mix(h, c.elements(n.elem, at, length))
	case texts:
		h = mix(h, values(c, n.elem, *(*map[string]string)(unsafe.Pointer(&at))))
	case quantities:
		h = mix(h, values(c, n.elem, *(*map[string]resource.Quantity)(unsafe.Pointer(&at))))
	case tree:
		h = mix(h, c.tree(*(*map[string]any)(unsafe.Pointer(&at))))
	case mapping:
		h = mix(h, c.mapping(n, at))
	}
	c.depth--
	return h
}

func (c *Cache) elements(elem *node, data unsafe.Pointer, length int) uint64 {
	if elem.kind == memory {
		size := elem.size * uintptr(length)
		c.weight += size
		return mix(uint64(length), c.bytes(data, size))
	}
	h := uint64(length)
	for i := range uintptr(length) {
		h = mix(h, c.visit(elem, unsafe.Add(data, i*elem.size)))
	}
	return h
}

// values is for maps whose values have no parts. The keys may have any string kind: all of
// them hash and compare alike.
func values[V any](c *Cache, elem *node, m map[string]V) uint64 {
	var sum uint64 // in any order
	value := new(V)
	for k, v := range m {
		*value = v
		sum += mix(c.key(k), c.visit(elem, unsafe.Pointer(value)))
	}
	return mix(uint64(len(m)), sum)
}

// emptyMap is the size of a map without entries. mapEntry is the size of one entry without the
// bytes of its key and its value.
const (
	emptyMap = 48
	mapEntry = 24
)

func (c *Cache) key(k string) uint64 {
	c.weight += mapEntry + uintptr(len(k))
	return maphash.String(c.seed, k)
}

// mapping is for any other map, by reflection.
func (c *Cache) mapping(n *node, at unsafe.Pointer) uint64 {
	m := reflect.NewAt(n.typ, unsafe.Pointer(&at)).Elem()
	var sum uint64
	for it := m.MapRange(); it.Next(); {
		value := reflect.New(n.typ.Elem())
		value.Elem().Set(it.Value())
		h := c.visit(n.elem, value.UnsafePointer())
		m.SetMapIndex(it.Key(), value.Elem())
		switch k := it.Key(); {
		case k.Kind() == reflect.String:
			h = mix(c.key(k.String()), h)
		case k.CanInt():
			h = mix(uint64(k.Int()), h)
		case k.CanUint():
			h = mix(k.Uint(), h)
		}
		sum += h
	}
	return mix(uint64(m.Len()), sum)
}
