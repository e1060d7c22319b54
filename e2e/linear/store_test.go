package linear

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/store"
)

// keys is how many keys the store may have.
const keys = 4

// registers is the state of the model: the value of each key, or 0 if there is none.
type registers [keys]int

// object is the value of a key. Keys begin at 1, because the store refuses the zero key.
type object struct{ key, value int }

// The operations. Those that read return what they read.
type (
	write     map[int]int // a commit: values by key, 0 to delete
	exchange  object      // Set or Delete, which returns the old value if it deletes
	get       int         // of a key: its value
	listAll   struct{}    // all: registers
	listIndex int         // those whose value has this remainder: registers
)

var storeModel = porcupine.Model{
	Init: func() any { return registers{} },
	Step: func(state, input, output any) (bool, any) {
		s := state.(registers)
		switch in := input.(type) {
		case write:
			for key, value := range in {
				s[key] = value
			}
			return true, s
		case exchange:
			old := s[in.key]
			s[in.key] = in.value
			return in.value != 0 || output == old, s
		case get:
			return output == s[in], s
		case listAll:
			return output == s, s
		case listIndex:
			want := s
			for key, value := range want {
				if value%3 != int(in) {
					want[key] = 0
				}
			}
			return output == want, s
		}
		panic(fmt.Sprintf("%T", input))
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%T %v: %v", input, input, output) },
}

// TestStore writes and reads a small store with four goroutines.
func TestStore(t *testing.T) {
	base, overlapping := rand.Uint64(), 0
	for n := range histories() {
		seed := base + uint64(n)
		r := &recorder{}
		d := newStoreDriver(t, r)
		together(seed, 4, func(goroutine int, rng *rand.Rand) {
			for range 12 {
				d.step(goroutine, rng)
			}
		})
		check(t, storeModel, seed, r)
		overlapping += overlaps(r)
	}
	t.Logf("%d operations overlapped others", overlapping)
	if overlapping == 0 {
		t.Error("no two operations ran at the same time")
	}
}

type storeDriver struct {
	t     *testing.T
	r     *recorder
	s     *store.Store[int, *object]
	byRem *index.Index[*object, int]
}

func newStoreDriver(t *testing.T, r *recorder) *storeDriver {
	t.Helper()
	byRemainder := index.New("remainder", func(dst []int, o *object) []int {
		falter() // within a commit
		return append(dst, o.value%3)
	})
	key := func(o *object) (int, error) { return o.key, nil }
	s, err := store.New(key, store.Options[*object]{Indexes: []index.Definition[*object]{byRemainder}})
	if err != nil {
		t.Fatal(err)
	}
	return &storeDriver{t: t, r: r, s: s, byRem: byRemainder}
}

// step makes one random operation.
func (d *storeDriver) step(goroutine int, rng *rand.Rand) {
	falter()
	key, value := rng.IntN(keys), 1+rng.IntN(1000)
	switch rng.IntN(7) {
	case 0:
		d.r.do(goroutine, exchange{key, value}, func() any { return d.s.Set(&object{key + 1, value}) })
	case 1:
		d.r.do(goroutine, exchange{key, 0}, func() any {
			old, _, err := d.s.Delete(key + 1)
			if err != nil {
				d.t.Error(err)
			}
			return valueOf(old)
		})
	case 2, 3:
		d.commit(goroutine, rng)
	case 4:
		d.r.do(goroutine, get(key), func() any {
			o, _ := d.s.Get(key + 1)
			return valueOf(o)
		})
	case 5:
		d.r.do(goroutine, listAll{}, func() any {
			var all registers
			for _, o := range d.s.List() {
				all[o.key-1] = o.value
			}
			return all
		})
	case 6:
		remainder := rng.IntN(3)
		d.r.do(goroutine, listIndex(remainder), func() any {
			var some registers
			for _, o := range d.byRem.Get(d.s, remainder) {
				some[o.key-1] = o.value
			}
			return some
		})
	}
}

// commit writes some keys at once.
func (d *storeDriver) commit(goroutine int, rng *rand.Rand) {
	in := write{}
	for range 1 + rng.IntN(keys) {
		in[rng.IntN(keys)] = rng.IntN(2) * (1 + rng.IntN(1000))
	}
	var ops []store.Op[int, *object]
	for key, value := range maps.All(in) {
		op := store.Op[int, *object]{Key: key + 1, Delete: value == 0}
		if value != 0 {
			op.Object = &object{key + 1, value}
		}
		ops = append(ops, op)
	}
	d.r.do(goroutine, in, func() any { return d.s.Commit("", ops) })
}

func valueOf(o *object) int {
	if o == nil {
		return 0
	}
	return o.value
}
