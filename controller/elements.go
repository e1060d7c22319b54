package controller

import (
	"encoding/json"
	"slices"
)

// identifying are the members that name an element of a list. They are those keys of lists in the API
// of Kubernetes that other APIs use, too.
var identifying = []string{"uid", "name", "key", "id", "containerPort", "port", "mountPath", "devicePath", "ip", "topologyKey"}

// lookAhead is the number of elements that one is compared with if its name does not decide. It bounds
// the time that a long list takes.
const lookAhead = 64

// match returns the index in before of each element of after, -1 if it is new. An element is the
// same if it is equal. Otherwise its name, key, port or the like says so. If it has no such member,
// its type says so, or at last its place between others.
func match(before, after []any) (from []int) {
	m := matching{before: before, after: after, from: make([]int, len(after)), taken: make([]bool, len(before))}
	for n := range m.from {
		m.from[n] = -1
	}
	m.ends()
	m.equal()
	for _, name := range identifying {
		m.byMember(name, func(tree) bool { return true })
	}
	m.byMember("type", isUnnamed)
	m.byPlace()
	return m.from
}

// matching pairs the elements of two states of a list.
type matching struct {
	before, after []any
	from          []int  // for each element of after
	taken         []bool // for each element of before
}

func (m *matching) pair(old, now int) {
	m.from[now], m.taken[old] = old, true
}

// ends pairs the equal elements at the beginning and at the end.
func (m *matching) ends() {
	n := 0
	for n < len(m.before) && n < len(m.after) && isSame(m.before[n], m.after[n]) {
		m.pair(n, n)
		n++
	}
	for old, now := len(m.before)-1, len(m.after)-1; old >= n && now >= n && isSame(m.before[old], m.after[now]); old, now = old-1, now-1 {
		m.pair(old, now)
	}
}

// equal pairs the other equal elements.
func (m *matching) equal() {
	m.by(func(element any) string {
		text, err := json.Marshal(element)
		if err != nil {
			return ""
		}
		return string(text)
	})
}

// byMember pairs elements with the same value in a member.
func (m *matching) byMember(name string, fits func(tree) bool) {
	m.by(func(element any) string {
		members, _ := element.(tree)
		value := members[name]
		if value == nil || value == "" || !isScalar(value) || !fits(members) {
			return ""
		}
		text, err := json.Marshal(value)
		if err != nil {
			return ""
		}
		return string(text)
	})
}

// by pairs elements with the same text, unless it is empty.
func (m *matching) by(text func(any) string) {
	if !slices.Contains(m.from, -1) {
		return
	}
	old := map[string][]int{}
	for n, element := range m.before {
		if !m.taken[n] {
			if t := text(element); t != "" {
				old[t] = append(old[t], n)
			}
		}
	}
	for n, element := range m.after {
		if m.from[n] < 0 {
			if t := text(element); t != "" {
				m.choose(n, old[t])
			}
		}
	}
}

// byPlace pairs elements that no member tells apart and that are between the same others.
func (m *matching) byPlace() {
	ends := make([]int, len(m.after)) // of the gap in before
	for n, end := len(m.after)-1, len(m.before); n >= 0; n-- {
		if m.from[n] >= 0 {
			end = m.from[n]
		}
		ends[n] = end
	}
	begin := 0
	for n := range m.after {
		if m.from[n] < 0 {
			var gap []int
			for old := begin; old < min(ends[n], begin+lookAhead); old++ {
				if !m.taken[old] && mayBe(m.before[old], m.after[n]) {
					gap = append(gap, old)
				}
			}
			m.choose(n, gap)
		}
		if m.from[n] >= 0 {
			begin = m.from[n] + 1
		}
	}
}

// choose pairs an element of after with one of some elements of before: with the first that has half of
// its members in common, or just with the first.
func (m *matching) choose(now int, candidates []int) {
	first, looked := -1, 0
	for _, old := range candidates {
		if m.taken[old] {
			continue
		}
		if looked++; looked > lookAhead {
			break
		}
		if alike(m.before[old], m.after[now]) {
			m.pair(old, now)
			return
		}
		if first < 0 {
			first = old
		}
	}
	if first >= 0 {
		m.pair(first, now)
	}
}

// alike reports whether half of the members of two elements are equal.
func alike(old, now any) bool {
	before, _ := old.(tree)
	after, _ := now.(tree)
	same := 0
	for name, member := range before {
		if isSame(member, after[name]) {
			same++
		}
	}
	return 2*same >= max(len(before), len(after), 1)
}

// mayBe reports whether two elements can be the same: both have members, or both have elements, and
// no member tells them apart.
func mayBe(old, now any) bool {
	before, wasTree := old.(tree)
	after, isTree := now.(tree)
	if !wasTree || !isTree {
		return !wasTree && !isTree && !isScalar(old) && !isScalar(now)
	}
	return !slices.ContainsFunc(identifying, func(name string) bool { return contradict(before[name], after[name]) }) &&
		!contradict(before["type"], after["type"])
}

// contradict reports whether two values of an identifying member name two elements.
func contradict(a, b any) bool { return a != nil && b != nil && isScalar(a) && !isSame(a, b) }

// isUnnamed reports whether an object has no identifying member.
func isUnnamed(members tree) bool {
	for _, name := range identifying {
		if value := members[name]; value != nil && isScalar(value) {
			return false
		}
	}
	return true
}
