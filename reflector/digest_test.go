package reflector

import (
	"math"
	"reflect"
	"runtime"
	"testing"
	"weak"
)

type digested struct {
	flag   bool
	count  int8
	size   uint16
	ratio  float32
	phase  complex64
	name   string
	next   *digested
	any    any
	list   []string
	pair   [2]int
	byName map[string]*digested
}

// TestDigest compares digests with reflect.DeepEqual: each object has the digest of its like,
// and of no other.
func TestDigest(t *testing.T) {
	all := func() []any {
		return []any{
			nil, 1, 2, uint8(7), true, false, "", "a", "b", 1.5, 2.5,
			[]string{"a", "bc"}, []string{"ab", "c"}, []string{"abc"}, [2]int{1, 2}, [2]int{2, 1},
			map[string]int{"a": 1, "b": 2, "c": 3}, map[string]int{"a": 2, "b": 1, "c": 3}, map[string]int{"a": 1},
			digested{}, digested{flag: true}, digested{count: -1}, digested{size: 3}, digested{ratio: 1.5}, digested{phase: 2i},
			digested{name: "n"}, digested{next: &digested{name: "n"}}, digested{any: digested{name: "n", count: 1}},
			digested{list: []string{"n"}}, digested{pair: [2]int{0, 9}},
			digested{byName: map[string]*digested{"x": {count: 4}, "y": {count: 5}}},
			digested{byName: map[string]*digested{"x": {count: 5}, "y": {count: 4}}},
		}
	}
	a, b := all(), all()
	for i := range a {
		for j := range b {
			if equal := reflect.DeepEqual(a[i], b[j]); equal != (digestOf(a[i]) == digestOf(b[j])) {
				t.Errorf("%#v and %#v: equal is %v, the digests are %x and %x", a[i], b[j], equal, digestOf(a[i]), digestOf(b[j]))
			}
		}
	}
	if digestOf(math.Copysign(0, -1)) != digestOf(0.0) {
		t.Error("-0 has another digest than 0")
	}
	loop := &digested{name: "loop"}
	loop.next = loop
	_ = digestOf(loop) // it ends
}

// TestRecentEventsHoldNoDeletedObject: objects without metadata are garbage once they are
// deleted, also if events have come for them.
func TestRecentEventsHoldNoDeletedObject(t *testing.T) {
	type large struct{ name string }
	var recent recentEvents[*large]
	kept := func() weak.Pointer[large] {
		object := &large{name: "a"}
		recent.add("1", Event[*large]{Type: Added, ResourceVersion: "2", Object: object})
		recent.add("2", Event[*large]{Type: Modified, ResourceVersion: "3", Object: object})
		recent.add("3", Event[*large]{Type: Deleted, ResourceVersion: "4", Object: object})
		return weak.Make(object)
	}()
	for range 3 {
		runtime.GC()
	}
	if kept.Value() != nil {
		t.Error("the deleted object is still held")
	}
	for n, ev := range []Event[*large]{
		{Type: Added, ResourceVersion: "2", Object: &large{name: "a"}},
		{Type: Modified, ResourceVersion: "3", Object: &large{name: "a"}},
		{Type: Deleted, ResourceVersion: "4", Object: &large{name: "a"}},
	} {
		if !recent.at(n).isAgain(ev) {
			t.Errorf("event %d is not known again", n)
		}
		if ev.Object.name = "b"; recent.at(n).isAgain(ev) {
			t.Errorf("event %d is known again with another object", n)
		}
	}
	runtime.KeepAlive(&recent)
}
