package slots

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/kinform/kinform/internal/cowvec"
	"github.com/kinform/kinform/internal/keytable"
	"github.com/kinform/kinform/internal/posting"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shadow is an index that only records which object stands in which slot. Objects are
// numbers; what is staged is the number itself.
type shadow struct {
	staged *[]int
	at     map[uint32]int
	bound  int // the slots that exist
	broken error
}

func newShadow() *shadow { return &shadow{staged: new([]int), at: map[uint32]int{}} }

func (x *shadow) Name() string            { return "shadow" }
func (x *shadow) Stage(n, obj int)        { *x.staged = append((*x.staged)[:n], obj) }
func (x *shadow) Unstage(n int)           { *x.staged = (*x.staged)[:n] }
func (x *shadow) Put(slot uint32, n int)  { x.at[slot] = (*x.staged)[n] }
func (x *shadow) Drop(slot uint32)        { delete(x.at, slot) }
func (x *shadow) Truncate(n int)          { x.bound = n }
func (x *shadow) Move(from, to uint32)    { x.at[to] = x.at[from]; delete(x.at, from) }
func (x *shadow) Warm(slot uint32) uint32 { return slot }

func (x *shadow) Prepare(int, uint32, bool) bool { return true }

func (x *shadow) ReadAhead(int) {}

func (x *shadow) Use(*posting.Rows, int) {}

func (x *shadow) Shape() (values, slots, longest int) { return 0, 0, 0 }

func (x *shadow) Clone(*posting.Rows) Index[int] {
	c := newShadow()
	c.staged = x.staged
	for k, v := range x.at {
		c.at[k] = v
	}
	return c
}

func (x *shadow) Check(objs View[int]) error {
	n := 0
	for slot := range uint32(objs.Len()) {
		if !objs.Used(slot) {
			continue
		}
		if n++; x.at[slot] != objs.At(slot) {
			return errors.New("wrong object")
		}
	}
	if n != len(x.at) {
		return errors.New("wrong number")
	}
	return x.broken
}

func hashOf(obj int) uint32 { return uint32(obj) * 0x9e3779b1 }

func newSlots(onError func(error)) *Slots[int] {
	return New[int](keytable.NewMap[int](nil), nil, onError)
}

// mustAdd adds an index to slots without objects.
func mustAdd(s *Slots[int], x Index[int]) {
	if err := AddIndexes(s, []Index[int]{x}, func() error { return nil }); err != nil {
		panic(err)
	}
}

func insert(st *State[int], obj int) {
	keytable.Insert(st.Keys().(*keytable.Map[int]), hashOf(obj), obj, Insert(st, obj, "", 0))
}

// find returns the slot of obj.
func find(st *State[int], obj int) (uint32, bool) {
	return keytable.Find(st.Keys().(*keytable.Map[int]), hashOf(obj), obj)
}

// finder has the methods that Check needs.
func finder(s *Slots[int]) func(int) (uint32, bool, error) {
	return func(obj int) (uint32, bool, error) {
		if obj < 0 {
			return 0, false, errors.New("no key")
		}
		slot, ok := find(s.st, obj)
		return slot, ok, nil
	}
}

// TestModel makes random changes, in place and on clones, and compares with a set.
func TestModel(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	s, x := newSlots(nil), newShadow()
	mustAdd(s, x)
	want := map[int]bool{}
	rounds := 3000
	if testing.Short() {
		rounds = 300
	}
	for round := range rounds {
		target := []int{30, 400, 0, 200}[round/100%4]
		var st *State[int]
		if r.IntN(3) == 0 {
			st = Clone(s)
		} else {
			st = Begin(s)
		}
		for range r.IntN(60) {
			obj := r.IntN(1000) + 1
			if want[obj] {
				if len(want) > target || r.IntN(3) == 0 {
					slot, ok := find(st, obj)
					if !ok {
						t.Fatalf("round %d: %d is lost", round, obj)
					}
					Remove(st, slot)
					delete(want, obj)
				}
				continue
			}
			if len(want) <= target || r.IntN(10) == 0 {
				st.Indexes()[0].Stage(0, obj)
				insert(st, obj)
				st.Indexes()[0].Unstage(0)
				want[obj] = true
			}
		}
		also := false
		End(s, st, func() { also = true })
		if err := Check(s, finder(s)); err != nil || !also {
			t.Fatalf("round %d: %v", round, err)
		}
		st = s.Read()
		if st.Len() != len(want) {
			t.Fatalf("round %d: %d objects, want %d", round, st.Len(), len(want))
		}
		s.Done()
	}
}

// TestTidyKeepsUp removes all but every hundredth object, one per commit, and expects
// the slots to follow.
func TestTidyKeepsUp(t *testing.T) {
	s, x := newSlots(nil), newShadow()
	mustAdd(s, x)
	const n = 20_000
	st := Begin(s)
	for obj := 1; obj <= n; obj++ {
		x.Stage(0, obj)
		insert(st, obj)
		x.Unstage(0)
	}
	End(s, st, func() {})
	view := ViewOf(st)
	for obj := range n {
		if obj++; obj%100 == 0 {
			continue
		}
		st := Begin(s)
		slot := uint32(obj - 1)
		if !Used(st, slot) || st.At(slot) != obj { // it was moved
			slot, _ = find(st, obj)
		}
		Remove(st, slot)
		End(s, st, func() {})
		if st.Slots() > 5*st.Len()+minSlots {
			t.Fatalf("%d objects in %d slots", st.Len(), st.Slots())
		}
	}
	if err := Check(s, finder(s)); err != nil {
		t.Error(err)
	}
	if s.Own().Len() != n/100 || view.Live() != n || x.bound == 0 || x.bound > 5*n/100+minSlots {
		t.Errorf("%d objects, %d in the old view, %d slots", s.Own().Len(), view.Live(), x.bound)
	}
}

// TestCheckFinds breaks what Check is for.
func TestCheckFinds(t *testing.T) {
	for _, c := range []struct {
		want string
		harm func(*Slots[int], *shadow)
	}{
		{"keys", func(s *Slots[int], _ *shadow) { s.st.keys.Remove(3) }},
		{"not found by its key", func(s *Slots[int], _ *shadow) { cowvec.Set(&s.st.objs, 3, 99) }},
		{"not found by its key", func(s *Slots[int], _ *shadow) {
			s.st.keys.Remove(3)
			keytable.Insert(s.st.keys.(*keytable.Map[int]), 5, 77, 3)
		}},
		{"shadow", func(_ *Slots[int], x *shadow) { x.broken = errors.New("broken") }},
		{"shadow", func(_ *Slots[int], x *shadow) { x.Drop(2) }},
		{"no key", func(s *Slots[int], _ *shadow) { cowvec.Set(&s.st.objs, 3, -1) }},
	} {
		s, x := newSlots(nil), newShadow()
		mustAdd(s, x)
		st := Begin(s)
		for obj := range 10 {
			x.Stage(0, obj)
			insert(st, obj)
			x.Unstage(0)
		}
		End(s, st, func() {})
		check := func() error {
			return Check(s, finder(s))
		}
		if err := check(); err != nil {
			t.Fatal(err)
		}
		c.harm(s, x)
		if err := check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

func TestReportOncePerTopic(t *testing.T) {
	Report(newSlots(nil), "a", errors.New("nobody hears it"))
	var got []string
	s := newSlots(func(err error) { got = append(got, err.Error()) })
	for _, topic := range []string{"a", "b", "a", "a", "b"} {
		Report(s, topic, errors.New(topic))
	}
	if strings.Join(got, "") != "ab" {
		t.Errorf("reported %v", got)
	}
}

func TestLookup(t *testing.T) {
	s := newSlots(nil)
	mustAdd(s, newShadow())
	st := s.Read()
	defer s.Done()
	if Lookup(st, "shadow") == nil || Lookup(st, "other") != nil {
		t.Error("lookup by name")
	}
}

// More topics than maxTopics cost no memory, and are not reported. Those before them stay known.
func TestReportIsBounded(t *testing.T) {
	n := 0
	s := newSlots(func(error) { n++ })
	for topic := range 2 * maxTopics {
		Report(s, strconv.Itoa(topic), errors.New("broken"))
		Report(Freeze(s, func() {}), strconv.Itoa(topic), errors.New("again"))
		if want := min(topic+1, maxTopics); n != want || len(s.reports.known) != want {
			t.Fatalf("topic %d: %d reports, %d topics kept; want %d", topic, n, len(s.reports.known), want)
		}
	}
}
