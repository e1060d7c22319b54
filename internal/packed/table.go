package packed

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
)

// mostTypes is how many types of objects a codec of an interface has, because the first byte tells them apart.
const mostTypes = compacted

// table has the codecs of the types that objects of an interface had so far, by number. It includes those of types
// that cannot be packed, so that that is found once.
type table struct {
	mu  sync.Mutex // of additions
	all atomic.Pointer[[]*codec]
}

func (t *table) list() []*codec {
	if all := t.all.Load(); all != nil {
		return *all
	}
	return nil
}

// of returns the number and the codec of a type.
func (t *table) of(of reflect.Type) (byte, *codec, error) {
	is := func(c *codec) bool { return c.of == of }
	all := t.list()
	n := slices.IndexFunc(all, is)
	if n < 0 {
		t.mu.Lock()
		defer t.mu.Unlock()
		all = t.list()
		if n = slices.IndexFunc(all, is); n < 0 {
			if n = len(all); n == mostTypes {
				return 0, nil, fmt.Errorf("objects have more than %d types", mostTypes)
			}
			c, _ := codecOf(of) // the codec has the error
			all = append(slices.Clip(all), c)
			t.all.Store(&all)
		}
	}
	return byte(n), all[n], all[n].err
}

// at returns the codec of the object that has the bytes.
func (t *table) at(bytes string) (*codec, error) {
	all := t.list()
	if bytes == "" || int(bytes[0]) >= len(all) {
		return nil, fmt.Errorf("no object has these %d bytes", len(bytes))
	}
	c := all[bytes[0]]
	return c, c.err
}
