package fieldmanager

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Stamp returns a copy of entries in the API server's order. Entries that are not among had
// get the time now.
func Stamp(entries, had []metav1.ManagedFieldsEntry, now metav1.Time) []metav1.ManagedFieldsEntry {
	entries = slices.Clone(entries)
	for i, e := range entries {
		if !slices.ContainsFunc(had, func(h metav1.ManagedFieldsEntry) bool { return h.Time.Equal(e.Time) && sameEntry(h, e) }) {
			entries[i].Time = &now
		}
	}
	slices.SortFunc(entries, func(a, b metav1.ManagedFieldsEntry) int {
		return cmp.Or(cmp.Compare(a.Operation, b.Operation), compareTimes(a.Time, b.Time), cmp.Compare(a.Manager, b.Manager),
			cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Subresource, b.Subresource))
	})
	return entries
}

// SameButTimes reports whether a and b differ in nothing but their times.
func SameButTimes(a, b []metav1.ManagedFieldsEntry) bool { return slices.EqualFunc(a, b, sameEntry) }

func compareTimes(a, b *metav1.Time) int {
	if a == nil || b == nil {
		return 0 // the field manager sets all times
	}
	return cmp.Compare(a.Unix(), b.Unix())
}

func sameEntry(a, b metav1.ManagedFieldsEntry) bool {
	a.Time, b.Time = nil, nil
	return equality.Semantic.DeepEqual(a, b)
}
