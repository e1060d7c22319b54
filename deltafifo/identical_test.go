package deltafifo

import "testing"

// An object is identical to itself if it is a pointer, and values are compared in no other case: some
// cannot be.
func TestIdentical(t *testing.T) {
	a, b := new(int), new(int)
	check := func(name string, got, want bool) {
		t.Helper()
		if got != want {
			t.Errorf("%s: identical %t, want %t", name, got, want)
		}
	}
	check("a pointer", identical(a, a), true)
	check("equal pointers", identical(a, b), false)
	check("nil pointers", identical[*int](nil, nil), true)
	check("a pointer in an interface", identical[any](a, a), true)
	check("equal pointers in interfaces", identical[any](a, b), false)
	check("pointers of two types", identical[any](a, new(string)), false)
	check("nil interfaces", identical[any](nil, nil), false)
	check("values", identical(1, 1), false)
	check("values in interfaces", identical[any](1, 1), false)
	check("slices in interfaces", identical[any]([]int{1}, []int{1}), false)
}
