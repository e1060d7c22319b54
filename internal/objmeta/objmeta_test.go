package objmeta

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/internal/memtest"
)

type object = metav1.PartialObjectMetadata

func check[T any](t *testing.T, name string, obj T, version string, uid types.UID) {
	t.Helper()
	r := Of[T]()
	if got := r.Version(obj); got != version {
		t.Errorf("%s: version %q, want %q", name, got, version)
	}
	if got := r.UID(obj); got != uid {
		t.Errorf("%s: UID %q, want %q", name, got, uid)
	}
}

func TestReader(t *testing.T) {
	full := &object{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7", UID: "u"}}
	check(t, "pointer", full, "7", "u")
	check[metav1.Object](t, "interface", full, "7", "u")
	check[any](t, "any", full, "7", "u")
	check[any](t, "any without metadata", 7, "", "")
	check[any](t, "nil", nil, "", "")
	check[*object](t, "nil pointer", nil, "", "")
	check(t, "projection", struct{ name string }{"x"}, "", "")
	check(t, "value whose pointer has metadata", *full, "", "")
	check(t, "empty", new(object), "", "")
}

func TestReaderAllocatesNothing(t *testing.T) {
	full := &object{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7", UID: "u"}}
	small := struct{ a, b string }{"x", "y"}
	pointers, values := Of[*object](), Of[struct{ a, b string }]()
	if n := memtest.Allocs(100, func() {
		_, _ = pointers.Version(full), pointers.UID(full)
		_, _ = values.Version(small), values.UID(small)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
