package store

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform/index"
)

// parcel is an object that is packed as JSON.
type parcel struct {
	Name   string
	Labels map[string]string
}

// sealed is an object whose own encoding has faults.
type sealed struct {
	name  string
	fault string
}

func (s *sealed) MarshalBinary() ([]byte, error) {
	switch s.fault {
	case "refuses":
		return nil, errors.New("not today")
	case "panics":
		panic("encoder broke")
	}
	return []byte(s.fault + "/" + s.name), nil
}

func (s *sealed) UnmarshalBinary(data []byte) error {
	if strings.HasPrefix(string(data), "lies") {
		return errors.New("no such bytes")
	}
	_, s.name, _ = strings.Cut(string(data), "/")
	return nil
}

// An object that cannot be packed is kept as it is, and the commit says so.
func TestObjectsThatCannotBePacked(t *testing.T) {
	byName := index.New("name", func(dst []string, s *sealed) []string { return append(dst, s.name) })
	s, err := New(func(s *sealed) (string, error) { return s.name, nil }, Options[*sealed]{Packed: true, Indexes: index.Of(byName)})
	if err != nil {
		t.Fatal(err)
	}
	for fault, want := range map[string]string{"": "", "refuses": "not today", "panics": "encoder broke", "lies": "no such bytes"} {
		obj := &sealed{"name " + fault, fault}
		ops := []Op[string, *sealed]{{Key: obj.name, Object: obj, Kept: errors.New("stale")}}
		if err := s.Commit("", ops); err != nil || ops[0].Err != nil {
			t.Fatal(err, ops[0].Err)
		}
		if kept := ops[0].Kept; (kept == nil) != (want == "") || kept != nil && !strings.Contains(kept.Error(), want) {
			t.Errorf("%s: kept because of %v, want %q", fault, kept, want)
		}
		got, ok := s.Get(obj.name)
		if !ok || got.name != obj.name || (got == obj) != (want != "") {
			t.Errorf("%s is %v (%p, stored %p)", obj.name, got, got, obj)
		}
		if found := byName.Get(s, obj.name); len(found) != 1 || found[0].name != obj.name {
			t.Errorf("by index, %s is %v", obj.name, found)
		}
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}

// jammed is an object that can neither be packed nor copied: its DeepCopyObject is that of a nil pointer.
type jammed struct {
	*metav1.Status
	name string
	bad  bool
}

func (j *jammed) MarshalBinary() ([]byte, error) {
	if j.bad {
		return nil, errors.New("not today")
	}
	return []byte(j.name), nil
}

func (j *jammed) UnmarshalBinary(data []byte) error { j.name = string(data); return nil }

func (j *jammed) DeepCopyObject() runtime.Object { panic("not today, either") }

// An object that can neither be packed nor copied harms no other one, and can be replaced.
func TestObjectsThatCannotBeCopied(t *testing.T) {
	s, err := New(func(j *jammed) (string, error) { return j.name, nil }, Options[*jammed]{
		Packed: true, Unchanged: func(a, b *jammed) bool { return false },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Set(&jammed{name: "bad", bad: true}); err != nil {
		t.Fatal(err)
	}
	if got, ok := s.Get("bad"); !ok || !got.bad {
		t.Errorf("got %v", got)
	}
	var ops []Op[string, *jammed]
	for _, name := range []string{"x", "y", "bad", "z"} {
		ops = append(ops, Op[string, *jammed]{Key: name, Object: &jammed{name: name}})
	}
	if err := s.Commit("", ops); err != nil {
		t.Fatal(err)
	}
	for _, op := range ops {
		if got, ok := s.Get(op.Key); op.Err != nil || !ok || got.bad {
			t.Errorf("%s: %v, %v", op.Key, got, op.Err)
		}
	}
}

// Operations that are used again store what they have then.
func TestPackedOperationsAgain(t *testing.T) {
	s, err := New(func(p *parcel) (string, error) { return p.Name, nil }, Options[*parcel]{Packed: true})
	if err != nil {
		t.Fatal(err)
	}
	ops := make([]Op[string, *parcel], 1)
	for _, app := range []string{"one", "two"} {
		ops[0].Key, ops[0].Object = "a", &parcel{Name: "a", Labels: map[string]string{"app": app}}
		if err := s.Commit("", ops); err != nil {
			t.Fatal(err)
		}
		if got, _ := s.Get("a"); got.Labels["app"] != app {
			t.Errorf("got %v, want %s", got, app)
		}
	}
	ops[0] = Op[string, *parcel]{Key: "a", Delete: true, Keep: true}
	if err := s.Commit("", ops); err != nil || ops[0].Old == nil || ops[0].Old.Labels["app"] != "two" {
		t.Errorf("deleted %v, %v", ops[0].Old, err)
	}
}

// Whatever a reader does to an object, the cache and other readers have the old one.
func TestUnpackedObjectsBelongToReaders(t *testing.T) {
	byApp := index.New("app", func(dst []string, p *parcel) []string { return append(dst, p.Labels["app"]) })
	s, err := New(func(p *parcel) (string, error) { return p.Name, nil }, Options[*parcel]{Packed: true, Indexes: index.Of(byApp)})
	if err != nil {
		t.Fatal(err)
	}
	stored := &parcel{Name: "a", Labels: map[string]string{"app": "web"}}
	if err := s.Set(stored); err != nil {
		t.Fatal(err)
	}
	spoil := func(p *parcel) {
		if !maps.Equal(p.Labels, map[string]string{"app": "web"}) {
			t.Errorf("%v was changed", p.Labels)
		}
		p.Labels["app"] = "spoilt"
	}
	spoil(stored)
	for range 2 {
		for name, read := range map[string]func() *parcel{
			"Get":  func() *parcel { p, _ := s.Get("a"); return p },
			"List": func() *parcel { return s.List()[0] },
			"All": func() (found *parcel) {
				for _, p := range s.All() {
					found = p
				}
				return found
			},
			"Values": func() (found *parcel) {
				for p := range s.Values() {
					found = p
				}
				return found
			},
			"Index":      func() *parcel { return byApp.Get(s, "web")[0] },
			"frozen":     func() *parcel { p, _ := s.Freeze().Get("a"); return p },
			"snapshot":   func() *parcel { snap := s.Snapshot(); return snap.List()[0] },
			"old of one": func() *parcel { return old(t, s) },
		} {
			if p := read(); p == nil {
				t.Errorf("%s finds nothing", name)
			} else {
				spoil(p)
			}
		}
	}
}

// old returns what a commit that changes nothing says was there before.
func old(t *testing.T, s *Store[string, *parcel]) *parcel {
	t.Helper()
	ops := []Op[string, *parcel]{{Key: "a", Object: &parcel{Name: "a", Labels: map[string]string{"app": "web"}}}}
	if err := s.Commit("", ops); err != nil {
		t.Fatal(err)
	}
	return ops[0].Old
}

func TestTypesThatCannotBePacked(t *testing.T) {
	_, err := New(func(func()) (string, error) { return "a", nil }, Options[func()]{Packed: true})
	if !errors.Is(err, ErrInvalid) {
		t.Errorf("functions: %v", err)
	}
}

// Writes and reads of many sizes end where they began: nothing stays behind.
func TestPackedChurn(t *testing.T) {
	s, err := New(func(p *parcel) (string, error) { return p.Name, nil }, Options[*parcel]{Packed: true})
	if err != nil {
		t.Fatal(err)
	}
	for round := range 50 {
		for n := range 200 {
			p := &parcel{Name: fmt.Sprint(n), Labels: map[string]string{"text": strings.Repeat("x", round*n%500)}}
			if err := s.Set(p); err != nil {
				t.Fatal(err)
			}
		}
		for n := range 200 {
			if n%2 == round%2 {
				if _, had, err := s.Delete(fmt.Sprint(n)); !had || err != nil {
					t.Fatal(had, err)
				}
			}
		}
		if err := s.Check(); err != nil || s.Len() != 100 {
			t.Fatalf("round %d: %d objects, %v", round, s.Len(), err)
		}
	}
}
