package keytext

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/types"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOf(t *testing.T) {
	for want, key := range map[string]any{
		"a/b": types.NamespacedName{Namespace: "a", Name: "b"},
		"b":   types.NamespacedName{Name: "b"},
		"7":   7,
	} {
		if got := Of(key); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A key matches its own text, and no other key does, whether the key can be made of the text or
// not.
func TestMatches(t *testing.T) {
	names := []types.NamespacedName{{Namespace: "a", Name: "b"}, {Name: "b"}, {Namespace: "a", Name: "b\\"}, {Namespace: "a", Name: "\u202e"}, {Namespace: "a", Name: "b/c"}}
	for _, one := range names {
		is := Matches[types.NamespacedName](Printable(Of(one)))
		for _, other := range names {
			if is(other) != (one == other) {
				t.Errorf("%q matches %q: %v", one, other, is(other))
			}
		}
	}
	if is := Matches[int]("12"); !is(12) || is(1) {
		t.Error("a number")
	}
	if is := Matches[string](`\x00`); !is("\x00") || is("x") {
		t.Error("a string")
	}
}

func TestFind(t *testing.T) {
	known := []types.NamespacedName{{Namespace: "a", Name: "b"}, {Name: "\u202e"}}
	for text, want := range map[string]types.NamespacedName{"a/b": known[0], `\u202e`: known[1], "not/there": {Namespace: "not", Name: "there"}} {
		if key, ok := Find(text, slices.Values(known)); !ok || key != want {
			t.Errorf("%q: %v, %v", text, key, ok)
		}
	}
	if key, ok := Find(`\x00`, slices.Values(known)); ok || key != (types.NamespacedName{}) {
		t.Errorf("of no key: %v, %v", key, ok)
	}
	if key, ok := Find("12", slices.Values([]int{1, 12})); !ok || key != 12 {
		t.Errorf("a number: %v, %v", key, ok)
	}
}

// The text of a key is read back as that key unless its name has a slash, which no object's name
// has, and nothing unprintable gets through.
func FuzzText(f *testing.F) {
	f.Add("a", "b\u202e\xff\\")
	f.Add("", "x")
	f.Add("", "/ ")
	f.Fuzz(func(t *testing.T, namespace, name string) {
		key := types.NamespacedName{Namespace: namespace, Name: name}
		if got, ok := Parse(Of(key)); ok && got != key && !strings.Contains(name, "/") {
			t.Errorf("%q came back as %q", key, got)
		}
		printed := Printable(name)
		if !utf8.ValidString(printed) {
			t.Errorf("%q became %q", name, printed)
		}
		if other := Printable(name + "\\"); other == printed {
			t.Errorf("two texts became %q", other)
		}
	})
}

func TestShort(t *testing.T) {
	for _, c := range [][2]string{{"", ""}, {"abcd", "abcd"}, {"abcde", "abcd…"}, {"abcö", "abc…"}, {"abö", "abö"}} {
		if got := Short(c[0], 4); got != c[1] {
			t.Errorf("%q: %q", c[0], got)
		}
	}
}

func TestResource(t *testing.T) {
	for name, want := range map[string][2]string{"pods": {"pods", ""}, "jobs.batch in namespace a": {"jobs.batch", "in namespace a"}} {
		if resource, selection := Resource(name); resource != want[0] || selection != want[1] {
			t.Errorf("%q: %q, %q", name, resource, selection)
		}
	}
}
