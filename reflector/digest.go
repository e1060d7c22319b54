package reflector

import (
	"encoding/binary"
	"hash/maphash"
	"math"
	"reflect"
)

// maxDigestDepth bounds the way into an object, which may refer to itself.
const maxDigestDepth = 32

var digestSeed = maphash.MakeSeed()

// digestOf returns a hash of object that is the same for all objects that are deeply equal. It
// holds on to nothing. Cost: proportional to the size of the object.
func digestOf(object any) uint64 {
	var d digest
	d.SetSeed(digestSeed)
	d.add(reflect.ValueOf(object), 0)
	return d.Sum64()
}

type digest struct{ maphash.Hash }

func (d *digest) number(n uint64) {
	var bytes [8]byte
	binary.LittleEndian.PutUint64(bytes[:], n)
	_, _ = d.Write(bytes[:])
}

func (d *digest) float(f float64) { d.number(math.Float64bits(f + 0)) } // -0 is equal to 0

func (d *digest) add(v reflect.Value, depth int) {
	if depth > maxDigestDepth {
		return
	}
	depth++
	d.number(uint64(v.Kind()))
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			d.number(1)
		} else {
			d.number(0)
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		d.number(uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		d.number(v.Uint())
	case reflect.Float32, reflect.Float64:
		d.float(v.Float())
	case reflect.Complex64, reflect.Complex128:
		d.float(real(v.Complex()))
		d.float(imag(v.Complex()))
	case reflect.String:
		d.number(uint64(v.Len()))
		_, _ = d.WriteString(v.String())
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			d.number(0)
		} else {
			d.add(v.Elem(), depth)
		}
	case reflect.Slice, reflect.Array:
		d.number(uint64(v.Len()))
		for n := range v.Len() {
			d.add(v.Index(n), depth)
		}
	case reflect.Struct:
		for n := range v.NumField() {
			d.add(v.Field(n), depth)
		}
	case reflect.Map:
		d.entries(v, depth)
	}
}

// entries adds the entries of a map, in whatever order they come.
func (d *digest) entries(v reflect.Value, depth int) {
	sum := uint64(v.Len())
	for entries := v.MapRange(); entries.Next(); {
		var one digest
		one.SetSeed(digestSeed)
		one.add(entries.Key(), depth)
		one.add(entries.Value(), depth)
		sum += one.Sum64()
	}
	d.number(sum)
}
