package controller

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// A write is remembered for as many writes as are kept, even if an earlier one of its object is forgotten.
func TestOwnWritesAreKept(t *testing.T) {
	var o ownWrites
	one := types.NamespacedName{Name: "one"}
	o.add(one, "", "1", "me")
	o.add(one, someVersion, "1a", "me")
	if by, last := o.author(one, "1", "1a"); by != nil || last != "me" || !o.wrote(one, "1a") || o.wrote(one, "2") {
		t.Errorf("a write of any version is by %v", by)
	}
	o.forget(one)
	if by, _ := o.author(one, "", "1"); by != nil {
		t.Errorf("a forgotten write is by %v", by)
	}
	o.add(one, "", "2", "me")
	o.add(one, "2", "3", "me")
	for n := range ownKept - 2 {
		o.add(types.NamespacedName{Name: fmt.Sprint("other", n)}, "", "4", "me")
	}
	if by, _ := o.author(one, "", "3"); by != "me" {
		t.Errorf("%d writes later, it is by %v", ownKept-2, by)
	}
	o.add(types.NamespacedName{Name: "last"}, "", "5", "me")
	if by, _ := o.author(one, "", "3"); by != nil {
		t.Errorf("a creation that is not kept is by %v", by)
	}
	if by, _ := o.author(one, "2", "3"); by != "me" {
		t.Errorf("the update after it is by %v", by)
	}
	for n := range ownKept {
		o.add(types.NamespacedName{Name: fmt.Sprint("more", n)}, "", "6", "me")
	}
	if len(o.made) != ownKept || len(o.order) != ownKept {
		t.Errorf("%d objects, %d writes are kept, want %d", len(o.made), len(o.order), ownKept)
	}
}

// A change is of one author if one alone made each step of it.
func TestAuthor(t *testing.T) {
	var o ownWrites
	one := types.NamespacedName{Name: "one"}
	o.add(one, "", "1", "me")
	o.add(one, "1", "2", "me")
	o.add(one, "2", "3", "you")
	o.add(one, "4", "5", "me")
	o.add(one, "5", "6", nil)
	o.add(one, "7", "7", "me") // nothing changed
	o.add(one, someVersion, "2", "me")
	o.add(one, someVersion, "9", "me")
	for _, c := range []struct {
		old, now string
		want     any
	}{
		{"", "1", "me"}, {"1", "2", "me"}, {"", "2", "me"}, {"2", "3", "you"}, {"1", "3", nil}, {"", "3", nil},
		{"4", "5", "me"}, {"3", "5", nil}, {"5", "6", nil}, {"6", "7", nil}, {"1", "1", nil}, {"", "", nil},
		{"8", "9", nil}, {"", "9", nil},
	} {
		if by, _ := o.author(one, c.old, c.now); by != c.want {
			t.Errorf("from %q to %q: %v, want %v", c.old, c.now, by, c.want)
		}
	}
	for now, want := range map[string]any{"1": "me", "3": "you", "6": nil, "7": nil, "9": "me"} {
		if _, last := o.author(one, "0", now); last != want {
			t.Errorf("the last write to %q is by %v, want %v", now, last, want)
		}
	}
}
