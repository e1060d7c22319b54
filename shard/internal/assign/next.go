package assign

import (
	"cmp"
	"math"
	"slices"
)

// Member is a possible owner of ranges.
type Member struct {
	ID string
	// Weight is the member's share of the load in proportion to the others' weights. Less than 1
	// counts as 1, more than [MaxWeight] as [MaxWeight].
	Weight int
	// Takes says that the member accepts more ranges. Without it the member only keeps its own.
	Takes bool
}

// MaxWeight is the largest weight.
const MaxWeight = 1_000_000

// State is the input of [Next]. The functions must not be nil.
type State struct {
	// Members are all that may be alive, each once.
	Members []Member
	// Gone reports whether an owner will never work again.
	Gone func(id string) bool
	// Released reports whether the owner of a range with a Next has stopped since r.Since.
	Released func(r Range) bool
	// Heir returns the member that gets all ranges of an owner that is gone, empty if there is
	// none. That member must have Takes.
	Heir func(id string) string
	// Kept reports whether the ranges of an owner that is gone stay as they are for now.
	Kept func(id string) bool
}

// A load may be off its fair share by slack before ranges move to balance it. So small changes move
// nothing, and a new member gets its ranges from a few others and not from all. Whole ranges move before
// others are cut. In a few hundred changes with 100 replicas, exact shares cut the hashes into 3,351 pieces, and
// this rule into 431.
const (
	slack = 0.1
	floor = 0.92 // of its fair share: a member that gives keeps at least this
	grain = 0.01 // of a fair share: less is not worth its own range
)

// Next returns the table that is to follow t, in epoch, and whether it differs from t. t is not
// changed.
//
// Ranges without an owner are given away, to the members that have least. Other ranges move only if
// a load is off its fair share by more than a tenth, and only while every owner is a member and
// every member accepts ranges. No member gets more than a tenth above its share. So no more hashes
// move than an exact division would move.
func Next(t Table, s State, epoch int64) (Table, bool) {
	p := plan{State: s, t: slices.Clone(t), epoch: epoch, members: map[string]*member{}}
	p.settle()
	p.weigh()
	if p.takers > 0 {
		p.giveFree()
		if p.sure {
			p.fill()
			p.unload()
		}
	}
	p.t = p.t.merge()
	return p.t, !slices.Equal(p.t, t)
}

// plan is one call of Next.
type plan struct {
	State
	t     Table
	epoch int64

	members map[string]*member
	order   []*member // sorted, so that the result does not depend on the order of State.Members
	takers  int
	sure    bool // every owner takes
}

type member struct {
	Member
	fair, load float64 // parts of all hashes
}

// room is the part of its share that the member lacks.
func (m *member) room() float64 { return m.fair - m.load }

// ratio is the load in proportion to the share.
func (m *member) ratio() float64 { return m.load / m.fair }

func (p *plan) takes(id string) bool {
	return id != "" && slices.ContainsFunc(p.Members, func(m Member) bool { return m.ID == id && m.Takes })
}

func (p *plan) give(n int, to string) {
	p.t[n].Owner, p.t[n].Next, p.t[n].Since, p.t[n].Number = to, "", p.epoch, p.epoch
	if m := p.members[to]; m != nil {
		m.load += p.t.width(n)
	}
}

// settle ends the moves that can end, and frees the ranges of owners that are gone.
func (p *plan) settle() {
	for n := range p.t {
		r := &p.t[n]
		gone := r.Owner != "" && p.Gone(r.Owner)
		free := gone || r.Owner == "" || r.Next != "" && p.Released(*r)
		switch {
		case r.Next != "" && free && p.takes(r.Next):
			p.give(n, r.Next)
		case gone && p.takes(p.Heir(r.Owner)):
			p.give(n, p.Heir(r.Owner))
		case gone && p.Kept(r.Owner):
		case free && (r.Owner != "" || r.Next != ""):
			p.give(n, "")
		case r.Next != "" && !p.takes(r.Next): // the owner goes on
			r.Next, r.Since = "", p.epoch
		}
	}
}

// weigh computes loads and fair shares.
func (p *plan) weigh() {
	p.sure = true
	total := 0.0
	for _, m := range p.Members {
		m.Weight = min(max(m.Weight, 1), MaxWeight)
		own := &member{Member: m}
		p.members[m.ID], p.order = own, append(p.order, own)
		total += float64(m.Weight)
		if m.Takes {
			p.takers++
		} else {
			p.sure = false
		}
	}
	slices.SortFunc(p.order, func(a, b *member) int { return cmp.Compare(a.ID, b.ID) })
	known := 1.0
	for n, r := range p.t {
		switch m := p.members[r.holder()]; {
		case m != nil:
			m.load += p.t.width(n)
		case r.Owner != "":
			p.sure = false
			known -= p.t.width(n)
		}
	}
	for _, m := range p.order {
		m.fair = max(known, 0) * float64(m.Weight) / total
	}
}

// giveFree gives away the ranges that nobody owns: first to the members that have too little, so
// that nothing else has to move for them, and then to neighbours.
func (p *plan) giveFree() {
	for n := 0; n < len(p.t); n++ {
		if p.t[n].Owner != "" {
			continue
		}
		to := p.roomiest(1 - slack)
		if to == nil {
			to = p.neighbour(n, p.roomiest(math.Inf(1)))
		} else if room := to.room(); p.t.width(n) > room+grain*to.fair {
			p.t.cut(n, room) // the rest is next
		}
		if room := (1+slack)*to.fair - to.load; p.t.width(n) > room && room > grain*to.fair {
			p.t.cut(n, max(to.room(), room/2))
		}
		p.give(n, to.ID)
	}
}

// neighbour returns the owner of a range beside range n, if it has room for all of that, or else
// other.
func (p *plan) neighbour(n int, other *member) *member {
	for _, at := range []int{n - 1, n + 1} {
		if at < 0 || at >= len(p.t) || p.t[at].Next != "" {
			continue
		}
		if m := p.members[p.t[at].Owner]; m != nil && m.Takes && m.load+p.t.width(n) <= (1+slack)*m.fair {
			return m
		}
	}
	return other
}

// roomiest returns the member that can take most, of those with less than a ratio, nil if there is
// none.
func (p *plan) roomiest(ratio float64) (to *member) {
	for _, m := range p.order {
		if m.Takes && m.ratio() < ratio && (to == nil || m.room() > to.room()) {
			to = m
		}
	}
	return to
}

// fill moves ranges to the members that have too little.
func (p *plan) fill() {
	for _, to := range p.order {
		if to.ratio() >= 1-slack {
			continue
		}
		for to.ratio() < 1-slack/2 && p.move(nil, to, to.room()) {
		}
	}
}

// unload moves ranges away from the members that have too much.
func (p *plan) unload() {
	for _, from := range p.order {
		if !from.full() {
			continue
		}
		for from.full() {
			to := p.roomiest(math.Inf(1))
			if from == to || !p.move(from, to, min(to.room(), -from.room())) {
				break
			}
		}
	}
}

// full reports whether a member has too much.
func (m *member) full() bool { return m.ratio() > 1+slack }

// spare is the load that a member can give away. While any member has too much, only such members
// give. They keep their fair share, so no giver needs something back.
func (p *plan) spare(m *member) float64 {
	switch {
	case !slices.ContainsFunc(p.order, (*member).full):
		return m.load - floor*m.fair
	case m.full():
		return m.load - m.fair
	}
	return 0
}

// move moves one range of a member, nil for any, with at most part of all hashes. It returns false
// if there is none worth a move.
func (p *plan) move(from, to *member, part float64) bool {
	n := p.pick(from, to, part)
	if n < 0 {
		return false
	}
	from = p.members[p.t[n].Owner]
	if part = min(part, p.spare(from)); p.t.width(n) > part {
		if part < grain*min(from.fair, to.fair) {
			return false
		}
		low := n > 0 && p.t[n-1].holder() == to.ID // then the lower part joins the receiver's range
		if low && !p.t.cut(n, part) || !low && !p.t.cut(n, p.t.width(n)-part) {
			return false
		}
		if !low {
			n++
		}
	}
	w := p.t.width(n)
	p.t[n].Next, p.t[n].Since = to.ID, p.epoch
	from.load -= w
	to.load += w
	return true
}

// pick returns the range to move, -1 if there is none. A range that moves as a whole leaves no
// pieces, so it is the largest of those, unless they are small. Otherwise it is a range of the
// member that can give most.
func (p *plan) pick(from, to *member, part float64) int {
	whole, cut, best, most := -1, -1, part/8, 0.0
	spare := map[*member]float64{}
	for _, m := range p.order {
		spare[m] = p.spare(m)
	}
	for n, r := range p.t {
		m := p.members[r.Owner]
		if r.Next != "" || m == nil || m == to || from != nil && m != from {
			continue
		}
		w := p.t.width(n)
		if can := min(w, spare[m]); can > most {
			cut, most = n, can
		}
		if w > min(part, spare[m]) {
			continue
		}
		if p.beside(n, to) {
			w *= 4
		}
		if w >= best {
			whole, best = n, w
		}
	}
	if whole >= 0 {
		return whole
	}
	return cut
}

// beside reports whether a neighbour of range n will be the member's.
func (p *plan) beside(n int, m *member) bool {
	return n > 0 && p.t[n-1].holder() == m.ID || n+1 < len(p.t) && p.t[n+1].holder() == m.ID
}
