package store_test

import (
	"errors"
	"reflect"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/store"
)

func versioned(name, version, rack string) *Machine {
	m := machine(name, rack)
	m.ResourceVersion = version
	return m
}

// TestRewind: after Rewind one commit may go back in time; the one after it may not.
func TestRewind(t *testing.T) {
	s, err := store.New(store.ObjectKey, store.Options[*Machine]{
		Unchanged: func(old, new *Machine) bool { return reflect.DeepEqual(old, new) },
	})
	if err != nil {
		t.Fatal(err)
	}
	a := types.NamespacedName{Namespace: "dc1", Name: "a"}
	commit := func(rv string, m *Machine) store.Op[types.NamespacedName, *Machine] {
		t.Helper()
		ops := []store.Op[types.NamespacedName, *Machine]{{Key: a, Object: m}}
		if err := s.Commit(rv, ops); err != nil {
			t.Fatal(err)
		}
		return ops[0]
	}
	commit("20", versioned("a", "11", "old"))
	s.Rewind()
	if op := commit("12", versioned("a", "11", "restored")); op.Unchanged || !op.Had {
		t.Errorf("after Rewind: %+v, want a change", op)
	}
	if got, _ := s.Get(a); got.Rack != "restored" || s.ResourceVersion() != "12" {
		t.Errorf("after Rewind the store has %+v at %s", got, s.ResourceVersion())
	}
	if op := commit("11", versioned("a", "11", "restored")); !op.Unchanged || s.ResourceVersion() != "12" {
		t.Errorf("the commit after: %+v at %s, want no change at 12", op, s.ResourceVersion())
	}
}

// TestRewindAndReplace: a Replace is the one commit that may go back, if it succeeds.
func TestRewindAndReplace(t *testing.T) {
	s, err := store.New(store.ObjectKey, store.Options[*Machine]{})
	if err != nil {
		t.Fatal(err)
	}
	replace := func(rv, name string) error { return s.Replace([]*Machine{versioned(name, rv, "")}, rv) }
	if err := replace("20", "a"); err != nil {
		t.Fatal(err)
	}
	s.Rewind()
	if err := replace("11", ""); err == nil || s.ResourceVersion() != "20" {
		t.Fatalf("a Replace with a bad object: %v, at %s", err, s.ResourceVersion())
	}
	for _, rv := range []string{"12", "11"} {
		if err := replace(rv, "a"); err != nil || s.ResourceVersion() != "12" {
			t.Errorf("Replace at %s: %v, the store is at %s, want 12", rv, err, s.ResourceVersion())
		}
	}
}

// TestRewindEndsWaits: a wait for a version that is lost ends with an error. A wait for one
// that the store has reached goes on.
func TestRewindEndsWaits(t *testing.T) {
	for _, large := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s, err := store.New(store.ObjectKey, store.Options[*Machine]{})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Commit("20", nil); err != nil {
				t.Fatal(err)
			}
			lost, comes := make(chan error, 1), make(chan error, 1)
			go func() { lost <- s.WaitForRV(t.Context(), "25") }()
			go func() { comes <- s.WaitForRV(t.Context(), "22") }()
			synctest.Wait()
			s.Rewind()
			if large {
				err = s.CommitChunks("22", 0, func(func([]store.Op[types.NamespacedName, *Machine]) bool) {})
			} else {
				err = s.Commit("22", nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if err := <-comes; err != nil {
				t.Errorf("large %v: the wait for the version of the commit: %v", large, err)
			}
			if err := <-lost; !errors.Is(err, store.ErrRewound) {
				t.Errorf("large %v: the wait for a version of the lost future: %v", large, err)
			}
			// A wait that begins later is for a version that may come.
			go func() { lost <- s.WaitForRV(t.Context(), "25") }()
			synctest.Wait()
			if err := s.Commit("25", nil); err != nil {
				t.Fatal(err)
			}
			if err := <-lost; err != nil {
				t.Errorf("large %v: a wait that began later: %v", large, err)
			}
		})
	}
}
