package index

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kinform/kinform/internal/cowvec"
	"github.com/kinform/kinform/internal/slots"
)

// scanBlock is the number of objects that a scan filters together.
const scanBlock = 64

// scan is a [Select] without a suitable index. Most of its time goes into reading the labels of
// every object from memory: the object, the map, its entries and their strings, each behind a
// pointer in the previous one. So it does each kind of read for a whole block of objects before
// the next kind, because reads of different objects overlap.
type scan[T metav1.Object] struct {
	namespace string
	selector  labels.Selector // nil if there are no requirements
	exact     []Label         // an object must have one of these; nil if no requirement is that simple
	out       []T

	n    int // objects of the block that have passed so far
	objs [scanBlock]T
	maps [scanBlock]map[string]string // their labels
}

func newScan[T metav1.Object](namespace string, selector labels.Selector, reqs labels.Requirements, wanted []wantedLabels) *scan[T] {
	s := &scan[T]{namespace: namespace}
	if len(reqs) > 0 {
		s.selector = selector
	}
	for _, w := range wanted {
		if s.exact == nil || len(w.any) < len(s.exact) {
			s.exact = w.any
		}
	}
	return s
}

// scanOf returns the objects of view that match.
func scanOf[T metav1.Object](s *scan[T], view slots.View[T]) []T {
	var c cowvec.Cursor
	for run, ok := view.Next(&c); ok; run, ok = view.Next(&c) {
		for objs := run.Elems; len(objs) > 0; {
			n := min(len(objs), scanBlock)
			block(s, objs[:n])
			objs = objs[n:]
		}
	}
	return slices.Clip(s.out)
}

func block[T metav1.Object](s *scan[T], objs []T) {
	s.n = copy(s.objs[:], objs)
	if s.namespace != "" {
		keepFrom(s, func(i int) bool { return s.objs[i].GetNamespace() == s.namespace })
	}
	if s.selector != nil {
		for i, obj := range s.objs[:s.n] {
			s.maps[i] = obj.GetLabels()
		}
		if s.exact != nil {
			keepFrom(s, func(i int) bool { return len(s.maps[i]) > 0 })
			keepExact(s)
		}
		keepFrom(s, func(i int) bool { return s.selector.Matches(labels.Set(s.maps[i])) })
	}
	s.out = append(s.out, s.objs[:s.n]...)
}

// keepFrom drops the objects for which f is false.
//
//go:noinline
func keepFrom[T metav1.Object](s *scan[T], f func(i int) bool) {
	n := 0
	for i := range s.n {
		if f(i) {
			s.objs[n], s.maps[n] = s.objs[i], s.maps[i]
			n++
		}
	}
	s.n = n
}

// keepExact drops the objects without one of the exact labels: most of them, as a rule.
func keepExact[T metav1.Object](s *scan[T]) {
	var values [scanBlock]string
	key := s.exact[0].Key
	for i, m := range s.maps[:s.n] {
		values[i] = m[key] // Matches distinguishes missing labels from empty ones later
	}
	keepFrom(s, func(i int) bool {
		for _, l := range s.exact {
			if l.Value == values[i] {
				return true
			}
		}
		return false
	})
}
