package typekind_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/kinform/kinform/internal/typekind"
)

func TestOf(t *testing.T) {
	for want, pointer := range map[reflect.Kind]any{
		reflect.Pointer: (**int)(nil), reflect.Interface: (*fmt.Stringer)(nil), reflect.String: (*string)(nil), reflect.Struct: (*struct{})(nil),
	} {
		if got := typekind.Of(pointer); got != want {
			t.Errorf("Of(%T) = %v, want %v", pointer, got, want)
		}
	}
}
