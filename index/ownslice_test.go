package index_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/store"
)

// TestFunctionReturnsOwnSlice: one that does not append to dst gives away a part of the
// object, which must stay as it is.
func TestFunctionReturnsOwnSlice(t *testing.T) {
	type tagged struct {
		name string
		tags []string
	}
	byTag := index.New("tag", func(_ []string, v *tagged) []string { return v.tags })
	s, err := store.New(func(v *tagged) (types.NamespacedName, error) { return types.NamespacedName{Name: v.name}, nil }, store.Options[*tagged]{Indexes: index.Of(byTag)})
	if err != nil {
		t.Fatal(err)
	}
	for _, tags := range [][]string{{"x"}, {"x", "y", "z"}, {"x", "y"}, nil, {"z"}} {
		v := &tagged{"a", slices.Clone(tags)}
		if err := s.Set(v); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(v.tags, tags) {
			t.Errorf("tags are %q, were %q", v.tags, tags)
		}
		for _, tag := range []string{"x", "y", "z"} {
			if got, want := byTag.Count(s, tag), min(1, len(slices.DeleteFunc(slices.Clone(tags), func(s string) bool { return s != tag }))); got != want {
				t.Errorf("%q: %d objects for %s, want %d", tags, got, tag, want)
			}
		}
	}
}
