package deltafifo

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/reflector"
)

// A merger feeds a Merge, and keeps what the queue gives. Objects are texts such as "a5": the key,
// and the version.
type merger struct {
	t     *testing.T
	fifo  *DeltaFIFO[string, string]
	merge *Merge[string, string]
	store texts
}

// texts is the store of a merger.
type texts map[string]string

func (s texts) Get(key string) (string, bool)  { obj, ok := s[key]; return obj, ok }
func (s texts) Len() int                       { return len(s) }
func (s texts) All() iter.Seq2[string, string] { return maps.All(s) }

func newMerger(t *testing.T) *merger {
	m := &merger{t: t, store: texts{}}
	m.fifo = New[string, string](m.store, Options{})
	t.Cleanup(m.fifo.Close)
	m.merge = NewMerge[string, string](func(obj string) (string, error) { return obj[:1], nil }, func(*reflector.ObjectError) {})
	m.merge.Begin(m.fifo)
	return m
}

// next begins the next session.
func (m *merger) next() {
	m.fifo.Close()
	m.fifo = New[string, string](m.store, Options{})
	m.t.Cleanup(m.fifo.Close)
	m.merge.Begin(m.fifo)
}

// list gives to a list at a version.
func (m *merger) list(to *Member[string, string], at string, objects ...string) {
	m.t.Helper()
	for _, obj := range objects {
		must(m.t, to.Listed(m.t.Context(), reflector.Event[string]{Type: reflector.Added, Object: obj, ResourceVersion: obj[1:]}))
	}
	must(m.t, to.Replace(m.t.Context(), at))
}

// event gives to an event. at is empty for the object's version.
func (m *merger) event(to *Member[string, string], typ reflector.EventType, obj, at string) {
	m.t.Helper()
	if at == "" {
		at = obj[1:]
	}
	must(m.t, to.Apply(m.t.Context(), reflector.Event[string]{Type: typ, Object: obj, ResourceVersion: at}))
}

// want takes a batch, and fails the test unless it is this one. No text means that nothing is
// pending.
func (m *merger) want(text string) {
	m.t.Helper()
	if !m.fifo.pending.moved && m.fifo.Len() == 0 {
		if text != "" {
			m.t.Errorf("nothing is pending, want %s", text)
		}
		return
	}
	b, err := m.fifo.Pop(m.t.Context())
	must(m.t, err)
	var got []string
	for key, deltas := range b.All() {
		for _, d := range deltas {
			if m.store[key] = d.Object; d.Type == Deleted {
				delete(m.store, key)
			}
			line := fmt.Sprint(d.Type, " ", d.Object)
			if d.FinalStateUnknown {
				line += "?"
			}
			got = append(got, line)
		}
	}
	slices.Sort(got)
	got = append(got, "at "+b.ResourceVersion())
	if b.Rewound() {
		got = append(got, "rewound")
	} else if b.Doubtful() {
		got = append(got, "doubtful")
	}
	m.merge.Committed(b)
	if s := strings.Join(got, ", "); s != text {
		m.t.Errorf("got %s, want %s", s, text)
	}
}

// two returns a merger with two members, which have listed these objects at version 10.
func two(t *testing.T, first, second []string, want string) (m *merger, a, b *Member[string, string]) {
	t.Helper()
	m = newMerger(t)
	a, b = m.merge.Join(nil), m.merge.Join(nil)
	m.list(a, "10", first...)
	m.want("") // until b has listed too
	m.list(b, "10", second...)
	m.want(want)
	return m, a, b
}

func TestMergeTakesEachStateOnce(t *testing.T) {
	m, a, b := two(t, []string{"x5", "y3"}, []string{"x7"}, "Replaced x7, Replaced y3, at 10")
	m.event(a, reflector.Modified, "x12", "")
	m.want("Updated x12, at ")
	m.event(b, reflector.Modified, "x11", "")
	m.want("at 11")
	m.event(b, reflector.Modified, "x12", "")
	m.want("at 12")
	m.event(b, reflector.Deleted, "x12", "13")
	m.want("") // a still has it
	m.event(a, reflector.Deleted, "x12", "13")
	m.want("Deleted x12, at 13")
}

// A member that is behind sees late that an object left it, when the other one has lost it already.
func TestMergeDeletesNewestState(t *testing.T) {
	m, a, b := two(t, []string{"x5"}, []string{"x5"}, "Replaced x5, at 10")
	m.event(a, reflector.Modified, "x20", "")
	m.want("Updated x20, at ")
	m.event(a, reflector.Deleted, "x20", "21")
	m.want("")
	m.event(b, reflector.Deleted, "x5", "15")
	m.want("Deleted x20?, at 15")
}

func TestMergeRemembersDeletions(t *testing.T) {
	m, a, b := two(t, []string{"x5"}, nil, "Replaced x5, at 10")
	m.event(a, reflector.Deleted, "x5", "20")
	m.want("Deleted x5, at ")
	m.event(b, reflector.Added, "x15", "") // from before the deletion
	m.want("at 15")
	m.event(b, reflector.Deleted, "x15", "20")
	m.want("at 20")
	m.event(b, reflector.Added, "x22", "")
	m.want("Added x22, at ")
}

// TestMergeListOfAnotherSelection: a list that lacks an object says nothing about a state that its
// member never had, so a member that has this state brings it back.
func TestMergeListOfAnotherSelection(t *testing.T) {
	m, a, b := two(t, []string{"x5"}, []string{"x5"}, "Replaced x5, at 10")
	behind := m.merge.Join(nil)
	m.list(behind, "10")
	m.event(b, reflector.Modified, "x12", "") // it leaves a's selection, which a is not told
	m.want("Updated x12, at ")
	must(t, b.Leave(t.Context()))
	m.list(a, "15")
	m.want("Deleted x12?, at ")
	c := m.merge.Join(nil)
	m.list(c, "16", "x12")
	m.want("Replaced x12, at ")
}

// TestMergeListFromAfterAState: an object that a member had is gone for good when its list lacks
// it. Another member that is behind does not bring that state back.
func TestMergeListFromAfterAState(t *testing.T) {
	m, a, b := two(t, []string{"x5"}, nil, "Replaced x5, at 10")
	m.event(a, reflector.Modified, "x12", "")
	m.want("Updated x12, at ")
	m.list(a, "15")
	m.want("Deleted x12?, at ")
	m.event(b, reflector.Added, "x12", "")
	m.want("at 12")
	m.event(b, reflector.Deleted, "x12", "13")
	m.want("at 13")
}

// A change moves an object from one selector to another: the deletion and the new state have one
// version.
func TestMergeMovedObject(t *testing.T) {
	m, a, b := two(t, []string{"x5"}, nil, "Replaced x5, at 10")
	m.event(a, reflector.Deleted, "x5", "20")
	m.event(b, reflector.Added, "x20", "")
	m.want("Added x20, Deleted x5, at 20")
}

func TestMergeWithoutRefusedMember(t *testing.T) {
	m, a, b := two(t, []string{"x5"}, []string{"y5"}, "Replaced x5, Replaced y5, at 10")
	m.event(a, reflector.Bookmark, "", "20")
	m.want("")
	must(t, b.Refuse(t.Context()))
	m.want("at 20")
	if m.merge.Covers("x") {
		t.Error("the version covers the keys of a member that does not count")
	}
	m.event(b, reflector.Modified, "y15", "")
	m.want("Updated y15, at ") // b is behind and does not count yet
	m.event(b, reflector.Bookmark, "", "20")
	must(t, b.Leave(t.Context()))
	m.want("Deleted y15?, at ")
	if !m.merge.Covers("x") {
		t.Error("the version covers nothing after the other member left")
	}
}

// A member that is late does not hold up the first list, unless nobody has listed.
func TestMergeWithoutLateMember(t *testing.T) {
	m := newMerger(t)
	a, b := m.merge.Join(nil), m.merge.Join(nil)
	if a.IsAwaited() || b.IsAwaited() {
		t.Error("a member is awaited though none has listed")
	}
	must(t, a.Late(t.Context()))
	must(t, b.Late(t.Context()))
	m.want("")
	m.list(a, "10", "x5")
	m.want("Replaced x5, at 10")
	if a.IsLate() || !b.IsLate() || m.merge.Waiting() || !m.merge.Listing("x") || m.merge.Covers("x") {
		t.Error("the objects of the late member count as known")
	}
	m.list(b, "20", "y15")
	m.want("Replaced y15, at ")
	if b.IsLate() || m.merge.Listing("x") {
		t.Error("the member is late after its list")
	}
}

// After a restore, states with old versions are new, and neither states nor deletions from before
// hide them.
func TestMergeOfRestoredServer(t *testing.T) {
	m, a, b := two(t, []string{"x5", "y6"}, []string{"y6", "z8"}, "Replaced x5, Replaced y6, Replaced z8, at 10")
	m.event(a, reflector.Modified, "y30", "")
	m.event(a, reflector.Deleted, "x5", "31")
	m.want("Deleted x5, Updated y30, at ")

	again := 0
	a.Begin(func() { t.Error("the member that notices is asked to begin again") })
	b.Begin(func() { again++ })
	a.Rewound(true)
	if again != 1 || a.IsOutdated() || !b.IsOutdated() {
		t.Errorf("the other member is asked %d times to begin again", again)
	}
	m.event(b, reflector.Modified, "z40", "") // of the lost history, as may be its list
	m.list(b, "50", "y6", "z45")
	m.want("")
	m.list(a, "7", "y4")
	m.want("Replaced y4, at 7, rewound")
	m.event(a, reflector.Added, "x8", "") // older than the deletion from before
	m.want("Added x8, at 8")
	m.event(a, reflector.Added, "z9", "")
	m.want("Added z9, at 9, doubtful") // it comes in place of z8

	if v := b.Begin(nil); v != "9" || b.IsOutdated() {
		t.Errorf("the first list must be at %s", v)
	}
	m.list(b, "9", "z9")
	m.want("at , doubtful")
	m.event(b, reflector.Modified, "z12", "")
	m.want("Updated z12, at ")
	m.event(a, reflector.Modified, "z12", "")
	m.want("at 12")
	if want := (texts{"x": "x8", "y": "y4", "z": "z12"}); !maps.Equal(m.store, want) {
		t.Errorf("got %v, want %v", m.store, want)
	}
}

// The mark of a restored server goes with the initial list if that is not complete yet.
func TestMergeOfServerRestoredBefore(t *testing.T) {
	m := newMerger(t)
	a, b := m.merge.Join(nil), m.merge.Join(nil)
	m.list(a, "10", "x5", "z6")
	a.Rewound(true)
	m.list(a, "7", "x4")
	m.want("")
	m.list(b, "8", "y4")
	m.want("")
	b.Begin(nil)
	m.list(b, "8", "y4")
	m.want("Replaced x4, Replaced y4, at 7, rewound")
}

// The list of a new member is on its way until the store has it, also if it brings nothing.
func TestMergeListing(t *testing.T) {
	m, a, _ := two(t, []string{"x5"}, nil, "Replaced x5, at 10")
	listing := func(key string, want bool) {
		t.Helper()
		if got := m.merge.Listing(key); got != want {
			t.Errorf("Listing(%s) is %v", key, got)
		}
	}
	listing("x", false)
	only := func(name string) func(string) bool { return func(key string) bool { return key == name } }
	c, d := m.merge.Join(only("c")), m.merge.Join(only("d"))
	listing("x", false)
	listing("c", true)
	m.list(c, "10")
	m.want("")
	listing("c", false)
	must(t, d.Refuse(t.Context()))
	listing("d", false)
	m.list(d, "11", "d11")
	listing("d", true)
	m.want("Replaced d11, at ")
	listing("d", false)
	m.event(a, reflector.Modified, "x12", "")
	listing("d", false)
}

// TestMergeAppliesNow leaves the event of a member to the consumer.
func TestMergeAppliesNow(t *testing.T) {
	m, a, _ := two(t, []string{"x5"}, nil, "Replaced x5, at 10")
	m.fifo.mu.Lock()
	m.fifo.processed()
	m.fifo.mu.Unlock()
	never := func(Batch[string, string]) error { t.Error("processed beside the consumer"); return nil }
	must(t, a.ApplyNow(t.Context(), idle("x11", "11"), never))
	m.want("Updated x11, at ")
}

// A list that was made before a deletion, and comes after it, does not bring the object back.
func TestMergeListFromBeforeADeletion(t *testing.T) {
	m := newMerger(t)
	a := m.merge.Join(nil)
	m.list(a, "10", "x9", "y8")
	m.want("Replaced x9, Replaced y8, at 10")
	b := m.merge.Join(nil)
	m.event(a, reflector.Deleted, "x11", "")
	m.event(a, reflector.Modified, "y12", "")
	m.want("Deleted x11, Updated y12, at 12")
	m.list(b, "10", "x9", "y8")
	m.want("")
	c := m.merge.Join(nil)
	m.list(c, "10", "x9", "y8")
	must(t, c.Leave(t.Context()))
	m.want("")
	m.event(b, reflector.Deleted, "x11", "")
	m.event(b, reflector.Modified, "y12", "")
	m.want("")
	m.event(a, reflector.Modified, "y13", "")
	m.event(b, reflector.Modified, "y13", "")
	m.want("Updated y13, at 13")
	if n := len(m.merge.held); n != 1 || m.merge.buried != nil {
		t.Errorf("%d keys and %d deletions are remembered", n, len(m.merge.buried))
	}
}

// TestMergeRefusedMemberIsBehind: a member that does not count, because it is refused or its first
// list was older than the queue, brings back no object that another member saw deleted.
func TestMergeRefusedMemberIsBehind(t *testing.T) {
	m, a, b := two(t, []string{"x5"}, nil, "Replaced x5, at 10")
	must(t, b.Refuse(t.Context()))
	m.event(a, reflector.Deleted, "x12", "")
	m.want("Deleted x12, at 12")
	m.event(b, reflector.Added, "x11", "")
	m.want("")
	m.event(b, reflector.Deleted, "x12", "")
	m.want("")
}

// TestMergeLeftMemberWasAhead: when a member leaves, another one that is behind brings the state
// that was last, but no older one.
func TestMergeLeftMemberWasAhead(t *testing.T) {
	m, a, b := two(t, []string{"x5"}, nil, "Replaced x5, at 10")
	m.event(a, reflector.Modified, "x12", "")
	m.want("Updated x12, at ")
	must(t, a.Leave(t.Context()))
	m.want("Deleted x12?, at ")
	m.event(b, reflector.Added, "x11", "")
	m.want("at 11")
	m.event(b, reflector.Modified, "x12", "")
	m.want("Updated x12, at 12")
}

// TestMergeOvertakenListOfRestoredServer: after a restore, the list that one member brings last is
// not newer than what the others have brought since.
func TestMergeOvertakenListOfRestoredServer(t *testing.T) {
	m, a, b := two(t, []string{"x15"}, nil, "Replaced x15, at 10")
	b.Rewound(true)
	a.Begin(nil)
	m.list(b, "6", "x6") // it has left a's selection at 6
	m.want("Replaced x6, at 6, rewound")
	m.list(a, "5", "x4") // begun before
	m.want("at , doubtful")
	m.event(a, reflector.Deleted, "x6", "")
	m.want("")
	if want := (texts{"x": "x6"}); !maps.Equal(m.store, want) {
		t.Errorf("got %v, want %v", m.store, want)
	}
}

// TestMergeNewMemberAfterRestore: a member that joined before others noticed a restore, and listed
// after, is not taken for one that is behind.
func TestMergeNewMemberAfterRestore(t *testing.T) {
	m, a, b := two(t, []string{"x5"}, []string{"x5"}, "Replaced x5, at 10")
	c := m.merge.Join(nil)
	a.Rewound(true)
	m.list(a, "6", "x5")
	m.want("Replaced x5, at 6, rewound")
	b.Begin(nil)
	m.list(b, "6", "x5")
	m.want("at , doubtful")
	c.Begin(nil)
	m.list(c, "7", "x7")
	m.want("Replaced x7, at ")
	m.event(c, reflector.Modified, "x8", "")
	m.want("Updated x8, at ")
}

// TestMergeNewMemberNoticesRestore: the first list of a new member is older than the queue was when
// it was asked for, so the server was restored. What others had, and what they saw deleted, hides
// none of it, even if they never come back.
func TestMergeNewMemberNoticesRestore(t *testing.T) {
	m, a, b := two(t, []string{"x5", "y6"}, []string{"y6"}, "Replaced x5, Replaced y6, at 10")
	m.event(a, reflector.Modified, "y12", "")
	m.event(a, reflector.Deleted, "x13", "")
	m.want("Deleted x13, Updated y12, at ")
	c := m.merge.Join(nil)
	if v := c.Begin(nil); v != "13" {
		t.Error(v)
	}
	m.list(c, "8", "x8", "y7")
	m.want("Replaced x8, Replaced y7, at 8, rewound")
	must(t, a.Leave(t.Context()))
	must(t, b.Leave(t.Context()))
	if want := (texts{"x": "x8", "y": "y7"}); !maps.Equal(m.store, want) {
		t.Errorf("got %v, want %v", m.store, want)
	}
}

// TestMergeLeftMemberHidesNothing: a member brings a state, leaves, and may not have noticed that the
// server was restored before. Its state does not hide other states for good: once another member has
// passed the version without it, the Merge notices the restore.
func TestMergeLeftMemberHidesNothing(t *testing.T) {
	for name, restored := range map[string]bool{"behind": false, "restored": true} {
		t.Run(name, func(t *testing.T) {
			m, a, b := two(t, []string{"x5"}, nil, "Replaced x5, at 10")
			again := false
			b.Begin(func() { again = true })
			m.event(a, reflector.Deleted, "x15", "")
			must(t, a.Leave(t.Context()))
			m.want("Deleted x15, at ")
			m.list(b, "13", "x12")
			if !restored {
				m.event(b, reflector.Deleted, "x15", "")
			}
			for _, at := range []string{"15", "16"} { // there may be more events of version 15
				if again {
					t.Errorf("a restore was noticed before %s", at)
				}
				m.event(b, reflector.Bookmark, "", at)
			}
			if again != restored {
				t.Errorf("a restore was noticed: %v", again)
			}
			if !restored {
				return
			}
			b.Begin(nil)
			m.list(b, "17", "x12")
			m.want("Replaced x12, at 17, rewound")
		})
	}
}

// TestMergeUnreadableObjectIsNoDebt: the list of a member has an object that could not be used, so it
// cannot show that the server has a newer state than the member has brought. That is no restore.
func TestMergeUnreadableObjectIsNoDebt(t *testing.T) {
	m, a, b := two(t, []string{"x5"}, []string{"x5"}, "Replaced x5, at 10")
	again := false
	b.Begin(func() { again = true })
	m.event(a, reflector.Modified, "x12", "")
	b.Skipped(&reflector.ObjectError{Key: "x"})
	m.list(b, "14")
	must(t, a.Leave(t.Context()))
	m.event(b, reflector.Bookmark, "", "15")
	m.want("Updated x12, at 15")
	if again {
		t.Error("a restore was noticed, and there was none")
	}
	m.event(b, reflector.Deleted, "x20", "")
	m.want("Deleted x20, at 20")
}

// TestMergeUnusableEventIsNoDebt: a member cannot use the event of the newest state of an object,
// which another member has brought. So it passes the version of that state without it. That is no
// restore. Once it has brought the object again, it owes newer states as before.
func TestMergeUnusableEventIsNoDebt(t *testing.T) {
	for _, leaves := range []bool{false, true} {
		m, a, b := two(t, []string{"x5"}, []string{"x5"}, "Replaced x5, at 10")
		again := false
		b.Begin(func() { again = true })
		m.list(b, "10", "x5")
		m.event(a, reflector.Modified, "x12", "")
		m.event(a, reflector.Modified, "x14", "")
		if !leaves {
			m.event(b, reflector.Modified, "x12", "")
		}
		b.Unusable(&reflector.ObjectError{Key: "x", ResourceVersion: "14", Type: reflector.Modified})
		if leaves {
			must(t, a.Leave(t.Context()))
		}
		m.event(b, reflector.Bookmark, "", "15")
		if again {
			t.Errorf("leaves %v: a restore was noticed, and there was none", leaves)
		}
		if leaves {
			continue
		}
		m.list(b, "15", "x14")
		m.event(a, reflector.Modified, "x18", "")
		m.event(b, reflector.Modified, "x17", "")
		m.event(b, reflector.Bookmark, "", "19")
		if !again {
			t.Error("a restore was not noticed")
		}
	}
}

// TestManyUnusable: a member keeps the names of some unusable events only. With more of them, each
// object may be one.
func TestManyUnusable(t *testing.T) {
	var set unusable
	add := func(name string) {
		set.add(&reflector.ObjectError{Key: "a/" + name})
		set.bound()
	}
	object := func(name string) *metav1.ObjectMeta { return &metav1.ObjectMeta{Namespace: "a", Name: name} }
	for n := range mostUnusable {
		add(fmt.Sprint(n))
	}
	if set.mayBe(object("x")) || !set.mayBe(object("7")) {
		t.Error("the set has an object that was not added, or lacks one that was")
	}
	if add("y"); !set.mayBe(object("x")) || len(set.names) > 0 {
		t.Errorf("%d names are kept", len(set.names))
	}
}

// TestMergeKeepsNoDeletedObject: the initial list does not keep an object of the store that one
// member saw deleted, and another one has brought in an older state.
func TestMergeKeepsNoDeletedObject(t *testing.T) {
	m, a, b := two(t, []string{"x5"}, []string{"x5"}, "Replaced x5, at 10")
	m.next()
	m.list(a, "20", "x15")
	must(t, b.change(t.Context(), func() bool { // x leaves what b keeps
		b.give(m.fifo, "x", "x15", 10)
		return true
	}))
	must(t, a.Leave(t.Context()))
	m.list(b, "12", "x11")
	m.want("Deleted x5?, at 20")
	if len(m.store) > 0 {
		t.Errorf("the store has %v", m.store)
	}
}

// TestMergeSessionAfterRestore: a session that ends before the store has the list after a restore
// leaves the mark to the next one.
func TestMergeSessionAfterRestore(t *testing.T) {
	m, a, b := two(t, []string{"x5"}, nil, "Replaced x5, at 10")
	must(t, b.Leave(t.Context()))
	a.Rewound(true)
	m.list(a, "7", "x4")
	m.next()
	m.list(a, "8", "x4")
	m.want("Replaced x4, at 8, rewound")
	m.next()
	m.list(a, "8", "x4")
	m.want("Replaced x4, at 8")
}

// TestMergeSessionAfterLostDeletion: after a restore, a member leaves. The deletions of
// its objects do not reach the store before the session ends, and the next one has older states of them.
func TestMergeSessionAfterLostDeletion(t *testing.T) {
	for name, lose := range map[string]func(m *merger, b *Member[string, string]) error{
		"leaves": func(_ *merger, b *Member[string, string]) error { return b.Leave(t.Context()) },
		"leaves late": func(m *merger, b *Member[string, string]) error {
			m.fifo.Close()
			if err := b.Leave(t.Context()); err != ErrClosed {
				return fmt.Errorf("got error %w", err)
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, a, b := two(t, []string{"x5"}, []string{"y9"}, "Replaced x5, Replaced y9, at 10")
			a.Rewound(true)
			m.list(a, "7", "x4")
			m.want("Replaced x4, at 7, rewound")
			must(t, lose(m, b))
			m.next()
			m.list(a, "8", "x4", "y8")
			if m.merge.Waiting() { // for b
				m.list(b, "8")
			}
			m.want("Replaced x4, Replaced y8, at 8, doubtful")
		})
	}
}

// TestMergeSessionAfterFastMember: the first lists of a session are as new as what any member
// brought in the one before.
func TestMergeSessionAfterFastMember(t *testing.T) {
	m, a, b := two(t, []string{"x5"}, []string{"x5"}, "Replaced x5, at 10")
	m.event(a, reflector.Modified, "x15", "")
	m.want("Updated x15, at ")
	must(t, a.Leave(t.Context()))
	m.next()
	if v := b.Begin(nil); v != "15" {
		t.Errorf("the list may be as old as %s", v)
	}
}

// TestMergeObjectThatMoves: a member that is ahead brings an object and loses it, because a change
// moves it out of the selection. Until another member that selects it has reached this change, the
// store lacks it, even at versions at which the other member has it.
func TestMergeObjectThatMoves(t *testing.T) {
	m, a, b := two(t, nil, nil, "at 10")
	m.event(a, reflector.Added, "x12", "")
	m.event(a, reflector.Deleted, "x14", "")
	m.want("Added x12, Deleted x14, at ")
	m.event(b, reflector.Added, "x12", "")
	m.want("at 12")
	m.event(b, reflector.Modified, "x14", "")
	m.want("Updated x14, at 14")
}

// TestMergeOtherObjectAtOneVersion: two members bring two objects with the same name and version,
// so the server was restored. All begin again.
func TestMergeOtherObjectAtOneVersion(t *testing.T) {
	for _, byList := range []bool{true, false} {
		for uid, want := range []bool{false, false, true} { // an object without a UID shows nothing
			g := NewMerge[string, state](func(s state) (string, error) { return s.key, nil }, nil)
			f := New[string, state](truths{}, Options{})
			g.Begin(f)
			a, b := g.Join(nil), g.Join(nil)
			list := func(to *Member[string, state], objects ...state) {
				for _, obj := range objects {
					must(t, to.Listed(t.Context(), reflector.Event[state]{Type: reflector.Added, Object: obj, ResourceVersion: fmt.Sprint(obj.at)}))
				}
				must(t, to.Replace(t.Context(), "7"))
			}
			list(a, state{key: "x", uid: 1, at: 8})
			found := state{key: "x", uid: uid, at: 8}
			if byList {
				list(b, found)
			} else {
				list(b)
				must(t, b.Apply(t.Context(), reflector.Event[state]{Type: reflector.Added, Object: found, ResourceVersion: "8"}))
			}
			if a.IsOutdated() != want || b.IsOutdated() != want {
				t.Errorf("by a list %v, uid %d: outdated %v and %v, want %v", byList, uid, a.IsOutdated(), b.IsOutdated(), want)
			}
			f.Close()
		}
	}
}

// TestMergeLeaverLeavesDebts: a member leaves, and another one has an older state of an object. If
// the other one passes the version of the newer state without an event, the server was restored.
func TestMergeLeaverLeavesDebts(t *testing.T) {
	for name, restored := range map[string]bool{"behind": false, "restored": true} {
		t.Run(name, func(t *testing.T) {
			m, a, b := two(t, []string{"x5"}, []string{"x5"}, "Replaced x5, at 10")
			again := false
			b.Begin(func() { again = true })
			m.event(a, reflector.Modified, "x12", "")
			m.want("Updated x12, at ")
			must(t, a.Leave(t.Context()))
			m.want("") // b has the object
			if !restored {
				m.event(b, reflector.Modified, "x12", "")
			}
			for _, at := range []string{"12", "13"} { // there may be more events of version 12
				if again {
					t.Errorf("a restore was noticed before %s", at)
				}
				m.event(b, reflector.Bookmark, "", at)
			}
			if again != restored {
				t.Errorf("a restore was noticed: %v", again)
			}
			if restored {
				m.want("at 12")
				b.Begin(nil)
				m.list(b, "14", "x5")
				m.want("Replaced x5, at 14, rewound")
			}
		})
	}
}
