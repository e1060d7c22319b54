package index

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/kinform/kinform/internal/posting"
	"github.com/kinform/kinform/internal/slots"
)

// Select returns the objects in namespace, or in all namespaces when it is empty, whose
// labels match selector, each once, in no order. A nil selector matches everything.
//
// If the store has indexes made by [Namespace] or [Labels] for the namespace, or for a requirement
// of the form key=value or key in (…), Select reads only the objects under the rarest of them.
// Otherwise it reads every object: O(store).
func Select[T metav1.Object](from Reader[T], namespace string, selector labels.Selector) []T {
	var reqs labels.Requirements
	if selector != nil {
		var selectable bool
		if reqs, selectable = selector.Requirements(); !selectable {
			return nil
		}
	}
	s := from.Indexer().slots()
	wanted := labelsWanted(reqs)
	st := s.Read()
	best := candidates(st, namespace, wanted)
	view := st.View()
	s.Done()
	match := func(obj T) bool {
		return (namespace == "" || obj.GetNamespace() == namespace) &&
			(len(reqs) == 0 || selector.Matches(labels.Set(obj.GetLabels())))
	}
	if !best.found && namespace == "" && len(reqs) == 0 {
		return view.AppendTo(make([]T, 0, view.Live()))
	}
	if !best.found {
		return newScan[T](namespace, selector, reqs, wanted).of(view)
	}
	out := make([]T, 0, best.n)
	for _, ids := range best.ids {
		for id := range ids.All {
			if obj := view.At(id); match(obj) {
				out = append(out, obj)
			}
		}
	}
	return out
}

// labelsWanted returns a list of labels for each requirement that an index can answer: an object
// must have one label of the list. A list has no duplicates, so that the postings of its labels
// have no object in common. The lists are built before the lock is taken.
func labelsWanted(reqs labels.Requirements) [][]Label {
	var out [][]Label
	for _, r := range reqs {
		switch r.Operator() {
		case selection.Equals, selection.DoubleEquals, selection.In:
			values := r.ValuesUnsorted() // a copy
			slices.Sort(values)
			values = slices.Compact(values)
			one := make([]Label, len(values))
			for i, v := range values {
				one[i] = Label{r.Key(), v}
			}
			out = append(out, one)
		}
	}
	return out
}

// choice is a set of postings that together contain every match.
type choice struct {
	found bool
	n     int
	ids   []posting.IDs
}

func (c *choice) offer(n int, freeze func() []posting.IDs) {
	if !c.found || n < c.n {
		*c = choice{found: true, n: n, ids: freeze()}
	}
}

func candidates[T any](st *slots.State[T], namespace string, wanted [][]Label) (best choice) {
	for _, ix := range st.Indexes() {
		switch l := ix.(type) {
		case *live[T, string]:
			if l.def.role.namespace && namespace != "" {
				v := posting.Value[string]{V: namespace, Hash: l.def.hash(namespace)}
				best.offer(l.lists.Count(v), func() []posting.IDs { return []posting.IDs{l.lists.Freeze(v)} })
			}
		case *live[T, Label]:
			if l.def.role.labels {
				offerLabels(l, &best, wanted)
			}
		}
	}
	return best
}

func offerLabels[T any](l *live[T, Label], best *choice, wanted [][]Label) {
	for _, one := range wanted {
		if keys := l.def.role.keys; keys != nil && !keys[one[0].Key] {
			continue
		}
		n := 0
		values := make([]posting.Value[Label], len(one))
		for i, label := range one {
			values[i] = posting.Value[Label]{V: label, Hash: l.def.hash(label)}
			n += l.lists.Count(values[i])
		}
		best.offer(n, func() (ids []posting.IDs) {
			for _, v := range values {
				ids = append(ids, l.lists.Freeze(v))
			}
			return ids
		})
	}
}
