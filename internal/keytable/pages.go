package keytable

// plain keeps keys of any type by id.
type plain[K comparable] struct {
	pages [][]K // the zero K for an unused id
}

func (p *plain[K]) at(id uint32) *K { return &p.pages[id>>pageShift][id&(pageLen-1)] }

func set[K comparable](p *plain[K], id uint32, key K) {
	reach(p, id)
	*p.at(id) = key
}

func remove[K comparable](p *plain[K], id uint32) {
	var zero K
	*p.at(id) = zero
}

// reach makes room for the key of id. All pages have full length except the first, which grows
// with a small map.
func reach[K comparable](p *plain[K], id uint32) {
	page, need := int(id>>pageShift), int(id&(pageLen-1))+1
	for page >= len(p.pages) {
		room := pageLen
		if len(p.pages) == 0 {
			room = 4
		} else if len(p.pages[0]) < pageLen {
			lengthen(p, pageLen)
		}
		p.pages = append(p.pages, make([]K, room))
	}
	if need > len(p.pages[page]) {
		lengthen(p, min(max(need, 2*len(p.pages[0])), pageLen))
	}
}

//go:noinline
func lengthen[K comparable](p *plain[K], n int) {
	first := make([]K, n)
	copy(first, p.pages[0])
	p.pages[0] = first
}

// truncate drops the pages that hold no id below n.
//
//go:noinline
func truncate[K comparable](p *plain[K], n int) { p.pages = shortened(p.pages, n) }

func clone[K comparable](p *plain[K]) plain[K] {
	c := plain[K]{pages: make([][]K, len(p.pages))}
	for i, page := range p.pages {
		c.pages[i] = append([]K(nil), page...)
	}
	return c
}

// shortened returns the pages that hold ids below n.
func shortened[P any](pages []P, n int) []P {
	keep := (n + pageLen - 1) >> pageShift
	switch {
	case keep == 0:
		return nil
	case keep >= len(pages):
		return pages
	}
	clear(pages[keep:])
	pages = pages[:keep]
	if cap(pages) > 8 && keep < cap(pages)/4 {
		pages = append(make([]P, 0, keep+keep/4), pages...)
	}
	return pages
}
