package deltafifo

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"weak"
)

// blob is an object whose end can be seen: too large to share an allocation.
type blob struct{ _ [64]byte }

// tracker makes objects and watches their end.
type tracker struct{ made []weak.Pointer[blob] }

func (tr *tracker) object() *blob {
	b := new(blob)
	tr.made = append(tr.made, weak.Make(b))
	return b
}

// alive returns how many of the objects still are.
func (tr *tracker) alive() int {
	runtime.GC()
	n := 0
	for _, w := range tr.made {
		if w.Value() != nil {
			n++
		}
	}
	return n
}

// done says that the batch in flight has been processed, when nothing is pending.
func done(t *testing.T, f *DeltaFIFO[int, *blob]) {
	t.Helper()
	if _, err := f.Pop(never); !errors.Is(err, context.Canceled) {
		t.Fatalf("got error %v with nothing pending", err)
	}
	f.check(t)
}

func pop(t *testing.T, f *DeltaFIFO[int, *blob], deltas int) {
	t.Helper()
	b, err := f.Pop(never)
	if err != nil || b.Len() != deltas {
		t.Fatalf("got %d deltas, error %v; want %d", b.Len(), err, deltas)
	}
}

func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// Once a batch is done, the queue keeps no object of it, however it came in.
func TestDoneBatchPinsNothing(t *testing.T) {
	const keys = 300 // more than share an allocation
	fills := map[string]func(f *DeltaFIFO[int, *blob], tr *tracker) (deltas int){
		"one delta": func(f *DeltaFIFO[int, *blob], tr *tracker) int {
			must(t, f.Add(never, 1, tr.object(), ""))
			return 1
		},
		"one delta per key": func(f *DeltaFIFO[int, *blob], tr *tracker) int {
			for key := range keys {
				must(t, f.Add(never, key, tr.object(), ""))
			}
			return keys
		},
		"many deltas per key": func(f *DeltaFIFO[int, *blob], tr *tracker) int {
			for i := range 20 * keys {
				must(t, f.Update(never, i%keys, tr.object(), ""))
			}
			return 20 * keys
		},
		"one hot key": func(f *DeltaFIFO[int, *blob], tr *tracker) int {
			for range 10 * keys {
				must(t, f.Update(never, 1, tr.object(), ""))
			}
			return 10 * keys
		},
		"a list": func(f *DeltaFIFO[int, *blob], tr *tracker) int {
			list := Replacement[int, *blob]{Objects: &Objects[int, *blob]{}}
			for i := range 2 * keys {
				list.Objects.Set(i%keys, tr.object(), "")
			}
			must(t, f.Replace(never, list), f.Replace(never, Replacement[int, *blob]{}))
			return 2 * keys
		},
		"a list of many": func(f *DeltaFIFO[int, *blob], tr *tracker) int {
			list := Replacement[int, *blob]{Objects: &Objects[int, *blob]{}}
			for i := range 10000 {
				list.Objects.Set(i, tr.object(), "")
			}
			must(t, f.Replace(never, list))
			return list.Objects.Len()
		},
	}
	for name, fill := range fills {
		t.Run(name, func(t *testing.T) {
			f := New[int, *blob](nil, Options{Limit: 100000})
			tr := &tracker{}
			for round := range 4 {
				n := fill(f, tr)
				pop(t, f, n)
				if round%2 == 0 { // the next batch begins before this one is done
					must(t, f.Add(never, 1, nil, ""))
					pop(t, f, 1)
				}
				done(t, f)
				if alive := tr.alive(); alive > 0 {
					t.Fatalf("round %d: %d of %d objects are kept", round, alive, len(tr.made))
				}
			}
			runtime.KeepAlive(f)
		})
	}
}

// What is replaced while it is pending goes at once.
func TestReplacedObjectsGo(t *testing.T) {
	f := New[int, *blob](nil, Options{})
	listed, gone := &tracker{}, &tracker{}
	item := func(tr *tracker) keyedObject[int, *blob] { return keyedObject[int, *blob]{Key: 1, Object: tr.object()} }
	must(t, f.Replace(never, Replacement[int, *blob]{Objects: objectsOf(item(gone), item(gone), item(listed))}))
	if alive := gone.alive(); alive != 0 {
		t.Errorf("%d objects are kept that a later item of the list replaced", alive)
	}
	if alive := listed.alive(); alive != 1 {
		t.Errorf("%d of the listed object", alive)
	}
	pop(t, f, 1)
	done(t, f)
	runtime.KeepAlive(f)
}

// What was given back is pinned while it is pending, and no longer.
func TestReturnedObjectsGo(t *testing.T) {
	f := New[int, *blob](nil, Options{})
	tr := &tracker{}
	for key := range 3 {
		must(t, f.Add(never, key, tr.object(), ""), f.Update(never, key, tr.object(), ""))
	}
	pop(t, f, 6)
	must(t, f.Update(never, 1, tr.object(), ""), f.Requeue(1), f.Requeue(2))
	pop(t, f, 5)
	if alive := tr.alive(); alive != 5 {
		t.Errorf("%d of 5 objects are kept", alive)
	}
	done(t, f)
	if alive := tr.alive(); alive != 0 {
		t.Errorf("%d objects are kept", alive)
	}
	runtime.KeepAlive(f)
}
