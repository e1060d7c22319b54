package keytable

import "slices"

// packed holds pairs of strings by id, as adjacent bytes. A Go string would take 16 bytes more,
// and its bytes would be in memory that is rarely in the processor's cache.
type packed struct {
	pages []*packedPage
}

// packedPage holds the pairs of pageLen ids. A pair is stored as its two lengths and its bytes.
//
// Invariants: begin of a used id is the offset of its pair; begin of an unused id is unused, or
// deadBit and the offset of a dead pair. dead is the number of bytes that no used id refers to.
type packedPage struct {
	begin [pageLen]uint32
	dead  int
	data  []byte
}

const (
	deadBit = 1 << 31
	unused  = ^uint32(0)
)

func (p *packed) at(id uint32) (*packedPage, uint32) {
	return p.pages[id>>pageShift], id & (pageLen - 1)
}

// is reports whether the pair of id, which must be used, is a and b.
func (p *packed) is(id uint32, a, b string) bool {
	page, i := p.at(id)
	pair := page.data[page.begin[i]:]
	if na, nb := len(a), len(b); na < longLength && nb < longLength {
		// The usual case. The code below takes 4 ns more, a tenth of Store.Get.
		return len(pair) >= 2+na+nb && int(pair[0]) == na && int(pair[1]) == nb &&
			string(pair[2:2+na]) == a && string(pair[2+na:2+na+nb]) == b
	}
	na, pair := length(pair)
	nb, pair := length(pair)
	return na == len(a) && nb == len(b) && string(pair[:na]) == a && string(pair[na:na+nb]) == b
}

// set makes a and b the pair of id, which must be unused. Cost: amortized O(1), and no
// allocation if the previous pair of id was at least as long.
func (p *packed) set(id uint32, a, b string) {
	for int(id>>pageShift) >= len(p.pages) {
		p.pages = append(p.pages, p.newPage())
	}
	page, i := p.at(id)
	size := lengthSize(len(a)) + lengthSize(len(b)) + len(a) + len(b)
	if old := page.begin[i]; old != unused {
		if at := int(old &^ deadBit); page.size(at) >= size {
			page.begin[i] = uint32(at)
			page.dead -= size
			write(page.data[at:at], a, b)
			return
		}
	}
	if len(page.data)+size > cap(page.data) {
		page.compact(size)
	}
	page.begin[i] = uint32(len(page.data))
	page.data = write(page.data, a, b)
}

// newPage returns a page with room for as many bytes as the last page holds.
func (p *packed) newPage() *packedPage {
	page := &packedPage{}
	for i := range page.begin {
		page.begin[i] = unused
	}
	if n := len(p.pages); n > 0 {
		last := p.pages[n-1]
		size := len(last.data) - last.dead
		page.data = append([]byte(nil), make([]byte, size+size/32)...)[:0]
	}
	return page
}

// compact drops dead pairs, and makes room for a pair of the given size and a few more.
func (page *packedPage) compact(size int) {
	need := len(page.data) - page.dead + size
	data := append([]byte(nil), make([]byte, need+max(need/16, min(need, 256)))...)[:0]
	for i, at := range page.begin {
		if at&deadBit != 0 {
			page.begin[i] = unused
			continue
		}
		page.begin[i] = uint32(len(data))
		data = append(data, page.data[at:int(at)+page.size(int(at))]...)
	}
	page.data, page.dead = data, 0
}

// size returns the size of the pair at offset at.
func (page *packedPage) size(at int) int {
	pair := page.data[at:]
	na, rest := length(pair)
	nb, rest := length(rest)
	return len(pair) - len(rest) + na + nb
}

// remove makes id unused.
func (p *packed) remove(id uint32) {
	page, i := p.at(id)
	page.dead += page.size(int(page.begin[i]))
	page.begin[i] |= deadBit
}

// move renames id from to the unused id to.
func (p *packed) move(from, to uint32) {
	page, i := p.at(from)
	pair := page.data[page.begin[i]:]
	na, pair := length(pair)
	nb, pair := length(pair)
	p.set(to, string(pair[:na]), string(pair[na:na+nb]))
	p.remove(from)
}

// truncate drops the pages that hold no id below n.
func (p *packed) truncate(n int) {
	p.pages = shortened(p.pages, n)
	if len(p.pages) == 0 {
		return
	}
	if last := p.pages[len(p.pages)-1]; cap(last.data) > 256 && len(last.data)-last.dead < cap(last.data)/4 {
		last.compact(0)
	}
}

// cloneRun is the number of pages that clone allocates together, without their data. A page
// keeps the others of its run in memory.
const cloneRun = 8

func (p *packed) clone() packed {
	c := packed{pages: make([]*packedPage, 0, len(p.pages))}
	for run := range slices.Chunk(p.pages, cloneRun) {
		pages := make([]packedPage, len(run))
		for i, page := range run {
			pages[i] = *page
			pages[i].data = append(make([]byte, 0, cap(page.data)), page.data...)
			c.pages = append(c.pages, &pages[i])
		}
	}
	return c
}

// A length takes a byte; one of 255 and more takes five.
const longLength = 0xff

func lengthSize(n int) int {
	if n < longLength {
		return 1
	}
	return 5
}

// length takes a length off the front of b.
func length(b []byte) (n int, rest []byte) {
	if n = int(b[0]); n < longLength {
		return n, b[1:]
	}
	return int(b[1]) | int(b[2])<<8 | int(b[3])<<16 | int(b[4])<<24, b[5:]
}

func appendLength(dst []byte, n int) []byte {
	if n < longLength {
		return append(dst, byte(n))
	}
	return append(dst, longLength, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
}

// write appends a pair to dst.
func write(dst []byte, a, b string) []byte {
	dst = appendLength(appendLength(dst, len(a)), len(b))
	return append(append(dst, a...), b...)
}
