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
