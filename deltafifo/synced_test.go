package deltafifo

import "testing"

func wantSynced(t *testing.T, f *DeltaFIFO[int, int], want bool) {
	t.Helper()
	select {
	case <-f.Synced():
		if !want {
			t.Error("synced too early")
		}
	default:
		if want {
			t.Error("not synced")
		}
	}
}

// Synced is the end of processing, not the beginning.
func TestSynced(t *testing.T) {
	store := newShelf[int]()
	store.m[3] = 30 // the deletion of it belongs to the list
	f := New(store, Options{})
	must(t, f.Add(never, 1, 10, "")) // does not make a list
	_, _ = next(t, f)
	_, _ = f.Pop(never)
	wantSynced(t, f, false)
	must(t, f.Replace(never, Replacement[int, int]{Objects: objectsOf(keyedObject[int, int]{1, 11}, keyedObject[int, int]{2, 20})}))
	wantSynced(t, f, false)
	if b, got := next(t, f); !b.EndsInitialList() || len(got) != 3 {
		t.Errorf("got %v", got)
	}
	wantSynced(t, f, false)
	_, _ = f.Pop(never)
	wantSynced(t, f, true)
	must(t, f.Replace(never, Replacement[int, int]{}))
	if b, _ := next(t, f); b.EndsInitialList() {
		t.Error("a second list ends the initial one")
	}
	_, _ = f.Pop(never)
	wantSynced(t, f, true)
}

func TestSyncedWithEmptyList(t *testing.T) {
	f := New[int, int](nil, Options{})
	must(t, f.Replace(never, Replacement[int, int]{}))
	wantSynced(t, f, false)
	must(t, f.Process(t.Context(), func(int, []Delta[int]) error { return errFails }))
	wantSynced(t, f, true)
}

// One object that cannot be processed does not hold up the start of a program.
func TestSyncedDespiteFailures(t *testing.T) {
	f := New[int, int](nil, Options{})
	must(t, f.Replace(never, Replacement[int, int]{Objects: objectsOf(keyedObject[int, int]{1, 10}, keyedObject[int, int]{2, 20})}))
	if err := f.Process(t.Context(), func(int, []Delta[int]) error { return errFails }); err == nil {
		t.Error("no error")
	}
	wantSynced(t, f, true)
	b, got := next(t, f)
	if len(got) != 2 || !got[1][0].Initial || b.EndsInitialList() {
		t.Errorf("got %v, end of the initial list: %t", got, b.EndsInitialList())
	}
}

// After Close the initial list is still processed.
func TestSyncedAfterClose(t *testing.T) {
	f := New[int, int](nil, Options{})
	must(t, f.Replace(never, Replacement[int, int]{}))
	f.Close()
	_, _ = next(t, f)
	wantSynced(t, f, false)
	_, _ = f.Pop(never)
	wantSynced(t, f, true)
}
