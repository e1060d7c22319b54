package deltafifo_test

import (
	"context"
	"testing"

	"github.com/kinform/kinform/deltafifo"
)

// TestRewound: a list of a server that was restored, or perhaps was, marks its own batch and no
// other. It does so with any deltas pending before it or added after it.
func TestRewound(t *testing.T) {
	ctx := t.Context()
	for name, before := range map[string]func(*deltafifo.DeltaFIFO[string, int]) error{
		"alone":   func(*deltafifo.DeltaFIFO[string, int]) error { return nil },
		"pending": func(f *deltafifo.DeltaFIFO[string, int]) error { return f.Add(ctx, "a", 1, "20") },
	} {
		t.Run(name, func(t *testing.T) {
			f := deltafifo.New[string, int](nil, deltafifo.Options{})
			defer f.Close()
			list := deltafifo.Replacement[string, int]{
				Objects:         oneObject(),
				ResourceVersion: "12", Rewound: true, Doubtful: true,
			}
			for _, put := range []func() error{
				func() error { return before(f) },
				func() error { return f.Replace(ctx, list) },
				func() error { return f.Update(ctx, "a", 3, "13") }, // makes entries of the list's items
			} {
				if err := put(); err != nil {
					t.Fatal(err)
				}
			}
			if b := pop(ctx, t, f); !b.Rewound() || !b.Doubtful() || b.ResourceVersion() != "13" {
				t.Errorf("the batch of the list: rewound %v, doubtful %v, at %s", b.Rewound(), b.Doubtful(), b.ResourceVersion())
			}
			if err := f.Update(ctx, "a", 4, "14"); err != nil {
				t.Fatal(err)
			}
			if b := pop(ctx, t, f); b.Rewound() || b.Doubtful() {
				t.Error("the batch after it is marked, too")
			}
		})
	}
}

// TestRewoundStays: an ordinary list does not take away the mark of the list before it, which the
// consumer has not got yet. The consumer still has to hear that versions do not compare.
func TestRewoundStays(t *testing.T) {
	ctx := t.Context()
	f := deltafifo.New[string, int](nil, deltafifo.Options{})
	defer f.Close()
	list := deltafifo.Replacement[string, int]{
		Objects:         oneObject(),
		ResourceVersion: "12", Rewound: true, Doubtful: true,
	}
	if err := f.Replace(ctx, list); err != nil {
		t.Fatal(err)
	}
	list.ResourceVersion, list.Rewound, list.Doubtful = "13", false, false
	if err := f.Replace(ctx, list); err != nil {
		t.Fatal(err)
	}
	if b := pop(ctx, t, f); !b.Rewound() || !b.Doubtful() {
		t.Errorf("the batch of both lists: rewound %v, doubtful %v", b.Rewound(), b.Doubtful())
	}
}

func pop(ctx context.Context, t *testing.T, f *deltafifo.DeltaFIFO[string, int]) deltafifo.Batch[string, int] {
	t.Helper()
	b, err := f.Pop(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// oneObject is the object 2 under the key "a".
func oneObject() *deltafifo.Objects[string, int] {
	all := &deltafifo.Objects[string, int]{}
	all.Set("a", 2, "")
	return all
}
