package store

import (
	"sync"
	"sync/atomic"
	"testing"
)

// TestTouch reads objects of all sizes, and none where T is no pointer.
func TestTouch(t *testing.T) {
	large := [100]byte{0: 1, 64: 2, 65: 4, 99: 8}
	small := [2]byte{1, 2}
	for name, got := range map[string]byte{
		"large":     touch([]*[100]byte{nil, &large, nil}),
		"small":     touch([]*[2]byte{&small}),
		"several":   touch([]*[2]byte{&small, &small, &small}),
		"one byte":  touch([]*byte{&small[0]}) ^ 3,
		"no byte":   touch([]*struct{}{nil, {}}) ^ 3,
		"no object": touch([]*[2]byte{}) ^ 3,
		"value":     touch([][2]byte{small}) ^ 3,
		"interface": touch([]any{nil, &small}) ^ 3,
	} {
		if got != 3 {
			t.Errorf("%s: %d", name, got)
		}
	}
}

// TestTouchIsNoRace reads an object that has an atomic field in the place that is read, while the
// field changes. Only the race detector can fail it.
func TestTouchIsNoRace(t *testing.T) {
	type counted struct {
		calls atomic.Int64
		name  string
	}
	obj := &counted{name: "a"}
	var wg sync.WaitGroup
	wg.Go(func() { obj.calls.Add(1) })
	touch([]*counted{obj})
	wg.Wait()
}
