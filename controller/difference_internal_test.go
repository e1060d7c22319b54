package controller

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/internal/longtest"
)

// A list changes by its elements if some of them stay. Otherwise a merge patch says all.
func TestPatchOf(t *testing.T) {
	for _, c := range []struct{ name, before, after, want string }{
		{"nothing", `{"l":[{"name":"a"}]}`, `{"l":[{"name":"a"}]}`, ``},
		{"outside of lists", `{"a":{"b":1,"c":2}}`, `{"a":{"b":3},"d":{"e":4}}`, `{"a":{"b":3,"c":null},"d":{"e":4}}`},
		{"a list of scalars", `{"l":["a","b"]}`, `{"l":["b"]}`, `{"l":["b"]}`},
		{"a first list", `{}`, `{"l":[{"name":"a"}]}`, `{"l":[{"name":"a"}]}`},
		{"from an empty list", `{"l":[]}`, `{"l":[{"name":"a"}]}`, `{"l":[{"name":"a"}]}`},
		{"to an empty list", `{"l":[{"name":"a"}]}`, `{"l":[]}`, `{"l":[]}`},
		{"no list any more", `{"l":[{"name":"a"}]}`, `{}`, `{"l":null}`},
		{"all new", `{"l":[{"name":"a"}]}`, `{"l":[{"name":"b"}]}`, `{"l":[{"name":"b"}]}`},
		{"a list for an object", `{"l":{"a":1}}`, `{"l":[{"name":"b"}]}`, `{"l":[{"name":"b"}]}`},
		{"a field", `{"l":[{"name":"a"},{"name":"b","v":1}]}`, `{"l":[{"name":"a"},{"name":"b","v":2,"w":""}]}`,
			`[add /l/1/v 2 | add /l/1/w ""]`},
		{"a field is gone", `{"l":[{"name":"a","v":1}]}`, `{"l":[{"name":"a"}]}`, `[remove /l/0/v]`},
		{"one more", `{"l":[{"name":"a"}]}`, `{"l":[{"name":"a"},{"name":"b"}]}`, `[add /l/1 {"name":"b"}]`},
		{"one more in front", `{"l":[{"name":"a"}]}`, `{"l":[{"name":"b"},{"name":"a"}]}`, `[add /l/0 {"name":"b"}]`},
		{"one less", `{"l":[{"name":"a"},{"name":"b"}]}`, `{"l":[{"name":"b"}]}`, `[remove /l/0]`},
		{"another one", `{"l":[{"name":"a"},{"name":"b"},{"name":"c"}]}`, `{"l":[{"name":"a"},{"name":"d"},{"name":"c"}]}`,
			`[remove /l/1 | add /l/1 {"name":"d"}]`},
		{"turned", `{"l":[{"name":"a"},{"name":"b"},{"name":"c"}]}`, `{"l":[{"name":"c"},{"name":"a"},{"name":"b"}]}`, `[move /l/2 /l/0]`},
		{"moved and changed", `{"l":[{"name":"a","v":1},{"name":"b"}]}`, `{"l":[{"name":"b"},{"name":"a","v":2}]}`,
			`[add /l/0/v 2 | move /l/1 /l/0]`},
		{"a name twice", `{"l":[{"name":"a","v":1},{"name":"a","v":2}]}`, `{"l":[{"name":"a","v":1},{"name":"a","v":3}]}`, `[add /l/1/v 3]`},
		{"the first of two", `{"l":[{"name":"a","v":1},{"name":"a","v":2}]}`, `{"l":[{"name":"a","v":2}]}`, `[remove /l/0]`},
		{"a port with a new name", `{"l":[{"name":"a","port":80}]}`, `{"l":[{"name":"b","port":80}]}`, `[add /l/0/name "b"]`},
		{"a name with a new port", `{"l":[{"name":"a","port":80}]}`, `{"l":[{"name":"a","port":81}]}`, `[add /l/0/port 81]`},
		{"a port of two protocols", `{"l":[{"port":53,"protocol":"TCP","v":1},{"port":53,"protocol":"UDP","v":1}]}`,
			`{"l":[{"port":53,"protocol":"UDP","v":2},{"port":53,"protocol":"TCP","v":2}]}`,
			`[add /l/1/v 2 | add /l/0/v 2 | move /l/1 /l/0]`},
		{"conditions", `{"l":[{"type":"A","status":"True"},{"type":"B","status":"True"}]}`, `{"l":[{"type":"B","status":"False"},{"type":"C","status":"True"}]}`,
			`[add /l/1/status "False" | remove /l/0 | add /l/1 {"status":"True","type":"C"}]`},
		{"a type is no name beside a name", `{"l":[{"name":"a","type":"T"},{"name":"z"}]}`, `{"l":[{"name":"b","type":"T"},{"name":"z"}]}`,
			`[remove /l/0 | add /l/0 {"name":"b","type":"T"}]`},
		{"no names", `{"l":[{"v":1},{"v":2},{"v":3}]}`, `{"l":[{"v":1},{"v":4},{"v":3}]}`, `[add /l/1/v 4]`},
		{"no names, and one less", `{"l":[{"host":"a","v":1},{"host":"b","v":1}]}`, `{"l":[{"host":"b","v":2}]}`,
			`[add /l/1/v 2 | remove /l/0]`},
		{"lists in lists", `{"l":[[{"v":1}],[{"v":2}]]}`, `{"l":[[{"v":1}],[{"v":2},{"v":3}]]}`, `[add /l/1/1 {"v":3}]`},
		{"scalars in lists", `{"l":[{"name":"a","l":["x","y"]}]}`, `{"l":[{"name":"a","l":["y"]}]}`, `[add /l/0/l ["y"]]`},
		{"scalars in lists in lists", `{"l":[[1,2],[3],[{"v":1}]]}`, `{"l":[[1],[3],[{"v":2}]]}`, `[replace /l/0 [1] | add /l/2/0/v 2]`},
		{"maps in lists", `{"l":[{"name":"a","m":{"x/~":"1"}},{"name":"b"}]}`, `{"l":[{"name":"a","m":{"x/~":"2","y":"3"}},{"name":"b","m":{"z":"1"}}]}`,
			`[add /l/0/m/x~1~0 "2" | add /l/0/m/y "3" | add /l/1/m {"z":"1"}]`},
		{"null in a list", `{"l":[null,{"name":"a"}]}`, `{"l":[{"name":"b"},{"name":"a"},null]}`,
			`[add /l/0 {"name":"b"} | move /l/2 /l/1]`},
		{"a new null", `{"l":[{"name":"a"}]}`, `{"l":[{"name":"a"},null]}`, `[add /l/1 null]`},
		{"a null", `{"a":{"b":1,"c":2}}`, `{"a":{"b":null,"c":3}}`, `[add /a/b null | add /a/c 3]`},
		{"a first null", `{"a":{}}`, `{"a":{"b":null}}`, `[add /a/b null]`},
		{"a null for an object", `{"a":{"b":1}}`, `{"a":null}`, `[add /a null]`},
		{"a null in a new object", `{}`, `{"a":{"b":null}}`, `[add /a {"b":null}]`},
		{"a null in a new list", `{}`, `{"l":[{"b":null}]}`, `[add /l [{"b":null}]]`},
		{"a null among scalars", `{"l":["a"]}`, `{"l":["a",null]}`, `[add /l ["a",null]]`},
		{"a null in an element", `{"l":[{"name":"a"}]}`, `{"l":[{"name":"a","b":null}]}`, `[add /l/0/b null]`},
		{"no null any more", `{"a":{"b":null}}`, `{"a":{}}`, `{"a":{"b":null}}`},
		{"no null in an element any more", `{"l":[{"name":"a","b":null}]}`, `{"l":[{"name":"a"}]}`, `[remove /l/0/b]`},
		{"a value for null", `{"a":{"b":null}}`, `{"a":{"b":1}}`, `{"a":{"b":1}}`},
		{"an object for null", `{"a":null}`, `{"a":{"b":1}}`, `{"a":{"b":1}}`},
		{"nulls that stay", `{"a":null,"b":{"c":null,"d":1},"l":[null]}`, `{"a":null,"b":{"c":null,"d":2},"l":[null]}`, `{"b":{"d":2}}`},
		{"elsewhere, too", `{"a":{"b":1},"l":[{"name":"a","v":1}]}`, `{"l":[{"name":"a","v":2}]}`, `[remove /a | add /l/0/v 2]`},
	} {
		before, after := decoded(c.before), decoded(c.after)
		p, err := patchOf(reflect.TypeFor[tree](), before, after, "7", map[string]bool{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := words(p); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if p.form == types.JSONPatchType {
			now, err := appliedTo(withVersion(c.before), p)
			if err != nil || text(decoded(string(now))) != text(decoded(withVersion(c.after))) {
				t.Errorf("%s: %s, %v", c.name, now, err)
			}
		}
	}
}

// partial shows a part of an element, with a size even if the element has none.
type partial struct {
	Name   string `json:"name"`
	Limits struct {
		Size int      `json:"size"`
		Most int      `json:"most,omitempty"`
		In   struct { // always shown
			Size int `json:"size"`
		} `json:"in"`
	} `json:"limits,omitzero"`
}

// A struct that becomes zero is left out of the JSON. The server may lack what was zero before.
func TestPatchOfClearedStruct(t *testing.T) {
	type object struct {
		L []partial `json:"l"`
	}
	var before, after object
	raw := `{"metadata":{"resourceVersion":"7"},"l":[{"name":"a","limits":{"most":5,"more":1}},{"name":"b"}]}`
	for _, o := range []*object{&before, &after} {
		if err := json.Unmarshal([]byte(raw), o); err != nil {
			t.Fatal(err)
		}
	}
	after.L[0].Limits = partial{}.Limits
	p := patchBetween(t, before, after)
	now, err := appliedTo(raw, p)
	if want := `{"metadata":{"resourceVersion":"7"},"l":[{"name":"a","limits":{"more":1}},{"name":"b"}]}`; err != nil || text(decoded(string(now))) != text(decoded(want)) {
		t.Errorf("%s: %s, %v", p.data, now, err)
	}
}

// shown is a struct that shows nulls, even for what the server lacks.
type shown struct {
	Count *int            `json:"count"`
	Words []string        `json:"words"`
	Free  json.RawMessage `json:"free,omitempty"`
	In    struct {
		Count *int `json:"count"`
		Size  int  `json:"size,omitempty"`
	} `json:"in"`
	Late  late        `json:"late,omitzero"`
	List  []int       `json:"list,omitempty"`
	Parts []shownPart `json:"parts,omitempty"`
}

type shownPart struct {
	Name  string `json:"name"`
	Count *int   `json:"count"`
	Late  late   `json:"late,omitzero"`
}

// late is left out while it is zero.
type late struct {
	Count *int                 `json:"count"`
	Free  json.RawMessage      `json:"free,omitempty"`
	Raw   runtime.RawExtension `json:"raw,omitempty"`
	Size  int                  `json:"size"`
	In    struct {
		Count *int           `json:"count"`
		Words []string       `json:"words"`
		Dict  map[string]int `json:"dict"`
		Size  int            `json:"size,omitempty"`
	} `json:"in,omitzero"`
}

// A null that a type shows for what the server lacks is no change.
func TestPatchOfShownNulls(t *testing.T) {
	one := 1
	for _, c := range []struct {
		name, raw string
		edit      func(*shown)
		want      string
	}{
		{"nothing", `{}`, func(*shown) {}, ``},
		{"nothing is set", `{}`, func(o *shown) { o.Count, o.Words = nil, nil }, ``},
		{"another field", `{}`, func(o *shown) { o.In.Size = 1 }, `{"in":{"size":1}}`},
		{"a struct that was left out", `{}`, func(o *shown) { o.Late.Size = 1 }, `{"late":{"size":1}}`},
		{"null in a struct that was left out", `{}`, func(o *shown) { o.Late.Free = json.RawMessage("null") },
			`[test /late null | add /late {"free":null,"size":0}]`},
		{"a struct with structs that was left out", `{}`, func(o *shown) { o.List, o.Late.In.Size = append(o.List, 1), 1 }, `{"late":{"in":{"size":1},"size":0},"list":[1]}`},
		{"a struct in an element", `{"parts":[{"name":"a"}]}`, func(o *shown) { o.Parts[0].Late.Size = 1 },
			`[test /parts/0/late null | add /parts/0/late {"size":1}]`},
		{"a struct in a struct in an element", `{"parts":[{"name":"a"}]}`, func(o *shown) { o.Parts[0].Late.In.Size = 1 },
			`[test /parts/0/late null | add /parts/0/late {"in":{"size":1},"size":0}]`},
		{"a raw null in an element", `{"parts":[{"name":"a"}]}`, func(o *shown) { o.Parts[0].Late.Raw.Raw = []byte(`{"a":null}`) },
			`[test /parts/0/late null | add /parts/0/late {"raw":{"a":null},"size":0}]`},
		{"a new element is as it is shown", `{"parts":[{"name":"a"}]}`, func(o *shown) { o.Parts = append(o.Parts, shownPart{Name: "b"}) },
			`[add /parts/1 {"count":null,"name":"b"}]`},
		{"a value", `{}`, func(o *shown) { o.Count = &one }, `{"count":1}`},
		{"a field is null", `{"count":1}`, func(o *shown) { o.Count = nil }, `[add /count null]`},
		{"free null", `{}`, func(o *shown) { o.Free = json.RawMessage("null") }, `[add /free null]`},
		{"free null again", `{"free":null}`, func(o *shown) { o.Free = json.RawMessage("null") }, ``},
		{"free null is gone", `{"free":null}`, func(o *shown) { o.Free = nil }, `{"free":null}`},
		{"null in free", `{"free":{"a":1,"b":[1]}}`, func(o *shown) { o.Free = json.RawMessage(`{"a":null,"b":[1]}`) }, `[add /free/a null]`},
		{"null and a struct that may not be there", `{"count":1}`, func(o *shown) { o.Count, o.In.Size = nil, 1 },
			`[add /count null | add /in/size 1]`},
	} {
		var before, after shown
		for _, o := range []*shown{&before, &after} {
			if err := json.Unmarshal([]byte(c.raw), o); err != nil {
				t.Fatal(err)
			}
		}
		c.edit(&after)
		if got := words(patchBetween(t, before, after)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// sorted is a list whose JSON is in another order.
type sorted []partial

func (s sorted) MarshalJSON() ([]byte, error) {
	return json.Marshal(slices.SortedFunc(slices.Values(s), func(a, b partial) int { return strings.Compare(a.Name, b.Name) }))
}

// The indexes of a list that encodes itself need not be the ones of the server.
func TestPatchOfListThatEncodesItself(t *testing.T) {
	type object struct {
		L sorted `json:"l"`
	}
	edited := sorted{{Name: "b"}, {Name: "a"}}
	edited[0].Limits.Most = 5
	p := patchBetween(t, object{sorted{{Name: "b"}, {Name: "a"}}}, object{edited})
	if got, want := words(p), `{"l":[{"name":"a"},{"limits":{"in":{"size":0},"most":5,"size":0},"name":"b"}]}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// An array shows elements that the server need not have.
func TestPatchOfArray(t *testing.T) {
	type object struct {
		L []struct {
			Name string     `json:"name"`
			P    [2]partial `json:"p"`
		} `json:"l"`
	}
	const raw = `{"metadata":{"resourceVersion":"7"},"l":[{"name":"a","more":1}]}`
	var before, after object
	for _, o := range []*object{&before, &after} {
		if err := json.Unmarshal([]byte(raw), o); err != nil {
			t.Fatal(err)
		}
	}
	after.L[0].P[1].Name = "x"
	p := patchBetween(t, before, after)
	now, err := appliedTo(raw, p)
	if err != nil || !strings.Contains(string(now), `"more":1`) || !strings.Contains(string(now), `"name":"x"`) {
		t.Errorf("%s: %s, %v", p.data, now, err)
	}
}

func patchBetween[T any](t *testing.T, before, after T) patch {
	t.Helper()
	old, err := treeOf(before)
	if err != nil {
		t.Fatal(err)
	}
	now, err := treeOf(after)
	if err != nil {
		t.Fatal(err)
	}
	p, err := patchOf(reflect.TypeFor[T](), old, now, "7", map[string]bool{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A long list does not take the square of its length, which would be minutes in the long form.
func TestPatchOfLongLists(t *testing.T) {
	for name, element := range map[string]func(n, state int) tree{
		"no names":  func(n, state int) tree { return tree{"a": []any{strconv.Itoa(n)}, "b": strconv.Itoa(state)} },
		"new names": func(n, state int) tree { return tree{"name": strconv.Itoa(n*2 + state)} },
		"one name": func(n, state int) tree {
			return tree{"name": "a", "b": strconv.Itoa(n), "c": strconv.Itoa(n*2 + state)}
		},
	} {
		var before, after []any
		for n := range longtest.N(2000, 50_000) {
			before, after = append(before, element(n, 0)), append(after, element(n, 1))
		}
		if p, err := patchOf(reflect.TypeFor[tree](), tree{"l": before}, tree{"l": after}, "7", map[string]bool{}); err != nil || p.data == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// words returns a patch in short form, without the version.
func words(p patch) string {
	if p.form != types.JSONPatchType {
		return strings.Replace(strings.Replace(string(p.data), `"metadata":{"resourceVersion":"7"},`, "", 1), `,"metadata":{"resourceVersion":"7"}`, "", 1)
	}
	var steps []struct {
		Op, From, Path string
		Value          json.RawMessage
	}
	if err := json.Unmarshal(p.data, &steps); err != nil || steps[0].Path != "/metadata/resourceVersion" || steps[0].Op != "test" {
		return string(p.data)
	}
	var all []string
	for _, s := range steps[1:] {
		all = append(all, strings.Join(strings.Fields(s.Op+" "+s.From+" "+s.Path+" "+string(s.Value)), " "))
	}
	return "[" + strings.Join(all, " | ") + "]"
}

// A random object has a mark in each part. An author's random type shows a part of it and not the marks. After
// a random edit through that type the object is as if the edit had been made in it: the edit has arrived, each
// mark is where it belongs, and there is no null that nobody has set. If another client changes the object in
// between, its change stays, too.
func TestPatchKeepsWhatTheTypeLacks(t *testing.T) {
	trials := longtest.N(150, 100_000)
	seed := rand.Uint64()
	w := &patchWorld{Rand: rand.New(rand.NewPCG(seed, 0))}
	forms := map[types.PatchType]int{}
	for n := range trials {
		if n%10 == 0 {
			w.keyed, w.twins = w.IntN(2) == 0, w.IntN(4) == 0
			w.of = w.structType(0)
			if w.IntN(2) == 0 {
				w.of = w.listType()
			}
		}
		if err := w.trial(forms); err != nil {
			t.Fatalf("seed %d, trial %d: %v", seed, n, err)
		}
	}
	if forms[types.JSONPatchType] == 0 || forms[types.MergePatchType] == 0 {
		t.Errorf("the patches were %v", forms)
	}
}

// patchWorld makes random types and objects.
type patchWorld struct {
	*rand.Rand
	numbers int
	keyed   bool // the lists of objects have names
	twins   bool // names are repeated, and values tell the objects of a list apart
	inPlace bool // all elements of lists stay where they are
	of      reflect.Type
	raw     tree // the object as the server has it
	edited  tree // the object as the author sees it
	edits   []edit
	gone    bool // something was removed. If it were added again, it could be the same thing
	new     bool // something was added, which has the nulls that its type shows
	log     []string
}

// edit makes one edit in the object as the author sees it, and as the server has it.
type edit struct{ edited, raw func(tree) }

func (w *patchWorld) trial(forms map[types.PatchType]int) error {
	w.gone, w.new, w.log, w.edits = false, false, nil, nil
	w.inPlace = w.twins && w.IntN(2) == 0
	w.raw = w.object(w.of)
	w.raw["metadata"] = tree{"resourceVersion": "7"}
	w.edited = w.view(w.of, w.raw)
	begin := text(w.raw)
	for left := w.maxEdits(); left > 0 && !w.gone; left-- {
		w.edit(w.of, nil)
	}
	server := decoded(begin)
	if w.IntN(3) == 0 && text(w.afterEdits(begin)) != text(w.view(w.of, server)) {
		w.interfere(w.of, server)
		server["metadata"] = tree{"resourceVersion": "8"}
	}
	want := copied(server).(tree)
	for _, e := range w.edits {
		e.raw(want)
	}
	want = decoded(text(want))
	got, form, err := w.carryOut(begin, text(server))
	after := w.afterEdits(text(server))
	if err == nil && text(withoutEmpty(w.view(w.of, got))) != text(withoutEmpty(after)) {
		err = fmt.Errorf("the author sees %s, and not what they wrote", text(w.view(w.of, got)))
	}
	if err == nil && text(withoutEmpty(got)) != text(withoutEmpty(want)) {
		err = fmt.Errorf("the object is %s, want %s", text(withoutEmpty(got)), text(withoutEmpty(want)))
	}
	known := append(nullsOf(server, nil), nullsOf(want, nil)...)
	for _, at := range nullsOf(got, nil) {
		if err == nil && !w.new && !slices.Contains(known, at) {
			err = fmt.Errorf("there is null at %s, which nobody has set", at)
		}
	}
	if err != nil {
		return fmt.Errorf("type %s\nobject %s\nthen   %s\nafter  %s\nedits %v\n%w", w.of, begin, text(server), text(after), w.log, err)
	}
	forms[form]++
	return nil
}

// maxEdits returns the number of edits. Elements without names may move: then only a single edit leaves no
// doubt which element is which.
func (w *patchWorld) maxEdits() int {
	if w.keyed && (!w.twins || w.inPlace) {
		return 1 + w.IntN(5)
	}
	return 1
}

// afterEdits returns an object as the author sees it after their edits.
func (w *patchWorld) afterEdits(object string) tree {
	after := w.view(w.of, decoded(object))
	for _, e := range w.edits {
		e.edited(after)
	}
	return w.view(w.of, after)
}

// carryOut changes an object that the author has seen, as change does. The server has another state
// of it, if the versions are different.
func (w *patchWorld) carryOut(seen, server string) (tree, types.PatchType, error) {
	known := map[string]bool{}
	for range tries {
		state := decoded(seen)
		version := state["metadata"].(tree)["resourceVersion"].(string)
		p, err := patchOf(w.of, w.view(w.of, state), w.afterEdits(seen), version, known)
		if err != nil || p.data == nil {
			return decoded(server), p.form, err
		}
		w.log = append(w.log, string(p.data))
		if statedVersion(p.data) != version {
			return nil, "", errors.New("the patch states no version")
		}
		now, err := appliedTo(server, p)
		if seen != server {
			if err == nil {
				return nil, "", errors.New("the patch of an old state was taken")
			}
			seen = server
			clear(known)
			continue
		}
		if err == nil {
			return decoded(string(now)), p.form, nil
		}
		if len(p.guesses) == 0 {
			return nil, "", err
		}
		for _, at := range p.guesses {
			test := fmt.Sprintf(`[{"op":"test","path":%q,"value":null}]`, at)
			_, err := appliedTo(server, patch{form: types.JSONPatchType, data: []byte(test)})
			known[at.String()] = err != nil
		}
	}
	return nil, "", fmt.Errorf("no patch fits after %d tries", tries)
}

// appliedTo applies a patch to an object, as a server does.
func appliedTo(object string, p patch) ([]byte, error) {
	if p.form == types.MergePatchType {
		if version := decoded(object)["metadata"].(tree)["resourceVersion"]; version != statedVersion(p.data) {
			return nil, fmt.Errorf("conflict: the version is %v", version)
		}
		return jsonpatch.MergePatch([]byte(object), p.data)
	}
	steps, err := jsonpatch.DecodePatch(p.data)
	if err != nil {
		return nil, err
	}
	return steps.Apply([]byte(object))
}

// interfere changes what a type shows of an object, and what it does not show. Lists only grow, so
// that the paths of the author's edits stay right.
func (w *patchWorld) interfere(t reflect.Type, o tree) {
	o["more"] = w.free(0)
	if w.IntN(2) == 0 {
		o["value"] = w.number()
	}
	for _, f := range fieldsOf(t) {
		switch in := o[fieldName(f)].(type) {
		case tree:
			switch fieldName(f) {
			case "pointer":
				w.interfere(f.Type.Elem(), in)
			case "struct":
				w.interfere(f.Type, in)
			case "free":
				in["theirs"] = w.free(0)
			}
		case []any:
			if (fieldName(f) == "list" || fieldName(f) == "pointers") && len(in) > 0 {
				for _, element := range in {
					w.interfere(objectType(f.Type.Elem()), element.(tree))
				}
				o[fieldName(f)] = append(in, w.part(f.Type.Elem()))
			}
		}
	}
}

func objectType(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// free returns an object of any form, with nulls.
func (w *patchWorld) free(depth int) tree {
	o := tree{"keep": w.number(), "list": []any{w.number(), nil, tree{"name": "a", "none": nil}}, "none": nil}
	if depth < 2 && w.IntN(2) == 0 {
		o["in"] = w.free(depth + 1)
	}
	return o
}

// editFree makes a random edit in an object of any form.
func (w *patchWorld) editFree(at jsonPointer) {
	o, _ := lookup(w.edited, at).(tree)
	if o == nil {
		w.set(at, w.free(0))
		return
	}
	name := []string{"list", "none", "in", "new"}[w.IntN(4)]
	in := at.to(name)
	if _, isTree := o[name].(tree); isTree && w.IntN(2) == 0 {
		w.editFree(in)
		return
	}
	switch w.IntN(5) {
	case 0:
		w.apply("-"+in.String(), func(o tree) { put(o, in, nil) })
	case 1:
		w.set(in, w.free(1))
	case 2:
		w.set(in, w.number())
	default:
		w.set(in, null)
	}
}

// structType returns a type that shows some of the members of an object.
func (w *patchWorld) structType(depth int) reflect.Type {
	var fields []reflect.StructField
	add := func(name string, t reflect.Type, options ...string) {
		tag := fmt.Sprintf(`json:"%s%s"`, name, options[w.IntN(len(options))])
		fields = append(fields, reflect.StructField{Name: string(name[0]-'a'+'A') + name[1:], Type: t, Tag: reflect.StructTag(tag)})
	}
	if w.keyed {
		add("name", reflect.TypeFor[string](), "", ",omitempty")
	}
	if !w.keyed || w.twins || w.IntN(2) == 0 {
		add("value", reflect.TypeFor[int](), "", ",omitempty")
	}
	if w.IntN(3) == 0 {
		add("count", reflect.TypeFor[*int](), "", ",omitempty")
	}
	if w.IntN(3) == 0 {
		any := []reflect.Type{reflect.TypeFor[map[string]any](), reflect.TypeFor[json.RawMessage](), reflect.TypeFor[any](),
			reflect.TypeFor[runtime.RawExtension](), reflect.TypeFor[*runtime.RawExtension]()}
		add("free", any[w.IntN(len(any))], "", ",omitempty")
	}
	if w.IntN(3) == 0 {
		add("words", reflect.TypeFor[[]string](), "", ",omitempty")
	}
	if depth < 3 {
		for _, name := range []string{"struct", "pointer", "list", "pointers", "lists", "dict"} {
			if w.IntN(3) > 0 {
				continue
			}
			inner := w.structType(depth + 1)
			switch name {
			case "struct":
				add(name, inner, "", ",omitempty", ",omitzero")
			case "pointer":
				add(name, reflect.PointerTo(inner), "", ",omitempty", ",omitzero")
			case "list":
				add(name, reflect.SliceOf(inner), "", ",omitempty")
			case "pointers":
				add(name, reflect.SliceOf(reflect.PointerTo(inner)), "", ",omitempty")
			case "lists":
				add(name, reflect.SliceOf(reflect.SliceOf(inner)), "", ",omitempty")
			case "dict":
				add(name, reflect.MapOf(reflect.TypeFor[string](), inner), "", ",omitempty")
			}
		}
	}
	if n := w.IntN(len(fields) + 1); n > 0 && w.IntN(4) == 0 { // some of them in an embedded struct
		inline := reflect.StructField{Name: "Inline", Type: reflect.StructOf(fields[:n]), Anonymous: true, Tag: `json:",inline"`}
		fields = append([]reflect.StructField{inline}, fields[n:]...)
	}
	return reflect.StructOf(fields)
}

// listType returns a type with a list whose elements have a struct that is left out while it is zero.
func (w *patchWorld) listType() reflect.Type {
	element := []reflect.StructField{
		{Name: "Value", Type: reflect.TypeFor[int](), Tag: `json:"value"`},
		{Name: "Struct", Type: w.structType(2), Tag: `json:"struct,omitzero"`},
	}
	name := reflect.StructField{Name: "Name", Type: reflect.TypeFor[string](), Tag: `json:"name"`}
	switch {
	case w.keyed && w.twins:
		element = append(element, name)
	case w.keyed:
		element[0] = name
	}
	return reflect.StructOf([]reflect.StructField{{Name: "List", Type: reflect.SliceOf(reflect.StructOf(element)), Tag: `json:"list"`}})
}

// fieldsOf returns the fields of a struct, and of a struct that is embedded in it.
func fieldsOf(t reflect.Type) []reflect.StructField {
	return slices.DeleteFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return f.Anonymous })
}

// number returns a number that nothing else has.
func (w *patchWorld) number() json.Number {
	w.numbers++
	return json.Number(strconv.Itoa(w.numbers))
}

// name returns a name that nothing else has, or one of a few.
func (w *patchWorld) name() string {
	if w.twins {
		return []string{"a", "b"}[w.IntN(2)]
	}
	return "n" + w.number().String()
}

// object returns an object with what a type shows of it, which may be missing, and more.
func (w *patchWorld) object(t reflect.Type) tree {
	o := tree{"mark": w.number(), "name": w.name(), "value": w.number(), "more": []any{tree{"mark": w.number(), "none": nil}, nil}}
	if w.keyed && !w.twins && w.IntN(3) == 0 {
		delete(o, "value") // a type may show it all the same
	}
	for _, f := range fieldsOf(t) {
		switch name := fieldName(f); {
		case name == "value" || w.IntN(4) == 0:
		case name == "free":
			o[name] = w.free(0)
		case name == "count":
			o[name] = []any{nil, w.number()}[w.IntN(2)]
		default:
			o[name] = w.part(f.Type)
		}
	}
	return o
}

// part returns a value that a type shows.
func (w *patchWorld) part(t reflect.Type) any {
	switch t.Kind() {
	case reflect.Struct:
		return w.object(t)
	case reflect.Pointer:
		return w.object(t.Elem())
	case reflect.Map:
		return tree{"a/b": w.part(t.Elem()), "~c": w.part(t.Elem())}
	case reflect.Slice:
		all := make([]any, w.IntN(4))
		for n := range all {
			all[n] = w.part(t.Elem())
		}
		return all
	case reflect.String:
		return "n" + w.number().String()
	}
	return w.number()
}

// view returns what a type shows of an object.
func (w *patchWorld) view(t reflect.Type, object tree) tree {
	v := reflect.New(t)
	if err := json.Unmarshal([]byte(text(object)), v.Interface()); err != nil {
		panic(err)
	}
	shown, err := treeOf(v.Interface())
	if err != nil {
		panic(err)
	}
	return shown
}

// edit makes a random edit in the struct at a path, in the object and in what the author sees.
func (w *patchWorld) edit(t reflect.Type, at jsonPointer) {
	fields := fieldsOf(t)
	field := fields[w.IntN(len(fields))]
	if len(fieldName(field)) <= len("value") && w.IntN(3) > 0 {
		field = fields[len(fields)-1] // what has parts more often
	}
	name := fieldName(field)
	in := at.to(name)
	switch name {
	case "name":
		if len(fields) > 1 || len(at) > 0 {
			return // another name is another element
		}
		w.set(in, "n"+w.number().String())
	case "value":
		if w.IntN(4) == 0 && !isAlwaysShown(field) {
			w.remove(in)
		} else {
			w.set(in, w.number())
		}
	case "count":
		w.count(in, isAlwaysShown(field))
	case "free":
		w.editFree(in)
	case "words":
		w.set(in, []any{"y" + w.number().String()})
	case "struct":
		if w.IntN(6) == 0 {
			w.clear(field.Type, in)
		} else {
			w.edit(field.Type, in)
		}
	case "pointer":
		w.optional(field.Type.Elem(), in, isAlwaysShown(field))
	case "dict":
		w.optional(field.Type.Elem(), in.to([]string{"a/b", "~c", ""}[w.IntN(3)]), false)
	case "list", "pointers":
		w.list(field.Type.Elem(), in)
	case "lists":
		all, _ := lookup(w.edited, in).([]any)
		if n := len(all); n > 0 && !w.keyed {
			w.list(field.Type.Elem().Elem(), in.to(strconv.Itoa(w.IntN(n))))
		}
	}
}

// optional edits a struct that may be missing. Then it is null or left out.
func (w *patchWorld) optional(t reflect.Type, at jsonPointer, isShown bool) {
	switch {
	case lookup(w.edited, at) == nil:
		w.set(at, w.added(t))
	case w.IntN(4) > 0:
		w.edit(t, at)
	case isShown:
		w.gone = true
		w.set(at, null)
	default:
		w.remove(at)
	}
}

// added returns a new object as the author sees it.
func (w *patchWorld) added(t reflect.Type) tree {
	w.new = true
	return w.view(t, tree{"name": w.name(), "value": w.number()})
}

func (w *patchWorld) list(t reflect.Type, at jsonPointer) {
	all, _ := lookup(w.edited, at).([]any)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	n := len(all)
	if n == 0 {
		w.set(at, []any{w.added(t)})
		return
	}
	one, other := w.IntN(n), w.IntN(n)
	if w.inPlace {
		w.edit(t, at.to(strconv.Itoa(one)))
		return
	}
	switch w.IntN(5) {
	case 0:
		w.change(at, func(l []any) []any { return slices.Delete(l, one, one+1) })
	case 1:
		element := any(w.added(t))
		w.change(at, func(l []any) []any { return slices.Insert(l, one, copied(element)) })
	case 2:
		w.change(at, func(l []any) []any { l[one], l[other] = l[other], l[one]; return l })
	default:
		w.edit(t, at.to(strconv.Itoa(one)))
	}
}

// count sets a pointer to a number. A pointer to nothing is null or left out.
func (w *patchWorld) count(at jsonPointer, isShown bool) {
	switch {
	case w.IntN(2) == 0:
		w.set(at, w.number())
	case lookup(w.edited, at) == nil: // it stays what it is, null or nothing
	case isShown:
		w.set(at, null)
	default:
		w.remove(at)
	}
}

// apply makes an edit that is the same in both trees, and keeps it.
func (w *patchWorld) apply(log string, do func(tree)) { w.keep(log, edit{edited: do, raw: do}) }

func (w *patchWorld) keep(log string, e edit) {
	w.log, w.edits = append(w.log, log), append(w.edits, e)
	e.edited(w.edited)
	e.raw(w.raw)
}

// change changes a list.
func (w *patchWorld) change(at jsonPointer, do func([]any) []any) {
	w.apply("list "+at.String(), func(in tree) {
		l, _ := lookup(in, at).([]any)
		put(in, at, do(slices.Clone(l)))
	})
}

func (w *patchWorld) set(at jsonPointer, value any) {
	w.apply(at.String(), func(in tree) { put(in, at, copied(value)) })
}

func (w *patchWorld) remove(at jsonPointer) {
	w.gone = true
	w.apply("-"+at.String(), func(in tree) { put(in, at, nil) })
}

// clear makes a struct zero. The members that its type does not show stay.
func (w *patchWorld) clear(t reflect.Type, at jsonPointer) {
	w.gone = true
	w.keep("clear "+at.String(), edit{
		edited: func(in tree) { put(in, at, nil) },
		raw:    func(in tree) { clearRaw(t, in, at) },
	})
}

func clearRaw(t reflect.Type, raw tree, at jsonPointer) {
	if lookup(raw, at) == nil {
		return
	}
	for _, f := range fieldsOf(t) {
		if in := at.to(fieldName(f)); fieldName(f) == "struct" {
			clearRaw(f.Type, raw, in)
		} else if lookup(raw, in) != nil {
			put(raw, in, zeroFor(f))
		}
	}
}

// zeroFor returns the value of a field that becomes zero, nil if it is left out.
func zeroFor(f reflect.StructField) any {
	switch {
	case !isAlwaysShown(f) && f.Type != reflect.TypeFor[runtime.RawExtension]():
		return nil
	case fieldName(f) == "name":
		return ""
	case fieldName(f) == "value":
		return json.Number("0")
	}
	return null
}

// isAlwaysShown reports whether a type shows a field even if it is zero.
func isAlwaysShown(f reflect.StructField) bool { return f.Tag.Get("json") == fieldName(f) }

func fieldName(f reflect.StructField) string {
	return string(f.Name[0]-'A'+'a') + f.Name[1:]
}

// lookup returns the value at a path, nil if there is none.
func lookup(in any, at jsonPointer) any {
	for _, name := range at {
		switch v := in.(type) {
		case tree:
			in = v[name]
		case []any:
			n, _ := strconv.Atoi(name)
			in = v[n]
		default:
			return nil
		}
	}
	return in
}

// put sets the value at a path, with the objects on the way to it. nil removes it.
func put(in any, at jsonPointer, value any) {
	for n, name := range at {
		last := n == len(at)-1
		switch v := in.(type) {
		case tree:
			switch {
			case last && value == nil:
				delete(v, name)
			case last:
				v[name] = value
			case v[name] == nil && value == nil:
				return
			case v[name] == nil:
				v[name] = tree{}
			}
			in = v[name]
		case []any:
			n, _ := strconv.Atoi(name)
			if last {
				v[n] = value
			}
			in = v[n]
		}
	}
}

// withoutEmpty returns a tree without zero values: a Go type may add them, but not in what it shows
// in any form or not at all.
func withoutEmpty(v any) any {
	switch v := v.(type) {
	case tree:
		all := tree{}
		for name, member := range v {
			if (name == "free" || name == "more") && member != nil {
				all[name] = member
			} else if m := withoutEmpty(member); m != nil && m != "" && m != json.Number("0") {
				all[name] = m
			}
		}
		if len(all) > 0 {
			return all
		}
		return nil
	case []any:
		var all []any
		for _, element := range v {
			all = append(all, withoutEmpty(element))
		}
		if len(all) > 0 {
			return all
		}
		return nil
	}
	return v
}

// nullsOf returns the paths of the nulls in a value at a path.
func nullsOf(v any, at jsonPointer) (all []string) {
	switch v := v.(type) {
	case nil:
		return []string{at.String()}
	case tree:
		for name, member := range v {
			all = append(all, nullsOf(member, at.to(name))...)
		}
	case []any:
		for n, element := range v {
			all = append(all, nullsOf(element, at.to(strconv.Itoa(n)))...)
		}
	}
	return all
}

func text(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// withVersion returns an object in JSON with version 7.
func withVersion(object string) string {
	return strings.Replace(`{"metadata":{"resourceVersion":"7"},`+object[1:], ",}", "}", 1)
}

func decoded(raw string) tree {
	t, err := decodeTree([]byte(raw))
	if err != nil {
		panic(err)
	}
	return t
}

func copied(v any) any {
	switch v := v.(type) {
	case tree:
		all := maps.Clone(v)
		for name, member := range all {
			all[name] = copied(member)
		}
		return all
	case []any:
		all := slices.Clone(v)
		for n, element := range all {
			all[n] = copied(element)
		}
		return all
	}
	return v
}

// An object that has no JSON is named in the error.
func TestPatchWithoutJSON(t *testing.T) {
	obj := &unstructured.Unstructured{Object: tree{"kind": "Site", "metadata": tree{"name": "one", "resourceVersion": "7"}}}
	c := change[*unstructured.Unstructured]{edit: func(o *unstructured.Unstructured) error { o.Object["spec"] = math.NaN(); return nil }}
	if _, err := c.patch(obj); err == nil || !strings.Contains(err.Error(), "Site one") {
		t.Errorf("%v", err)
	}
}

func TestStatedVersion(t *testing.T) {
	for patch, want := range map[string]string{
		`{"metadata":{"resourceVersion":"7"}}`:      "7",
		`{"metadata":{"resource\u0056ersion":"7"}}`: "7",
		`{"spec":{}}`: "",
		`[{"op":"test","path":"/metadata/resourceVersion","value":"7"},{"op":"add","path":"/a","value":1}]`:    "7",
		`[{"op":"add","path":"/a","value":1},{"op":"replace","path":"/metadata/resourceVersion","value":"7"}]`: "7",
		`[{"op":"remove","path":"/metadata/resourceVersion"}]`:                                                 "",
		`[{"op":"test","path":"/metadata/resourceVersion","value":7}]`:                                         "",
		`[`: "", `null`: "", ``: "", `"x"`: "", `[1]`: "",
	} {
		if got := statedVersion([]byte(patch)); got != want {
			t.Errorf("%s: %q", patch, got)
		}
	}
}

// What a fast answer says of a struct is so, and a member that does not differ is in no tree.
func TestFastAnswers(t *testing.T) {
	type inner struct {
		Kept    string            `json:"kept"`
		Left    string            `json:"left,omitempty"`
		Pointer *int              `json:"pointer,omitempty"`
		Labels  map[string]string `json:"labels,omitempty"`
		In      struct {
			A int `json:"a,omitempty"`
		} `json:"in,omitempty"`
	}
	type outer struct {
		inner `json:",inline"`
		Spec  inner                `json:"spec"`
		Free  runtime.RawExtension `json:"free"`
	}
	zero, one := inner{}, 0
	for name, test := range map[string]struct {
		of    inner
		shows bool
	}{
		"zero": {zero, false}, "kept": {inner{Kept: "a"}, false}, "left": {inner{Left: "a"}, true},
		"pointer": {inner{Pointer: &one}, true}, "labels": {inner{Labels: map[string]string{"a": ""}}, true},
	} {
		shown, err := treeOf(test.of)
		if err != nil {
			t.Fatal(err)
		}
		if got := showsMore(reflect.TypeFor[inner](), shown); got != test.shows || got && isSame(shown, zeroOf(reflect.TypeFor[inner]())) {
			t.Errorf("%s: %v", name, got)
		}
	}
	for name, want := range map[string]reflect.Type{"kept": reflect.TypeFor[string](), "spec": reflect.TypeFor[inner](), "in": reflect.TypeFor[inner]().Field(4).Type, "no": nil} {
		if got := fieldType(reflect.TypeFor[outer](), name); got != want {
			t.Errorf("%s is a %v, want %v", name, got, want)
		}
	}
	before := outer{Spec: inner{Kept: "a"}, Free: runtime.RawExtension{Raw: []byte("null")}}
	after := before
	if was, is, err := treesOf(before, after); was != nil || is != nil || err != nil {
		t.Errorf("equal states: %v, %v, %v", was, is, err)
	}
	after.Free.Raw = []byte(`{"a":1}`)
	was, is, err := treesOf(before, after)
	if err != nil || !reflect.DeepEqual(was, tree{"free": nil}) || !reflect.DeepEqual(is, tree{"free": tree{"a": json.Number("1")}}) {
		t.Errorf("%v, %v, %v", was, is, err)
	}
	for _, bad := range []any{[]int{1}, json.RawMessage("null"), math.NaN()} {
		if _, _, err := treesOf(bad, bad); err == nil {
			t.Errorf("%v is an object", bad)
		}
	}
}
