package index_test

import (
	"testing"

	"github.com/kinform/kinform/index"
)

func TestOf(t *testing.T) {
	byText := index.New("text", func(dst []string, s *string) []string { return append(dst, *s) })
	byLength := index.New("length", func(dst []int, s *string) []int { return append(dst, len(*s)) })
	defs := index.Of(byText, byLength) // infers T although the value types differ
	if len(defs) != 2 || defs[0].Name() != "text" || defs[1].Name() != "length" {
		t.Errorf("got %v", defs)
	}
}
