package kubeproto

import (
	"fmt"
	"math/rand"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kinform/kinform/internal/memtest"
)

// quantityTexts are quantities of each form, two that no int64 holds, and three that are none.
var quantityTexts = []string{"0", "1", "250m", "1500m", "256Mi", "512Mi", "1e3", "1E", "-7", "0.5", "123n", "1.5Gi",
	"9223372036854775808", "1.000000000000000000001", "", "m", "1 Gi"}

// TestQuantitiesEqualParsed has each quantity come often, between others, and changes what it gets.
func TestQuantitiesEqualParsed(t *testing.T) {
	texts := quantityTexts
	for i := range 100 {
		texts = append(texts, fmt.Sprintf("%dm", i))
	}
	random := rand.New(rand.NewSource(1))
	s := NewStrings(0)
	for range 100_000 {
		text := texts[random.Intn(len(texts))]
		want, wrong := resource.ParseQuantity(text)
		got, err := s.quantity(s.Get([]byte(text)))
		if (err == nil) != (wrong == nil) || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q is %#v, %v, want %#v, %v", text, got, err, want, wrong)
		}
		got.Add(resource.MustParse("1")) // writes to the memory of a large one
	}
}

func TestKnownQuantitiesDoNotAllocate(t *testing.T) {
	if memtest.Race {
		t.Skip("the race detector allocates")
	}
	s := NewStrings(0)
	if n := memtest.Allocs(100, func() { _, _ = s.quantity("250m") }); n > 0 {
		t.Errorf("%v allocations", n)
	}
	if q := s.quantities[slotOf("250m")]; !q.plain {
		t.Error("a small quantity that came often is parsed each time")
	}
	long := strings.Repeat("1", maxInterned+1)
	for range 3 {
		_, _ = s.quantity("9223372036854775808")
		if _, err := s.quantity(long); err != nil || s.quantities[slotOf(long)].text == long {
			t.Fatalf("a quantity of %d bytes is kept, or refused: %v", len(long), err)
		}
	}
	if q := s.quantities[slotOf("9223372036854775808")]; q.text == "" || q.plain {
		t.Error("a large quantity shares its memory")
	}
}
