package sharing

import (
	"hash/maphash"
	"math"
	"unsafe"
)

// The nodes of values in an any that came from JSON.
var (
	anyText = &node{kind: text, id: 1}
	anyTree = &node{kind: tree, id: 2}
	anyList = &node{kind: slice, id: 3}
)

// eface is the layout of an any: the type, and a pointer to the value or a map itself.
type eface struct {
	typ, data unsafe.Pointer
}

// tree shares the values of a map.
func (c *Cache) tree(m map[string]any) uint64 {
	var sum uint64
	for k, v := range m {
		was := v
		sum += mix(c.key(k), c.dynamic(&v))
		if (*eface)(unsafe.Pointer(&v)).data != (*eface)(unsafe.Pointer(&was)).data {
			m[k] = v
		}
	}
	return mix(uint64(len(m)), sum)
}

// dynamic shares the value in an any, if it has a type that decoding JSON makes.
func (c *Cache) dynamic(p *any) uint64 {
	e := (*eface)(unsafe.Pointer(p))
	c.weight += unsafe.Sizeof(*e)
	before := c.weight
	var h uint64
	switch v := (*p).(type) {
	case nil:
		return ofNil
	case bool:
		c.weight++
		return c.bytes(e.data, 1)
	case int64:
		c.weight += 8
		return mix(8, uint64(v))
	case float64:
		c.weight += 8
		return mix(9, math.Float64bits(v))
	case string:
		c.weight += unsafe.Sizeof(v) + uintptr(len(v))
		h = maphash.String(c.seed, v)
		e.data, h = c.find(part{e.data, anyText, 0}, h, before)
		return h
	case map[string]any:
		if v == nil {
			return ofNil
		}
		h = c.content(anyTree, e.data, 0)
		e.data, h = c.find(part{e.data, anyTree, 0}, h, before)
		return h
	case []any:
		c.weight += unsafe.Sizeof(v)
		h = mix(anyList.id, uint64(len(v)))
		for i := range v {
			h = mix(h, c.dynamic(&v[i]))
		}
		if cap(v) > len(v) { // leave the slice no spare capacity
			(*sliceHeader)(e.data).cap = len(v)
		}
		e.data, h = c.find(part{e.data, anyList, 0}, h, before)
		return h
	}
	return uint64(uintptr(e.data)) // equal only to itself
}
