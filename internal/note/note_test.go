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

// What comes back is older than what was added meanwhile, and says once that it does: however often a hand-out fails, its
// reason stays, and the number does not grow.
func TestPutBack(t *testing.T) {
	const reason = Event + 5
	for n, test := range []struct{ old, now, want []Note }{
		{[]Note{reason}, nil, []Note{reason}},
		{[]Note{reason}, []Note{Event}, []Note{Event, reason}},
		{[]Note{Retry, reason, ByHand}, nil, []Note{reason, ByHand}},
		{[]Note{reason, Retry, ByHand}, []Note{Event}, []Note{Event, reason, ByHand}},
		{[]Note{Retry, CutShort, PutOff}, nil, nil},
		{[]Note{Retry, CutShort, PutOff}, []Note{Again}, []Note{Again}},
		{[]Note{Again, reason}, []Note{Event, Event + 1}, []Note{Event, Event + 1, Again}},
		{nil, []Note{Event}, []Note{Event}},
		{nil, nil, nil},
	} {
		of := func(newest []Note) (n Notes) {
			for _, is := range slices.Backward(newest) {
				n.Add(is)
			}
			return n
		}
		old, got := of(test.old), of(test.now)
		got.PutBack(&old)
		if !slices.Equal(got.Newest(), test.want) {
			t.Errorf("%d: got %v, want %v", n, got.Newest(), test.want)
		}
		if want := len(test.now) + len(slices.DeleteFunc(slices.Clone(test.old), Note.Repeats)); got.Adds() != want {
			t.Errorf("%d: %d adds, want %d", n, got.Adds(), want)
		}
		common := ^uint32(0)
		for _, is := range test.want {
			common &= uint32(is)
		}
		if len(test.want) > 0 && len(test.old)+len(test.now) <= Kept && uint32(got.All()) != common {
			t.Errorf("%d: %b in common, want %b: notes that are left out do not count", n, got.All(), common)
		}
	}
	var now Notes
	for n := range 10 {
		now.Add(Event + Note(n))
	}
	for range 100 { // failures
		var next Notes
		next.PutBack(&now)
		next.Add(Retry)
		now = next
	}
	if want := []Note{Retry, Event + 9, Event + 8}; !slices.Equal(now.Newest(), want) || now.Adds() != 11 || now.All()&Event != 0 {
		t.Errorf("got %v of %d, in common %b", now.Newest(), now.Adds(), now.All())
	}
	now.adds = 1<<32 - 1
	next := now
	next.PutBack(&now)
	if next.Adds() != 1<<32-1 {
		t.Errorf("%d adds", next.Adds())
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
