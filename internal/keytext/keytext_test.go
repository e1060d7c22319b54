package keytext

import (
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

// A key matches its own text, and no other key does, whether the key can be made of the text or not.
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

// The text of a key is read back as that key unless its name has a slash, which no object's name has, and nothing
// unprintable gets through.
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
