package store

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/index"
)

func TestNewRefusesMisuse(t *testing.T) {
	if _, err := New[id, *item](nil, Options[*item]{}); !errors.Is(err, ErrNoKeyFunc) {
		t.Errorf("nil key function: %v", err)
	}
	fn := func(dst []string, it *item) []string { return append(dst, it.node) }
	for name, c := range map[string]struct {
		defs []index.Definition[*item]
		want error
	}{
		"nil":         {[]index.Definition[*item]{nil}, index.ErrInvalid},
		"typed nil":   {[]index.Definition[*item]{(*index.Index[*item, string])(nil)}, index.ErrInvalid},
		"no name":     {[]index.Definition[*item]{index.New("", fn)}, index.ErrInvalid},
		"no function": {[]index.Definition[*item]{index.New[*item, string]("x", nil)}, index.ErrInvalid},
		"same name":   {[]index.Definition[*item]{index.New("x", fn), index.New("x", fn)}, index.ErrDuplicate},
	} {
		if _, err := New(itemKey, Options[*item]{Indexes: c.defs}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// TestBadObjects checks that writes of objects that cannot be stored say why and leave
// the store as it was.
func TestBadObjects(t *testing.T) {
	f := newFixture()
	good := newItem(1)
	for name, c := range map[string]struct {
		bad  *item
		want error
	}{
		"key function fails":    {nil, errNoID},
		"zero key":              {&item{}, ErrZeroKey},
		"key function panics":   {&item{id: good.id, boom: "key"}, &PanicError{Where: "key function"}},
		"index function panics": {&item{id: good.id, boom: "node"}, &PanicError{Where: "index function", Name: "node"}},
		"second index panics":   {&item{id: id{"new", 1}, node: "n", tags: []string{"a"}, boom: "tags"}, &PanicError{Where: "index function", Name: "tags"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, ^uint32(0), Options[*item]{Indexes: f.defs()})
			mustSet(t, s, good)
			same := func() {
				t.Helper()
				if got, _ := s.Get(good.id); got != good || s.Len() != 1 || s.ResourceVersion() != "" {
					t.Fatalf("the store changed: %v", s.List())
				}
				if err := s.Check(); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Set(c.bad); !looksLike(err, c.want) {
				t.Errorf("Set: %v", err)
			}
			same()
			if err := s.Replace([]*item{newItem(3), c.bad, newItem(4)}, "9"); !looksLike(err, c.want) {
				t.Errorf("Replace: %v", err)
			}
			same()
			large := []*item{}
			for n := range 3000 {
				large = append(large, newItem(n+10))
			}
			if err := s.Replace(append(large, c.bad), "9"); !looksLike(err, c.want) {
				t.Errorf("large Replace: %v", err)
			}
			same()
		})
	}
}

// looksLike is sameError without the key, which a bad object may not have.
func looksLike(got, want error) bool {
	var wantPanic, gotPanic *PanicError
	if errors.As(want, &wantPanic) {
		return errors.As(got, &gotPanic) && gotPanic.Where == wantPanic.Where && gotPanic.Name == wantPanic.Name && len(gotPanic.Stack) > 0
	}
	return errors.Is(got, want)
}

// TestCommitLeavesOutBadOps checks, for a small and a large commit, that the good
// operations around a bad one are done.
func TestCommitLeavesOutBadOps(t *testing.T) {
	for _, n := range []int{5, 3000} {
		f := newFixture()
		s := newStore(t, ^uint32(0), Options[*item]{Indexes: f.defs()})
		ops := make([]Op[id, *item], n)
		for i := range ops {
			it := newItem(i + 1)
			ops[i] = Op[id, *item]{Key: it.id, Object: it}
		}
		ops[1].Object.boom = "tags"
		ops[2].Object.boom = "key"
		ops[3].Key = id{"no such", 1}
		if err := s.Commit("7", ops); err != nil {
			t.Fatal(err)
		}
		var ip *PanicError
		if !errors.As(ops[1].Err, &ip) || ip.Name != "tags" || ip.Key != "{s2 2}" {
			t.Errorf("index panic: %v", ops[1].Err)
		}
		if ip.Unwrap() == nil || ip.Unwrap().Error() != "tags boom" {
			t.Errorf("the panic's own error is lost: %v", ip.Unwrap())
		}
		var kp *PanicError
		if !errors.As(ops[2].Err, &kp) || kp.Where != "key function" {
			t.Errorf("key panic: %v", ops[2].Err)
		}
		if !errors.Is(ops[3].Err, ErrKeyMismatch) {
			t.Errorf("mismatch: %v", ops[3].Err)
		}
		if s.Len() != n-3 || s.ResourceVersion() != "7" {
			t.Errorf("%d objects at %q", s.Len(), s.ResourceVersion())
		}
		if len(f.tags.Get(s, "x")) != 0 || ops[0].Err != nil || ops[4].Err != nil {
			t.Error("a good operation was harmed")
		}
	}
}

func TestUnchangedPanics(t *testing.T) {
	s := newStore(t, ^uint32(0), Options[*item]{Unchanged: func(_, _ *item) bool { panic("no") }})
	it := newItem(1)
	mustSet(t, s, it)
	for _, err := range []error{s.Set(newItem(1)), s.Replace([]*item{newItem(1)}, "")} {
		var p *PanicError
		if !errors.As(err, &p) || p.Where != "Options.Unchanged" || p.Value != "no" {
			t.Errorf("got %v", err)
		}
	}
	if got, _ := s.Get(it.id); got != it {
		t.Error("the stored object changed")
	}
}

func TestUnknownIndex(t *testing.T) {
	f := newFixture()
	var told []error
	s := newStore(t, ^uint32(0), Options[*item]{
		Indexes: []index.Definition[*item]{f.mod},
		OnError: func(err error) { told = append(told, err) },
	})
	mustSet(t, s, newItem(1))
	if _, err := s.ByIndex("node", "x"); !errors.Is(err, index.ErrUnknownIndex) {
		t.Errorf("ByIndex: %v", err)
	}
	if _, err := s.IndexKeys("node", "x"); !errors.Is(err, index.ErrUnknownIndex) {
		t.Errorf("IndexKeys: %v", err)
	}
	if _, err := s.IndexValues("node"); !errors.Is(err, index.ErrUnknownIndex) {
		t.Errorf("IndexValues: %v", err)
	}
	if _, err := s.Index("node", newItem(1)); !errors.Is(err, index.ErrUnknownIndex) {
		t.Errorf("Index: %v", err)
	}
	if _, err := s.ByIndex("mod", "1"); !errors.Is(err, index.ErrInvalid) {
		t.Errorf("ByIndex on numbers: %v", err)
	}
	if _, err := s.IndexValues("mod"); !errors.Is(err, index.ErrInvalid) {
		t.Errorf("IndexValues on numbers: %v", err)
	}
	if len(told) != 0 {
		t.Errorf("calls with an error result told the handler too: %v", told)
	}
	for range 3 {
		if len(f.node.Get(s, "node-1")) != 0 || f.node.Count(s, "node-1") != 0 {
			t.Error("found something in an index that is not there")
		}
	}
	if len(told) != 1 || !errors.Is(told[0], index.ErrUnknownIndex) {
		t.Errorf("the handler was told %v", told)
	}
}

func TestAddIndexes(t *testing.T) {
	f := newFixture()
	s := newStore(t, ^uint32(0), Options[*item]{Indexes: []index.Definition[*item]{f.node}})
	bad := newItem(2)
	bad.boom = "tags"
	mustSet(t, s, newItem(1), bad)
	var p *PanicError
	if err := s.AddIndexes(f.mod, f.tags); !errors.As(err, &p) || p.Name != "tags" || p.Key == "" {
		t.Errorf("an index function that panics: %v", err)
	}
	if err := f.mod.Check(s); !errors.Is(err, index.ErrUnknownIndex) {
		t.Errorf("one of two indexes was added: %v", err)
	}
	again := index.New("node", func(dst []int, _ *item) []int { return dst })
	if err := s.AddIndexes(f.mod, again); !errors.Is(err, index.ErrDuplicate) {
		t.Errorf("a name in use: %v", err)
	}
	if err := s.AddIndexes(f.mod); err != nil || f.mod.Check(s) != nil {
		t.Fatal(err)
	}
	if got := f.mod.Count(s, 1); got != 2 {
		t.Errorf("the new index has %d objects", got)
	}
	defs := s.Indexer().Definitions()
	if len(defs) != 2 || defs["mod"] != index.Definition[*item](f.mod) {
		t.Errorf("definitions: %v", defs)
	}
	delete(defs, "mod")
	if len(s.Indexer().Definitions()) != 2 {
		t.Error("the map handed out is the live one")
	}
}

func TestWritesAfterClose(t *testing.T) {
	s := newStore(t, ^uint32(0), Options[*item]{})
	it := newItem(1)
	mustSet(t, s, it)
	s.Close()
	s.Close()
	_, _, delErr := s.Delete(it.id)
	for name, err := range map[string]error{
		"Set": s.Set(newItem(2)), "Delete": delErr, "Replace": s.Replace(nil, "3"),
		"Commit": s.Commit("3", nil), "AddIndexes": s.AddIndexes(newFixture().node),
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
	if got, ok := s.Get(it.id); !ok || got != it || s.Len() != 1 || s.ResourceVersion() != "" {
		t.Error("reads do not go on after Close")
	}
}

type object struct{ metav1.ObjectMeta }

func TestObjectKey(t *testing.T) {
	var none metav1.Object
	if _, err := ObjectKey(none); !errors.Is(err, ErrNoObject) {
		t.Errorf("nil interface: %v", err)
	}
	if _, err := ObjectKey[*object](nil); !errors.Is(err, ErrNoObject) {
		t.Errorf("nil pointer: %v", err)
	}
	if _, err := ObjectKey(metav1.Object((*object)(nil))); !errors.Is(err, ErrNoObject) {
		t.Errorf("nil pointer in an interface: %v", err)
	}
	if _, err := ObjectKey(&object{}); !errors.Is(err, ErrNoName) {
		t.Errorf("no name: %v", err)
	}
	o := &object{metav1.ObjectMeta{Namespace: "a", Name: "b"}}
	if k, err := ObjectKey(o); err != nil || k != (types.NamespacedName{Namespace: "a", Name: "b"}) {
		t.Errorf("got %v %v", k, err)
	}
}

// TestResourceVersion checks that it only moves forward.
func TestResourceVersion(t *testing.T) {
	s := newStore(t, ^uint32(0), Options[*item]{})
	for _, c := range []struct{ commit, want string }{
		{"", ""}, {"9", "9"}, {"10", "10"}, {"9", "10"}, {"", "10"}, {"10", "10"},
		{"opaque", "opaque"}, {"11", "11"}, {"99999999999999999999999", "99999999999999999999999"}, {"12", "99999999999999999999999"},
	} {
		if err := s.Commit(c.commit, nil); err != nil {
			t.Fatal(err)
		}
		if got := s.ResourceVersion(); got != c.want {
			t.Errorf("after %q: %q, want %q", c.commit, got, c.want)
		}
		snap := s.Snapshot()
		if got := snap.ResourceVersion(); got != c.want {
			t.Errorf("snapshot after %q: %q", c.commit, got)
		}
	}
}
