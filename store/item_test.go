package store

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/kinform/kinform/index"
)

// id and item are the key and the object of most tests: no Kubernetes type, so that
// nothing about them is taken for granted.
type id struct {
	space string
	num   int
}

type item struct {
	id      id
	version int
	node    string
	tags    []string
	boom    string // the index whose function panics on the item

	from *item // what this one was unpacked from; nil if it was not
}

// packedItems are the items that were packed: their bytes are their numbers.
var packedItems struct {
	sync.RWMutex
	all []*item
}

func (it *item) MarshalBinary() ([]byte, error) {
	p := &packedItems
	p.Lock()
	defer p.Unlock()
	p.all = append(p.all, it)
	return fmt.Append(nil, len(p.all)-1), nil
}

func (it *item) UnmarshalBinary(data []byte) error {
	n, err := strconv.Atoi(string(data))
	if err != nil {
		return err
	}
	p := &packedItems
	p.RLock()
	defer p.RUnlock()
	*it = *p.all[n]
	it.from = p.all[n]
	return nil
}

// original returns the item that was stored. One that was unpacked belongs to the caller, so its contents go.
func original(it *item) *item {
	if it == nil || it.from == nil {
		return it
	}
	from := it.from
	*it = item{from: from}
	return from
}

var errNoID = errors.New("item without id")

func itemKey(it *item) (id, error) {
	if it == nil {
		return id{}, errNoID
	}
	if it.boom == "key" {
		panic("key boom")
	}
	return it.id, nil
}

type place struct {
	space, node string
}

// fixture has an index of one value, one of several values, a compound one, and one of
// numbers.
type fixture struct {
	node  *index.Index[*item, string]
	tags  *index.Index[*item, string]
	place *index.Index[*item, place]
	mod   *index.Index[*item, int]
}

func newFixture() fixture {
	return fixture{
		node: index.New("node", func(dst []string, it *item) []string {
			if it.boom == "node" {
				panic("node boom")
			}
			if it.node == "" {
				return dst
			}
			return append(dst, it.node)
		}),
		tags: index.New("tags", func(dst []string, it *item) []string {
			dst = append(dst, it.tags...)
			if it.boom == "tags" {
				panic(errors.New("tags boom"))
			}
			return dst
		}),
		place: index.New("place", func(dst []place, it *item) []place {
			return append(dst, place{it.id.space, it.node})
		}),
		mod: index.New("mod", func(dst []int, it *item) []int {
			return append(dst, it.version%7, -1, it.version%7)
		}),
	}
}

func (f fixture) defs() []index.Definition[*item] {
	return []index.Definition[*item]{f.node, f.tags, f.place, f.mod}
}

// newStore returns a store that is checked after every commit. mask narrows the hashes
// of keys, so that keys collide.
func newStore(t testing.TB, mask uint32, opts Options[*item]) *Store[id, *item] {
	t.Helper()
	s, err := New(itemKey, opts)
	if err != nil {
		t.Fatal(err)
	}
	s.mask = mask
	s.verify = func(err error) {
		if err != nil {
			t.Fatalf("invariant broken: %v", err)
		}
	}
	return s
}

func mustSet(t testing.TB, s *Store[id, *item], items ...*item) {
	t.Helper()
	for _, it := range items {
		if err := s.Set(it); err != nil {
			t.Fatal(err)
		}
	}
}

func newItem(n int) *item {
	return &item{id: id{fmt.Sprintf("s%d", n%5), n}, version: 1, node: fmt.Sprintf("node-%d", n%10)}
}
