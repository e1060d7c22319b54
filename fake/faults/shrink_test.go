package faults_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/kinform/kinform/fake/faults"
)

// TestShrink hides some lines that are needed together among many that are not.
func TestShrink(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		var lines, needed []string
		for i := range 1 + r.IntN(40) {
			lines = append(lines, fmt.Sprintf("line %d\n", i))
			if r.IntN(8) == 0 {
				needed = append(needed, lines[i])
			}
		}
		runs := 0
		got, err := faults.Shrink("# a comment\n"+strings.Join(lines, "\n"), func(script string) error {
			runs++
			have := strings.SplitAfter(script, "\n")
			for _, n := range needed {
				if !slices.Contains(have, n) {
					return nil
				}
			}
			return fmt.Errorf("fails with %d lines", len(have)-1)
		})
		if want := strings.Join(needed, ""); got != want || err == nil || err.Error() != fmt.Sprintf("fails with %d lines", len(needed)) {
			t.Fatalf("%q, %v, want %q", got, err, want)
		}
		if n := len(lines); runs > n*n+2*n+4 {
			t.Errorf("%d runs for %d lines", runs, n)
		}
	}
	if got, err := faults.Shrink("drop\n", func(string) error { return nil }); got != "drop\n" || err != nil {
		t.Errorf("what does not fail is shrunk to %q, %v", got, err)
	}
}
