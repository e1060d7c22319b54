package mapkey_test

import (
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/internal/mapkey"
	"github.com/kinform/kinform/internal/mapkey/mapkeytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A type is refused as an error and as a panic.
func TestRefused(t *testing.T) {
	mapkeytest.Refused(t, mapkey.Check[float64], mapkey.ErrKeyType)
	mapkeytest.Refused(t, mapkeytest.Panic(mapkey.Must[float64]), mapkey.ErrKeyType)
}

type celsius float32

type weighted struct {
	Name  string
	Parts [2]struct{ Weight float32 }
}

func TestCheckTexts(t *testing.T) {
	for want, err := range map[string]error{
		"type cannot be a key: float64: it is of kind float64, and NaN does not equal itself":                            mapkey.Check[float64](),
		"type cannot be a key: mapkey_test.celsius: it is of kind float32, and NaN does not equal itself":                mapkey.Check[celsius](),
		"type cannot be a key: interface {}: it is of kind interface, whose values may not be comparable":                mapkey.Check[any](),
		"type cannot be a key: error: it is of kind interface, whose values may not be comparable":                       mapkey.Check[error](),
		"type cannot be a key: [2]complex128: [i] is of kind complex128, and NaN does not equal itself":                  mapkey.Check[[2]complex128](),
		"type cannot be a key: mapkey_test.weighted: .Parts[i].Weight is of kind float32, and NaN does not equal itself": mapkey.Check[weighted](),
		"type cannot be a key: struct { Name string; V interface {} }: .V is of kind interface, whose values may not be comparable": mapkey.Check[struct {
			Name string
			V    any
		}](),
	} {
		if !errors.Is(err, mapkey.ErrKeyType) || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// A type whose values all equal themselves is accepted, whatever its values point to.
func TestCheckTakes(t *testing.T) {
	for name, err := range map[string]error{
		"names":       mapkey.Check[types.NamespacedName](),
		"string":      mapkey.Check[string](),
		"bool":        mapkey.Check[bool](),
		"uintptr":     mapkey.Check[uintptr](),
		"array":       mapkey.Check[[4]int](),
		"pointer":     mapkey.Check[*float64](),
		"channel":     mapkey.Check[chan float64](),
		"time":        mapkey.Check[time.Time](),
		"no fields":   mapkey.Check[struct{}](),
		"no elements": mapkey.Check[[0]float64](),
		"blank":       mapkey.Check[struct{ _ float64 }](),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	mapkey.Must[types.NamespacedName]()
}

func BenchmarkCheck(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_ = mapkey.Check[types.NamespacedName]()
	}
}
