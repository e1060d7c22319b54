package keytable

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/kinform/kinform/internal/memtest"
)

// mapDriver compares a Map with two of Go's maps. Ids are as dense as the ids of slots.
type mapDriver struct {
	t     *testing.T
	r     *rand.Rand
	mask  uint32
	m     *Map[string]
	ids   map[string]uint32
	names map[uint32]string
	top   int // ids are below it
}

func (d *mapDriver) hash(key string) uint32 {
	h := uint32(2166136261)
	for _, c := range []byte(key) {
		h = (h ^ uint32(c)) * 16777619
	}
	return h & d.mask
}

// keyName returns key n: some are long, so that their lengths take more than a byte.
func keyName(n int) string {
	s := strconv.Itoa(n)
	if n%11 == 0 {
		s += strings.Repeat("x", 250+n)
	}
	return s
}

// vacant returns an unused id, which is at most the highest one and one.
func (d *mapDriver) vacant() uint32 {
	if d.top > len(d.names) && d.r.IntN(4) > 0 {
		for id := range uint32(d.top) {
			if _, used := d.names[id]; !used {
				return id
			}
		}
	}
	d.top++
	return uint32(d.top - 1)
}

func (d *mapDriver) step(universe int) {
	key := keyName(d.r.IntN(universe))
	id, stored := d.ids[key]
	switch n := d.r.IntN(20); {
	case !stored:
		id = d.vacant()
		Insert(d.m, d.hash(key), key, id)
		d.ids[key], d.names[id] = id, key
	case n < 2:
		to := d.vacant()
		d.m.Move(id, to)
		delete(d.names, id)
		d.ids[key], d.names[to] = to, key
	case n < 4:
		Adopt(d.m, id, string([]byte(key)))
	case n < 17:
		d.m.Remove(id)
		delete(d.ids, key)
		delete(d.names, id)
	}
	for d.top > 0 {
		if _, used := d.names[uint32(d.top-1)]; used {
			break
		}
		d.top--
	}
	if d.r.IntN(8) == 0 {
		d.m.Truncate(d.top)
	}
	if d.r.IntN(300) == 0 {
		old := d.m
		d.m = d.m.Clone().(*Map[string])
		for id := range d.names { // what happens to the old map must not show
			old.Remove(id)
		}
	}
}

func (d *mapDriver) check(universe int) {
	d.t.Helper()
	if d.m.Len() != len(d.ids) {
		d.t.Fatalf("Len %d, want %d", d.m.Len(), len(d.ids))
	}
	for range 3 {
		key := keyName(d.r.IntN(universe))
		want, stored := d.ids[key]
		id, ok := Find(d.m, d.hash(key), key)
		if ok != stored || ok && id != want {
			d.t.Fatalf("Find(%q): %d %v, want %d %v", key, id, ok, want, stored)
		}
		if _, ok := Likely(d.m, d.hash(key)); stored && !ok {
			d.t.Fatalf("Likely(%q) finds nothing", key)
		}
	}
	if d.r.IntN(20) == 0 {
		d.checkPlain()
		d.checkPacked()
	}
}

// checkPlain checks that no key of an unused id is kept.
func (d *mapDriver) checkPlain() {
	for p, page := range d.m.plain.pages {
		for i, key := range page {
			if want := d.names[uint32(p<<pageShift+i)]; key != want {
				d.t.Fatalf("id %d keeps the key %q, want %q", p<<pageShift+i, key, want)
			}
		}
	}
}

// checkPacked checks the invariants of the pages.
func (d *mapDriver) checkPacked() {
	for p, page := range d.m.pairs.pages {
		live, used := 0, make([]bool, len(page.data))
		for i, at := range page.begin {
			_, want := d.names[uint32(p<<pageShift+i)]
			if got := at&deadBit == 0; got != want {
				d.t.Fatalf("id %d: in use %v, want %v", p<<pageShift+i, got, want)
			}
			if !want {
				continue
			}
			size := page.size(int(at))
			live += size
			for j := range size {
				if used[int(at)+j] {
					d.t.Fatalf("page %d: two keys at %d", p, int(at)+j)
				}
				used[int(at)+j] = true
			}
		}
		if live+page.dead != len(page.data) {
			d.t.Fatalf("page %d: %d bytes used, %d dead, %d in all", p, live, page.dead, len(page.data))
		}
	}
}

func TestMapModel(t *testing.T) {
	for name, parts := range map[string]func(string) (string, string){
		"plain":  nil,
		"packed": func(key string) (string, string) { return key[:len(key)/3], key[len(key)/3:] },
	} {
		t.Run(name, func(t *testing.T) {
			for _, c := range []struct {
				mask            uint32
				universe, steps int
			}{{^uint32(0), 3, 5_000}, {^uint32(0), 40, 20_000}, {0x7, 60, 10_000}, {0, 12, 5_000}, {^uint32(0), 900, 10_000}} {
				d := &mapDriver{t: t, r: rand.New(rand.NewPCG(9, uint64(c.universe))), mask: c.mask, ids: map[string]uint32{}, names: map[uint32]string{}}
				d.m = NewMap(parts)
				for range c.steps {
					d.step(c.universe)
					d.check(c.universe)
				}
			}
		})
	}
}

func TestMapGivesBack(t *testing.T) {
	var m Map[int]
	for id := range uint32(10_000) {
		Insert(&m, id*0x9e3779b1, int(id)+1, id)
	}
	for id := range uint32(9_990) {
		m.Remove(9_999 - id)
	}
	m.Truncate(10)
	if pages := m.plain.pages; len(pages) != 1 || cap(pages) > 64 {
		t.Errorf("10 keys in %d pages, room for %d", len(pages), cap(pages))
	}
	for id := range uint32(10) {
		m.Remove(id)
	}
	m.Truncate(0)
	if m.plain.pages != nil || m.Len() != 0 {
		t.Error("an empty map keeps its pages")
	}
}

func TestPackedGivesBack(t *testing.T) {
	m := NewMap(func(key string) (string, string) { return "namespace", key })
	for id := range uint32(10_000) {
		Insert(m, id*0x9e3779b1, strconv.Itoa(int(id)), id)
	}
	if pages := m.pairs.pages; len(pages) != 79 || cap(pages[5].data) > pageLen*20 {
		t.Errorf("%d pages of %d bytes", len(pages), cap(pages[5].data))
	}
	cycle := func() { m.Remove(500); Insert(m, 500, "500", 500) }
	if n := memtest.Allocs(1000, cycle); n != 0 {
		t.Errorf("a key that comes and goes: %v allocations", n)
	}
	for id := range uint32(9_990) {
		m.Remove(9_999 - id)
	}
	m.Truncate(10)
	if pages := m.pairs.pages; len(pages) != 1 || cap(pages[0].data) > 512 {
		t.Errorf("10 keys in %d pages, room for %d bytes", len(pages), cap(pages[0].data))
	}
	m.Truncate(0)
	if m.pairs.pages != nil {
		t.Error("an empty map keeps its pages")
	}
}
