package reflector

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Tweak returns a source whose lists and watches have the selectors that tweak sets: the fields
// LabelSelector, FieldSelector and ShardSelector. tweak gets empty options before each request, and
// has to set the same values each time. Its selectors narrow the selectors of the source and of the
// reflector. Any other field that it sets is ignored: the reflector decides which version, page and
// duration it asks for, see [Tuning].
//
// A nil tweak changes nothing. Tweak returns nil if source is nil, so that [New] refuses it.
func Tweak[T any](source Source[T], tweak func(*metav1.ListOptions)) Source[T] {
	if source == nil || tweak == nil {
		return source
	}
	return newAdapter(adapter[T, T]{
		source:  source,
		convert: func(ev Event[T], _ bool) (Event[T], bool, error) { return ev, true, nil },
		request: func(opts *metav1.ListOptions) {
			var set metav1.ListOptions
			tweak(&set)
			opts.LabelSelector = joined(opts.LabelSelector, set.LabelSelector, ",")
			opts.FieldSelector = joined(opts.FieldSelector, set.FieldSelector, ",")
			opts.ShardSelector = joined(opts.ShardSelector, set.ShardSelector, " && ")
		},
	})
}

// joined returns a selector for what both a and b select.
func joined(a, b, and string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + and + b
}
