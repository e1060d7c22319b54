package mistake_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/kinform/kinform/internal/mistake"
)

func TestText(t *testing.T) {
	const nothing, other mistake.Text = "the function is nil", "the name is empty"
	err := fmt.Errorf("pods: %w", nothing)
	if err.Error() != "pods: the function is nil" || !errors.Is(err, mistake.Err) || !errors.Is(err, nothing) || errors.Is(err, other) {
		t.Errorf("%v", err)
	}
}

func TestIsNil(t *testing.T) {
	n := 0
	for _, v := range []any{nil, (*int)(nil), map[string]int(nil), (func())(nil), error(nil)} {
		if !mistake.IsNil(v) {
			t.Errorf("%T is not nil", v)
		}
	}
	for _, v := range []any{0, "", &n, map[string]int{}, func() {}, []int(nil), struct{}{}} {
		if mistake.IsNil(v) {
			t.Errorf("%T is nil", v)
		}
	}
}
