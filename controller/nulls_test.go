package controller_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kinform/kinform/internal/longtest"
)

// setExtra sets what has any form.
func setExtra(extra string) func(*site) {
	return func(o *site) { o.Spec.Extra = json.RawMessage(extra) }
}

// A null is a value: it can be set, stays, and can be removed. What the type does not show stays with
// its nulls.
func TestNullsArrive(t *testing.T) {
	s := newNewerServer(t)
	s.create(`{"more":{"none":null},"extra":{"a":1,"b":{"c":[null,1]}}}`, "")
	for _, c := range []struct{ name, extra, requests string }{
		{"a null for a value", `{"a":null,"b":{"c":[null,1]}}`, "get patch"},
		{"the same again", `{"b":{"c":[null,1]},"a":null}`, "get"},
		{"a value for the null", `{"a":2,"b":{"c":[null,1]}}`, "get patch"},
		{"a null for an object", `{"a":2,"b":null}`, "get patch"},
		{"the null is gone", `{"a":2}`, "get patch"},
		{"a new object with a null", `{"a":2,"b":{"c":null}}`, "get patch"},
		{"a new list with a null", `{"a":2,"b":[null,{"c":null}]}`, "get patch"},
		{"a null in an element", `{"a":2,"b":[null,{"c":null,"d":null}]}`, "get patch"},
		{"no null in an element", `{"a":2,"b":[null,{"d":null}]}`, "get patch"},
		{"nothing but null", `null`, "get patch"},
		{"null again", `null`, "get"},
		{"an object for the null", `{"a":null}`, "get patch"},
	} {
		s.sent = nil
		what, err := s.edit(setExtra(c.extra))
		want := text(t, json.RawMessage(`{"extra":`+c.extra+`,"more":{"none":null}}`))
		if err != nil || s.part("spec") != want || strings.Join(s.sent, " ") != c.requests {
			t.Errorf("%s: %v, %v by %q, the spec is %s, want %s", c.name, what, err, s.sent, s.part("spec"), want)
		}
	}
	if _, err := s.edit(setExtra("")); err != nil || s.part("spec") != `{"more":{"none":null}}` {
		t.Errorf("removed: %v, the spec is %s", err, s.part("spec"))
	}
}

// Random edits, while another client sets, changes and removes what the author sees and what they do
// not see, with nulls.
func TestNullsAreNeverUndone(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	s := newNewerServer(t)
	s.create(`{"extra":{"keep":1},"more":{"keep":1}}`, "")
	extra, more := map[string]any{"keep": 1}, map[string]any{"keep": 1}
	value := func() any {
		return []any{nil, nil, random.IntN(1000), map[string]any{"a": nil, "b": random.IntN(1000)}, []any{nil, map[string]any{"a": nil}}}[random.IntN(5)]
	}
	put := func(in map[string]any, name string, value any, remove bool) {
		if in[name] = value; remove {
			delete(in, name)
		}
	}
	for range longtest.N(100, 10_000) {
		mine, theirs := fmt.Sprint("m", random.IntN(3)), fmt.Sprint("t", random.IntN(3))
		my, their, hidden := value(), value(), value()
		myRemoval, theirRemoval := random.IntN(4) == 0, random.IntN(4) == 0
		if random.IntN(2) == 0 {
			s.before = once("patch", func() {
				put(extra, theirs, their, theirRemoval)
				put(more, theirs, hidden, theirRemoval)
				s.change(func(spec map[string]any) {
					for name, part := range map[string]any{"extra": extra, "more": more} {
						var theirs any
						if err := json.Unmarshal([]byte(text(t, part)), &theirs); err != nil {
							t.Fatal(err)
						}
						spec[name] = theirs
					}
				})
			})
		}
		_, err := s.edit(func(o *site) {
			var all map[string]any
			if err := json.Unmarshal(o.Spec.Extra, &all); err != nil {
				t.Fatal(err)
			}
			put(all, mine, my, myRemoval)
			o.Spec.Extra = json.RawMessage(text(t, all))
		})
		put(extra, mine, my, myRemoval)
		want := text(t, map[string]any{"extra": extra, "more": more})
		if err != nil || s.part("spec") != want {
			t.Fatalf("seed %d: %v, the spec is %s, want %s", seed, err, s.part("spec"), want)
		}
	}
}

// text returns the JSON of v with sorted members.
func text(t testing.TB, v any) string {
	t.Helper()
	var decoded any
	if err := json.Unmarshal(must(json.Marshal(v))(t), &decoded); err != nil {
		t.Fatal(err)
	}
	return string(must(json.Marshal(decoded))(t))
}
