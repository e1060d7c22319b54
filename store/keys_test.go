package store

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/internal/keytable"
	"github.com/kinform/kinform/internal/memtest"
)

// named is an object with the usual key, which a store keeps as bytes.
type named struct {
	key     types.NamespacedName
	version int
}

func namedKey(v *named) (types.NamespacedName, error) { return v.key, nil }

// nameOf returns one of n keys, of very different lengths.
func nameOf(i int) types.NamespacedName {
	return types.NamespacedName{Namespace: fmt.Sprint("ns-", i%7), Name: strings.Repeat("n", i%5*70) + fmt.Sprint(i)}
}

// TestUsualKeys makes random writes to a store with the usual keys, compares it with a
// map, and reads beside the writer. Readers know an object by its key.
func TestUsualKeys(t *testing.T) {
	const universe = 400
	s, err := New(namedKey, Options[*named]{})
	if err != nil {
		t.Fatal(err)
	}
	s.verify = func(err error) {
		if err != nil {
			t.Errorf("invariant broken: %v", err)
		}
	}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for seed := range uint64(2) {
		readers.Go(func() {
			r := rand.New(rand.NewPCG(seed, 1))
			for {
				select {
				case <-stop:
					return
				default:
				}
				key := nameOf(r.IntN(universe))
				if v, ok := s.Get(key); ok && v.key != key {
					t.Errorf("under %v is %v", key, v.key)
					return
				}
			}
		})
	}
	defer readers.Wait()
	defer close(stop)
	r, want := rand.New(rand.NewPCG(3, 3)), map[types.NamespacedName]*named{}
	for step := range max(steps(20_000), 1000) {
		v := &named{nameOf(r.IntN(universe)), step}
		switch n := r.IntN(40); {
		case n == 0:
			list := []*named{}
			clear(want)
			for range r.IntN(universe) {
				v := &named{nameOf(r.IntN(universe)), step}
				list, want[v.key] = append(list, v), v
			}
			if err := s.Replace(list, ""); err != nil {
				t.Fatal(err)
			}
		case n < 15:
			old, had, err := s.Delete(v.key)
			if err != nil || had != (want[v.key] != nil) || old != want[v.key] {
				t.Fatalf("Delete of %v: %v %v %v, want %v", v.key, old, had, err, want[v.key])
			}
			delete(want, v.key)
		default:
			if err := s.Set(v); err != nil {
				t.Fatal(err)
			}
			want[v.key] = v
		}
		key := nameOf(r.IntN(universe))
		if got, ok := s.Get(key); got != want[key] || ok != (want[key] != nil) || s.Len() != len(want) {
			t.Fatalf("Get of %v: %v, want %v; %d objects, want %d", key, got, want[key], s.Len(), len(want))
		}
	}
}

// TestUsualKeysArePacked checks that a store holds on to no string of a usual key.
func TestUsualKeysArePacked(t *testing.T) {
	m := newKeys[types.NamespacedName]()
	key := types.NamespacedName{Namespace: "a", Name: "bc"}
	keytable.Insert(m, 1, key, 0)
	keytable.Insert(m, 2, types.NamespacedName{Name: "other"}, 1)
	if _, ok := keytable.Find(m, 1, types.NamespacedName{Namespace: "ab", Name: "c"}); ok {
		t.Error("a/bc is taken for ab/c")
	}
	if n := memtest.Allocs(10, func() { m.Remove(0); keytable.Insert(m, 1, key, 0); keytable.Find(m, 1, key) }); n != 0 && !memtest.Race {
		t.Errorf("%v allocations", n)
	}
	one := newKeys[string]()
	keytable.Insert(one, 1, "x", 0)
	if _, ok := keytable.Find(one, 1, "x"); !ok {
		t.Error("a string is not found")
	}
}
