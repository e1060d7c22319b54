package mapkey

import (
	"math"
	"testing"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/types"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type deep struct {
	Name  string
	Parts [2]struct{ Weight float32 }
}

func TestOK(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]struct{ got, want bool }{
		"names":               {For[types.NamespacedName]().OK(types.NamespacedName{}), true},
		"pointer":             {For[*int]().OK(nil), true},
		"number":              {For[float64]().OK(1), true},
		"NaN":                 {For[float64]().OK(nan), false},
		"complex NaN":         {For[complex128]().OK(complex(0, nan)), false},
		"deep":                {For[deep]().OK(deep{}), true},
		"deep NaN":            {For[deep]().OK(deep{Parts: [2]struct{ Weight float32 }{{}, {float32(nan)}}}), false},
		"interface":           {For[any]().OK("a"), true},
		"nil":                 {For[any]().OK(nil), true},
		"slice in interface":  {For[any]().OK([]int{1}), false},
		"NaN in an interface": {For[any]().OK(nan), false},
		"slice in an array":   {For[[1]any]().OK([1]any{[]int{}}), false},
		"map in an interface": {For[struct{ V any }]().OK(struct{ V any }{map[int]int{}}), false},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %t", name, c.got)
		}
	}
}

// What OK takes, a map finds again.
func FuzzOK(f *testing.F) {
	f.Add(uint64(0), "")
	f.Add(math.Float64bits(math.NaN()), "a")
	f.Fuzz(func(t *testing.T, bits uint64, s string) {
		type key struct {
			F float64
			V any
		}
		for _, k := range []key{{math.Float64frombits(bits), s}, {1, math.Float64frombits(bits)}, {1, []byte(s)}} {
			found := func() (ok bool) {
				defer func() { _ = recover() }()
				_, ok = map[key]bool{k: true}[k]
				return ok
			}()
			if got := For[key]().OK(k); got != found {
				t.Errorf("%v: got %t, a map says %t", k, got, found)
			}
		}
	})
}

func BenchmarkOK(b *testing.B) {
	names, floats := For[types.NamespacedName](), For[float64]()
	b.Run("names", func(b *testing.B) {
		for b.Loop() {
			names.OK(types.NamespacedName{})
		}
	})
	b.Run("floats", func(b *testing.B) {
		for b.Loop() {
			floats.OK(1)
		}
	})
}
