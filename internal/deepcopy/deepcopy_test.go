package deepcopy

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type inner struct{ Names []string }

type outer struct {
	inner
	Map     map[string][]int
	Any     any
	Pointer *inner
	Array   [2]*int
	Empty   []string
	Nil     map[string]int
	Self    *outer
	hidden  *int
}

func newOuter() *outer {
	n, hidden := 1, 5
	o := &outer{
		inner:   inner{Names: []string{"a"}},
		Map:     map[string][]int{"x": {1, 2}},
		Any:     map[string]any{"list": []any{"a", map[string]any{"deep": int64(1)}}},
		Pointer: &inner{Names: []string{"b"}},
		Array:   [2]*int{&n, &n},
		Empty:   []string{},
		hidden:  &hidden,
	}
	o.Self = o
	return o
}

func TestDeepCopySharesNothing(t *testing.T) {
	for name, write := range map[string]func(*outer){
		"embedded":  func(o *outer) { o.Names[0] = "z" },
		"map":       func(o *outer) { o.Map["y"] = nil },
		"map value": func(o *outer) { o.Map["x"][1] = 9 },
		"any": func(o *outer) {
			o.Any.(map[string]any)["list"].([]any)[1].(map[string]any)["deep"] = int64(2)
		},
		"pointer": func(o *outer) { o.Pointer.Names[0] = "z" },
		"array":   func(o *outer) { *o.Array[1] = 9 },
		"empty":   func(o *outer) { o.Empty = nil },
		"self":    func(o *outer) { o.Self.Names = nil },
	} {
		o := newOuter()
		c := Of(o)
		if !reflect.DeepEqual(o, c) {
			t.Fatalf("%s: the copy differs", name)
		}
		write(o)
		if reflect.DeepEqual(o, c) {
			t.Errorf("%s: a write to the original shows in the copy", name)
		}
	}
}

func TestDeepCopyKeepsShape(t *testing.T) {
	o := newOuter()
	c := Of(o)
	if c.Self != c {
		t.Error("a pointer to itself leads elsewhere in the copy")
	}
	if c.Array[0] != c.Array[1] || c.Array[0] == o.Array[0] {
		t.Error("two pointers to one thing are not that in the copy")
	}
	if c.hidden != o.hidden {
		t.Error("what an unexported field refers to was copied")
	}
	if c.Nil != nil || c.Empty == nil {
		t.Error("nil and empty were confused")
	}
	var none *outer
	if Of(none) != nil || Of[any](nil) != nil {
		t.Error("the copy of nil is something")
	}
	list := []any{nil}
	list[0] = list
	if got := Of(list); &got[0].([]any)[0] != &got[0] {
		t.Error("a slice that contains itself does not in the copy")
	}
}

func TestDifference(t *testing.T) {
	type odd struct {
		F func()
		N float64
		n int
	}
	a := odd{F: func() {}, N: math.NaN()}
	if diff := Difference(a, Of(a)); diff != "" {
		t.Errorf("functions and NaN differ: %s", diff)
	}
	b := a
	b.n = 1
	if Difference(a, b) == "" {
		t.Error("no difference in an unexported field")
	}
	if Difference(touchy{1}, touchy{2}) == "" {
		t.Error("a panic in Equal is no difference")
	}
}

// TestDifferenceNamesPlaces: every place where two objects differ has its path and both values.
func TestDifferenceNamesPlaces(t *testing.T) {
	type inner struct {
		Since metav1.Time
		Limit resource.Quantity
		note  string
	}
	type thing struct {
		Name   string
		Labels map[string]string
		List   []int
		In     *inner
		Self   *thing
		Any    any
	}
	limit := resource.MustParse("1500m")
	made := func(change func(*thing)) *thing {
		o := &thing{Name: "a", Labels: map[string]string{"app": "web"}, List: []int{1, 2}, In: &inner{Limit: limit}, Any: 1}
		o.Self = o
		change(o)
		return o
	}
	for _, c := range []struct {
		change func(*thing)
		want   string
	}{
		{func(*thing) {}, ""},
		{func(o *thing) { o.Name = "b" }, "- Name: \"a\"\n+ Name: \"b\"\n"},
		{func(o *thing) { o.Labels["app"] = "db" }, "- Labels[\"app\"]: \"web\"\n+ Labels[\"app\"]: \"db\"\n"},
		{func(o *thing) { o.Labels["tier"] = "" }, "+ Labels[\"tier\"]: \"\"\n"},
		{func(o *thing) { o.Labels = nil }, "- Labels[\"app\"]: \"web\"\n+ Labels: nil\n"},
		{func(o *thing) { delete(o.Labels, "app") }, "- Labels[\"app\"]: \"web\"\n+ Labels: empty\n"},
		{func(o *thing) { o.List = o.List[:1] }, "- List[1]: 2\n"},
		{func(o *thing) { o.In.note = "x" }, "- In.note: \"\"\n+ In.note: \"x\"\n"},
		{func(o *thing) { o.In.Limit = resource.MustParse("1.5") }, ""},
		{func(o *thing) { o.In.Limit = resource.MustParse("2") }, "- In.Limit: 1500m\n+ In.Limit: 2\n"},
		{func(o *thing) { o.Any = int64(1) }, "- Any: 1 of type int\n+ Any: 1 of type int64\n"},
		{func(o *thing) { o.Any = nil }, "- Any: 1\n+ Any: nil\n"},
		{func(o *thing) { o.Self = nil }, "- Self: the same as the object\n+ Self: nil\n"},
	} {
		same := func(*thing) {}
		if got := Difference(made(same), made(c.change)); got != c.want {
			t.Errorf("the difference is\n%swant\n%s", got, c.want)
		}
	}
	if got := Difference(make([]int, 30), []int{}); strings.Count(got, "\n") != maxPlaces+1 || !strings.Contains(got, "and 11 more") {
		t.Errorf("of 31 places: %s", got)
	}
}

type touchy struct{ N int }

func (touchy) Equal(touchy) bool { panic("touchy") }
