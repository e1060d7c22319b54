package deltafifo

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// check fails the test if an invariant of the queue does not hold.
func (f *DeltaFIFO[K, T]) check(t testing.TB) {
	t.Helper()
	if err := f.verify(); err != nil {
		t.Fatal(err)
	}
}

// verify checks every invariant of the queue. It costs as much as the buffers are large.
func (f *DeltaFIFO[K, T]) verify() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pending == f.inFlight || f.pending == f.spare || f.inFlight != nil && f.inFlight == f.spare {
		return fmt.Errorf("one buffer in two roles")
	}
	if err := f.pending.verify(); err != nil {
		return fmt.Errorf("pending: %w", err)
	}
	if b := f.inFlight; b != nil {
		if isEmpty(&b.header) {
			return fmt.Errorf("in flight: nothing")
		}
		if err := b.verify(); err != nil {
			return fmt.Errorf("in flight: %w", err)
		}
	}
	if b := f.inFlight; b == nil && f.retrying != 0 || b != nil && f.retrying != b.returned {
		return fmt.Errorf("%d deltas in flight were given back before", f.retrying)
	}
	if b := f.spare; b != nil {
		if !isEmpty(&b.header) || b.rv != "" || b.endsInitial || b.rewound || b.doubtful || len(b.entries) > 0 || b.list != nil || len(b.given) > 0 {
			return fmt.Errorf("spare: not empty")
		}
		if err := b.verify(); err != nil {
			return fmt.Errorf("spare: %w", err)
		}
	}
	return nil
}

func (b *buffer[K, T]) verify() error {
	if len(b.at) != b.settled || b.settled > len(b.entries) {
		return fmt.Errorf("%d places for %d of %d entries", len(b.at), b.settled, len(b.entries))
	}
	if b.rv != "" && !b.moved {
		return fmt.Errorf("at %q but never moved", b.rv)
	}
	if err := b.list.verify(); err != nil {
		return fmt.Errorf("list: %w", err)
	}
	total := b.list.Len()
	for i := range b.entries {
		e := &b.entries[i]
		if _, ok := numberIn(b.list, e.key); ok {
			return fmt.Errorf("entry %d is of a listed key", i)
		}
		if at, ok := b.at[e.key]; i < b.settled && (!ok || at != i) {
			return fmt.Errorf("entry %d is placed at %d, %t", i, at, ok)
		}
		if i >= max(b.settled, 1) && (len(e.deltas) != 1 || e.list != 0) {
			return fmt.Errorf("entry %d is not settled and has %d deltas, list %d", i, len(e.deltas), e.list)
		}
		if err := e.verify(); err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
		total += len(e.deltas)
	}
	if b.returned < 0 || b.returned > b.deltas {
		return fmt.Errorf("%d of %d deltas were given back", b.returned, b.deltas)
	}
	if total != b.deltas {
		return fmt.Errorf("%d deltas, noted as %d", total, b.deltas)
	}
	return b.verifyUnused()
}

func (l *Objects[K, T]) verify() error {
	if l == nil || l.n == 0 {
		return nil
	}
	if l.found != l.n {
		return fmt.Errorf("%d of %d items are settled", l.found, l.n)
	}
	n := 0
	for i, chunk := range l.chunks {
		if len(chunk) == 0 || len(chunk) != chunkLen && i < len(l.chunks)-1 {
			return fmt.Errorf("%d items in chunk %d", len(chunk), i)
		}
		for i := range chunk {
			if at, ok := numberIn(l, chunk[i].Key); !ok || at != n {
				return fmt.Errorf("item %d is placed at %d, %t", n, at, ok)
			}
			n++
		}
		for i := len(chunk); i < cap(chunk); i++ {
			if !zero(&chunk[:cap(chunk)][i]) {
				return fmt.Errorf("unused item %d is not empty", i)
			}
		}
	}
	if n != l.n || l.at.Len() != n {
		return fmt.Errorf("%d items, noted as %d and %d", n, l.n, l.at.Len())
	}
	return nil
}

func (e *entry[K, T]) verify() error {
	if len(e.deltas) == 0 {
		return fmt.Errorf("no deltas")
	}
	for i, d := range e.deltas {
		switch {
		case d.Type < Added || d.Type > Sync:
			return fmt.Errorf("delta %d: %v", i, d.Type)
		case d.Initial && d.Type != Replaced:
			return fmt.Errorf("delta %d: %v is initial", i, d.Type)
		case d.FinalStateUnknown && d.Type != Deleted:
			return fmt.Errorf("delta %d: %v with unknown final state", i, d.Type)
		case i > 0 && d.Type == Sync:
			return fmt.Errorf("delta %d: a Sync after others", i)
		case i > 0 && d.Type == Deleted && e.deltas[i-1].Type == Deleted:
			return fmt.Errorf("delta %d: deleted twice", i)
		}
	}
	return nil
}

// verifyUnused checks that room kept for later holds nothing of earlier.
func (b *buffer[K, T]) verifyUnused() error {
	all := b.entries[:cap(b.entries)]
	for i := range all {
		e := &all[i]
		if i >= len(b.entries) && (!zero(&e.key) || e.list != 0 || len(e.deltas) != 0) {
			return fmt.Errorf("unused entry %d is not empty", i)
		}
		for j := len(e.deltas); j < cap(e.deltas); j++ {
			if !zero(&e.deltas[:cap(e.deltas)][j]) {
				return fmt.Errorf("entry %d: unused delta %d is not empty", i, j)
			}
		}
	}
	room := 0
	for _, e := range all {
		room += cap(e.deltas)
	}
	if room != b.room {
		return fmt.Errorf("room for %d deltas, counted as %d", room, b.room)
	}
	for i := range b.chunk {
		if !zero(&b.chunk[i]) {
			return fmt.Errorf("unused delta %d of the chunk is not empty", i)
		}
	}
	return nil
}

func zero[V any](v *V) bool { return reflect.ValueOf(v).Elem().IsZero() }

// A checker that finds nothing proves nothing: each kind of damage must be found.
func TestVerifyFindsDamage(t *testing.T) {
	type queue = DeltaFIFO[int, int]
	for want, damage := range map[string]func(f *queue){
		"one buffer in two roles": func(f *queue) { f.inFlight = f.pending },
		"in flight: nothing":      func(f *queue) { f.inFlight = newBuffer[int, int]() },
		"in flight: 1 places for 0 of 0 entries": func(f *queue) {
			f.inFlight = &buffer[int, int]{at: map[int]int{1: 0}, header: header{moved: true}}
		},
		"spare: not empty": func(f *queue) {
			f.spare = newBuffer[int, int]()
			push(f.spare, 1, &Delta[int]{Type: Added})
		},
		"entry 0 is of a listed key": func(f *queue) {
			f.pending.list = objectsOf(keyedObject[int, int]{Key: 1})
			f.pending.deltas++
		},
		"list: item 0 is placed at": func(f *queue) {
			f.pending.list = objectsOf(keyedObject[int, int]{Key: 7})
			f.pending.list.chunks[0][0].Key = 8
		},
		"list: unused item 1 is not empty": func(f *queue) {
			f.pending.list = objectsOf(keyedObject[int, int]{Key: 7})
			f.pending.list.chunks[0] = append(f.pending.list.chunks[0], keyedObject[int, int]{Key: 8})[:1]
		},
		"list: 1 items, noted as 2": func(f *queue) {
			f.pending.list = objectsOf(keyedObject[int, int]{Key: 7})
			f.pending.list.n++
			f.pending.list.found++
		},
		"list: 1 of 2 items are settled": func(f *queue) {
			f.pending.list = objectsOf(keyedObject[int, int]{Key: 7})
			appendItem(f.pending.list, keyedObject[int, int]{Key: 8}, "", 0, "")
		},
		"places for":          func(f *queue) { delete(f.pending.at, 1) },
		"is placed at":        func(f *queue) { f.pending.at[1], f.pending.at[2] = 1, 0 },
		"never moved":         func(f *queue) { f.pending.moved = false },
		"noted as":            func(f *queue) { f.pending.deltas++ },
		"room for 4":          func(f *queue) { f.pending.room++ },
		"no deltas":           func(f *queue) { f.pending.entries[0].deltas = nil },
		"DeltaType(9)":        func(f *queue) { latest(&f.pending.entries[0]).Type = 9 },
		"is initial":          func(f *queue) { latest(&f.pending.entries[0]).Initial = true },
		"unknown final state": func(f *queue) { latest(&f.pending.entries[0]).FinalStateUnknown = true },
		"a Sync after": func(f *queue) {
			push(f.pending, 1, &Delta[int]{Type: Sync})
			settle(f.pending)
		},
		"of 3 deltas were":   func(f *queue) { f.pending.returned = 4 },
		"1 deltas in flight": func(f *queue) { f.retrying = 1 },
		"deleted twice": func(f *queue) {
			push(f.pending, 2, &Delta[int]{Type: Deleted})
			settle(f.pending)
		},
		"not settled and has 1 deltas, list 3": func(f *queue) {
			push(f.pending, 3, &Delta[int]{Type: Added})
			f.pending.entries[2].list = 3
		},
		"unused entry 2": func(f *queue) { f.pending.entries[:3][2].list = 1 },
		"of the chunk":   func(f *queue) { f.pending.chunk[3].Object = 1 },
		"entry 0: unused delta 1": func(f *queue) {
			e := &f.pending.entries[0]
			e.deltas = append(make([]Delta[int], 0, 2), *latest(e), Delta[int]{Object: 1})[:1]
		},
	} {
		f := New[int, int](nil, Options{})
		err := errors.Join(f.Add(never, 1, 10, "1"), f.Add(never, 2, 20, "2"), f.Delete(never, 2, 20, "3"))
		if err != nil {
			t.Fatal(err)
		}
		settle(f.pending)
		f.pending.entries = append(make([]entry[int, int], 0, 4), f.pending.entries[:3]...)[:2]
		f.check(t)
		damage(f)
		if err := f.verify(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}
