package deltafifo

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// describe is a batch for people: each key with its deltas, in order.
func describe(b Batch[int, int]) (lines []string) {
	for key, deltas := range b.All() {
		line := fmt.Sprint(key)
		for _, d := range deltas {
			line += fmt.Sprintf(" %v:%d", d.Type, d.Object)
			if d.FinalStateUnknown {
				line += "?"
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func listOf(items ...int) Replacement[int, int] {
	list := Replacement[int, int]{Objects: &Objects[int, int]{}}
	for _, obj := range items {
		list.Objects.Set(obj/10, obj, "")
	}
	return list
}

// What becomes of operations that meet in the queue. The object of key n is n times ten
// and something; known objects end with a zero. A question mark is a final state that is
// not known.
func TestScenarios(t *testing.T) {
	type queue = DeltaFIFO[int, int]
	for _, c := range []struct {
		name  string
		known []int // keys
		do    func(f *queue) error
		want  []string
	}{
		{"a change and a deletion follow the addition", nil, func(f *queue) error {
			return try(f.Add(never, 1, 11, ""), f.Update(never, 1, 12, ""), f.Delete(never, 1, 13, ""))
		}, []string{"1 Added:11 Updated:12 Deleted:13"}},
		{"a deletion of what is nowhere is none", nil, func(f *queue) error {
			return try(f.Add(never, 1, 11, ""), f.Delete(never, 2, 21, ""))
		}, []string{"1 Added:11"}},
		{"a deletion of what is known is one", []int{2}, func(f *queue) error {
			return try(f.Add(never, 1, 11, ""), f.Delete(never, 2, 21, ""))
		}, []string{"1 Added:11", "2 Deleted:21"}},
		{"a deletion of what is only pending is one, whatever is known", []int{2}, func(f *queue) error {
			return try(f.Add(never, 1, 11, ""), f.Delete(never, 1, 12, ""))
		}, []string{"1 Added:11 Deleted:12"}},
		{"a key that comes again keeps its place", nil, func(f *queue) error {
			return try(f.Add(never, 1, 11, ""), f.Add(never, 2, 21, ""), f.Update(never, 1, 12, ""), f.Add(never, 3, 31, ""))
		}, []string{"1 Added:11 Updated:12", "2 Added:21", "3 Added:31"}},

		{"a list has what is pending", nil, func(f *queue) error {
			return try(f.Add(never, 1, 11, ""), f.Replace(never, listOf(12)))
		}, []string{"1 Added:11 Replaced:12"}},
		{"a list has what was deleted: it is another object", []int{1}, func(f *queue) error {
			return try(f.Delete(never, 1, 11, ""), f.Replace(never, listOf(12)))
		}, []string{"1 Deleted:11 Replaced:12"}},
		{"a list lacks what is pending", nil, func(f *queue) error {
			return try(f.Add(never, 1, 11, ""), f.Replace(never, listOf()))
		}, []string{"1 Added:11 Deleted:11?"}},
		{"a list lacks what the one before had", nil, func(f *queue) error {
			return try(f.Add(never, 1, 11, ""), f.Replace(never, listOf(11)), f.Replace(never, listOf()))
		}, []string{"1 Added:11 Replaced:11 Deleted:11?"}},
		{"two lists have it", nil, func(f *queue) error {
			return try(f.Replace(never, listOf(11)), f.Replace(never, listOf(12)), f.Replace(never, listOf()))
		}, []string{"1 Replaced:11 Replaced:12 Deleted:12?"}},
		{"a list lacks what is deleted already", nil, func(f *queue) error {
			return try(f.Add(never, 1, 11, ""), f.Delete(never, 1, 12, ""), f.Replace(never, listOf()))
		}, []string{"1 Added:11 Deleted:12"}},
		{"two lists lack it", nil, func(f *queue) error {
			return try(f.Add(never, 1, 11, ""), f.Replace(never, listOf()), f.Replace(never, listOf()))
		}, []string{"1 Added:11 Deleted:11?"}},
		{"a list lacks what was made anew", nil, func(f *queue) error {
			return try(f.Add(never, 1, 11, ""), f.Delete(never, 1, 11, ""), f.Add(never, 1, 12, ""), f.Replace(never, listOf()))
		}, []string{"1 Added:11 Deleted:11 Added:12 Deleted:12?"}},

		{"a list lacks what is known, which was deleted or not", []int{1, 2, 3}, func(f *queue) error {
			return try(f.Delete(never, 3, 31, ""), f.Replace(never, listOf(11)))
		}, []string{"3 Deleted:31", "1 Replaced:11", "2 Deleted:20?"}},
		{"a list lacks what is known, of which something newer is pending", []int{1, 2}, func(f *queue) error {
			return try(f.Update(never, 2, 21, ""), f.Replace(never, listOf(11)))
		}, []string{"2 Updated:21 Deleted:21?", "1 Replaced:11"}},
		{"a list lacks what is known and was made anew", []int{1, 2}, func(f *queue) error {
			return try(f.Delete(never, 2, 20, ""), f.Add(never, 2, 29, ""), f.Replace(never, listOf(11)))
		}, []string{"2 Deleted:20 Added:29 Deleted:29?", "1 Replaced:11"}},
		{"a list lacks what is known and was in a list", []int{1, 2, 3}, func(f *queue) error {
			return try(f.Replace(never, listOf(25, 11)), f.Replace(never, listOf(12)))
		}, []string{"2 Replaced:25 Deleted:25?", "1 Replaced:11 Replaced:12", "3 Deleted:30?"}},

		{"a resync finds nothing pending", []int{1}, func(f *queue) error {
			return f.Resync(never)
		}, []string{"1 Sync:10"}},
		{"a resync finds a change", []int{1}, func(f *queue) error {
			return try(f.Update(never, 1, 11, ""), f.Resync(never))
		}, []string{"1 Updated:11"}},
		{"a resync finds a deletion", []int{1}, func(f *queue) error {
			return try(f.Delete(never, 1, 11, ""), f.Resync(never))
		}, []string{"1 Deleted:11"}},
		{"a resync finds what is not known yet", nil, func(f *queue) error {
			return try(f.Add(never, 1, 11, ""), f.Resync(never))
		}, []string{"1 Added:11"}},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			store := newShelf[int]()
			for _, key := range c.known {
				store.m[key] = 10 * key
			}
			stores := []KnownObjects[int, int]{store}
			if len(c.known) == 0 {
				stores = append(stores, nil)
			}
			for _, known := range stores {
				f := New(known, Options{})
				must(t, c.do(f))
				b, err := f.Pop(never)
				must(t, err)
				if got := describe(b); !slices.Equal(got, c.want) {
					t.Errorf("got %q, want %q", got, c.want)
				}
			}
		})
	}
}

// try is the first of errs.
func try(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
