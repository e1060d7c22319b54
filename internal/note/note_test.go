package note

import (
	"context"
	"slices"
	"testing"
	"testing/quick"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The newest notes are kept, all are counted, and the bits that all have are known.
func TestNotes(t *testing.T) {
	check := func(all []Note) bool {
		var n Notes
		var common Note
		for i, is := range all {
			n.Add(is)
			if i == 0 {
				common = is & (1<<32 - 1)
			}
			common &= is
		}
		newest := slices.Clone(all[max(0, len(all)-Kept):])
		slices.Reverse(newest)
		return n.Adds() == len(all) && n.All() == common && slices.Equal(n.Newest(), newest)
	}
	if err := quick.Check(check, nil); err != nil {
		t.Error(err)
	}
}

// A context that is derived has the notes of its call; another one has none.
func TestContext(t *testing.T) {
	var n Notes
	ctx := With(t.Context(), &n)
	n.Add(Again)
	derived, cancel := context.WithCancel(ctx)
	defer cancel()
	if got := Of(derived); got != n {
		t.Errorf("got %v", got)
	}
	if got := Of(t.Context()); got != (Notes{}) {
		t.Errorf("got %v", got)
	}
}
