package fake

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// settle brings all slots into sorted. It costs nothing when no object came since the
// last time, and one merge otherwise.
func (t *table) settle() {
	if len(t.recent) == 0 && t.dead <= len(t.sorted)/2 {
		return
	}
	slices.SortFunc(t.recent, func(a, b *slot) int { return compareKeys(a.key, b.key) })
	merged := make([]*slot, 0, len(t.objects))
	a, b := t.sorted, t.recent
	for len(a) > 0 || len(b) > 0 {
		var next *slot
		if len(b) == 0 || len(a) > 0 && compareKeys(a[0].key, b[0].key) <= 0 {
			next, a = a[0], a[1:]
		} else {
			next, b = b[0], b[1:]
		}
		if next.cur != nil {
			merged = append(merged, next)
		}
	}
	t.sorted, t.recent, t.dead = merged, nil, 0
}

// compareKeys orders keys as the API server lists them: by the bytes of
// "namespace/name".
func compareKeys(a, b types.NamespacedName) int {
	if a.Namespace == b.Namespace {
		return strings.Compare(a.Name, b.Name)
	}
	n := min(len(a.Namespace), len(b.Namespace))
	if c := strings.Compare(a.Namespace[:n], b.Namespace[:n]); c != 0 {
		return c
	}
	// One namespace is the start of the other: its slash meets a letter.
	return cmp.Compare(byteAt(a.Namespace, n), byteAt(b.Namespace, n))
}

func byteAt(s string, i int) byte {
	if i < len(s) {
		return s[i]
	}
	return '/'
}

// gather appends the current revisions in list order, from the first key not before from
// to the last one in its namespace (in all when namespace is empty).
func (t *table) gather(namespace string, from types.NamespacedName) []*revision {
	t.settle()
	i, _ := slices.BinarySearchFunc(t.sorted, from, func(s *slot, k types.NamespacedName) int { return compareKeys(s.key, k) })
	var out []*revision
	if namespace == "" {
		out = make([]*revision, 0, len(t.sorted)-i)
	}
	for _, s := range t.sorted[i:] {
		if namespace != "" && s.key.Namespace != namespace {
			break
		}
		if s.cur != nil {
			out = append(out, s.cur)
		}
	}
	return out
}

// gatherAt is gather as of the past: it takes back, in the current state, every write
// after rv. The caller has checked that these are still in the log.
func (t *table) gatherAt(rv uint64, namespace string, from types.NamespacedName) []*revision {
	now := t.gather(namespace, from)
	later := t.log.after(rv)
	if len(later) == 0 {
		return now
	}
	past := map[types.NamespacedName]*revision{} // by key: the state at rv of each object written since
	for _, r := range later {
		if r.bookmark() {
			continue
		}
		if _, seen := past[r.key()]; !seen {
			past[r.key()] = r.old
		}
	}
	out := now[:0]
	for _, v := range now {
		if _, changed := past[v.key]; !changed {
			out = append(out, v)
		}
	}
	for key, v := range past {
		if v != nil && (namespace == "" || key.Namespace == namespace) && compareKeys(key, from) >= 0 {
			out = append(out, v)
		}
	}
	slices.SortFunc(out, func(a, b *revision) int { return compareKeys(a.key, b.key) })
	return out
}
