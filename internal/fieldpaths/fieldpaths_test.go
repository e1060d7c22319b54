package fieldpaths

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type object struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Replicas *int32            `json:"replicas,omitempty"`
		Hosts    []string          `json:"hosts,omitempty"`
		Parts    map[string]string `json:"parts,omitempty"`
	} `json:"spec"`
	Data   map[string][]byte `json:"data,omitempty"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions,omitempty"`
	} `json:"status"`
}

func (o *object) condition(of string, status metav1.ConditionStatus, at int64) {
	o.Status.Conditions = append(o.Status.Conditions, metav1.Condition{Type: of, Status: status, LastTransitionTime: metav1.Unix(at, 0)})
}

// The paths of typed objects.
func TestChanged(t *testing.T) {
	three := int32(3)
	for name, c := range map[string]struct {
		old, now func(o *object)
		want     string
	}{
		"nothing":              {func(o *object) {}, func(o *object) { o.Spec.Hosts = []string{} }, ""},
		"the version":          {func(o *object) { o.ResourceVersion = "1" }, func(o *object) { o.ResourceVersion = "2" }, ""},
		"managed fields":       {func(o *object) {}, func(o *object) { o.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m"}} }, ""},
		"a field":              {func(o *object) {}, func(o *object) { o.Spec.Replicas = &three }, "spec.replicas"},
		"a list of texts":      {func(o *object) { o.Spec.Hosts = []string{"a", "b"} }, func(o *object) { o.Spec.Hosts = []string{"a", "c"} }, "spec.hosts"},
		"labels":               {func(o *object) { o.Labels = map[string]string{"a": "1", "b.example.com/c": "1"} }, func(o *object) { o.Labels = map[string]string{"a": "2", "b.example.com/c": "2"} }, "metadata.labels.a metadata.labels[b.example.com/c]"},
		"all labels":           {func(o *object) {}, func(o *object) { o.Labels = map[string]string{"a": "2"} }, "metadata.labels"},
		"a secret":             {func(o *object) { o.Data = map[string][]byte{"password": []byte("1")} }, func(o *object) { o.Data = map[string][]byte{"password": []byte("2")} }, "data.password"},
		"a time in conditions": {func(o *object) { o.condition("Ready", "True", 1); o.condition("Fine", "True", 1) }, func(o *object) { o.condition("Ready", "True", 2); o.condition("Fine", "True", 1) }, "status.conditions[Ready].lastTransitionTime"},
		"another condition":    {func(o *object) { o.condition("Ready", "True", 1) }, func(o *object) { o.condition("Fine", "True", 1); o.condition("Ready", "True", 1) }, "status.conditions[Fine]"},
		"the order":            {func(o *object) { o.condition("Ready", "True", 1); o.condition("Fine", "True", 1) }, func(o *object) { o.condition("Fine", "True", 1); o.condition("Ready", "True", 1) }, "status.conditions"},
		"the same type twice":  {func(o *object) { o.condition("Ready", "True", 1); o.condition("Ready", "True", 1) }, func(o *object) { o.condition("Ready", "True", 1); o.condition("Ready", "False", 1) }, "status.conditions[1].status"},
		"a bad name":           {func(o *object) { o.Spec.Parts = map[string]string{"a": ""} }, func(o *object) { o.Spec.Parts = map[string]string{"a": "", "\u202e": "", "": ""} }, `spec.parts[] spec.parts[\u202e]`},
		"a long name":          {func(o *object) { o.Spec.Parts = map[string]string{"a": ""} }, func(o *object) { o.Spec.Parts = map[string]string{"a": "", strings.Repeat("é", 100): ""} }, "spec.parts[" + strings.Repeat("é", 32) + "…]"},
	} {
		var old, now object
		c.old(&old)
		c.now(&now)
		if got := strings.Join(Changed(&old, &now), " "); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
		if got := strings.Join(Changed(content(t, &old), content(t, &now)), " "); got != c.want {
			t.Errorf("%s, unstructured: got %s, want %s", name, got, c.want)
		}
	}
}

// content returns an object as one without a type.
func content(t *testing.T, obj any) *unstructured.Unstructured {
	text, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(text, &u.Object); err != nil {
		t.Fatal(err)
	}
	u.SetKind("Object")
	return u
}

type bad struct{ Err any }

func (b bad) MarshalJSON() ([]byte, error) {
	if err, ok := b.Err.(error); ok {
		return nil, err
	}
	panic(b.Err)
}

// What has no JSON has no paths.
func TestNoJSON(t *testing.T) {
	for _, v := range []any{bad{"ouch"}, bad{fmt.Errorf("no")}, func() {}, (*bad)(nil)} {
		if got := Changed(v, map[string]any{"a": 1}); v != any((*bad)(nil)) && got != nil {
			t.Errorf("got %v", got)
		}
	}
}

// Many paths end with a mark, and deep ones are cut off.
func TestBounds(t *testing.T) {
	old, now := map[string]int{}, map[string]int{}
	for i := range 1000 {
		name := fmt.Sprintf("%04d", i)
		old[name], now[name] = 1, 2
	}
	if got := Changed(old, now); len(got) != maxPaths+1 || got[maxPaths] != "…" || got[0] != "0000" {
		t.Errorf("got %d: %v", len(got), got)
	}
	var deepOld, deepNow any = 1, 2
	for range 1000 {
		deepOld, deepNow = map[string]any{"a": deepOld}, map[string]any{"a": deepNow}
	}
	if got := Changed(deepOld, deepNow); len(got) != 1 || strings.Count(got[0], "a") != maxDepth {
		t.Errorf("got %v", got)
	}
}

// flat has the leaves of a value by their paths, and the paths of its objects.
type flat struct {
	leaves  map[string]string
	objects map[string]bool
}

// flatten fills in a value that random made.
func (f flat) flatten(at string, v any) {
	switch v := v.(type) {
	case map[string]any:
		f.objects[at] = true
		f.leaves[at+".{}"] = ""
		for name, one := range v {
			f.flatten(at+"."+name, one)
		}
	case []any:
		text := fmt.Sprint(v)
		f.leaves[at+".[]"] = ""
		for i, one := range v {
			if members, ok := one.(map[string]any); ok {
				text = ""
				name, named := members["name"]
				if !named {
					name = i
				}
				f.flatten(fmt.Sprintf("%s[%v]", at, name), one)
			}
		}
		f.leaves[at+".[]"] = text
	default:
		f.leaves[at] = fmt.Sprintf("%T %v", v, v)
	}
}

// randomObject returns an object with lists of scalars, of objects with names in their order (c), and of objects without.
func randomObject(r *rand.Rand, depth int) map[string]any {
	all := map[string]any{}
	for _, name := range []string{"a", "b", "c"} {
		switch kind := r.IntN(8); {
		case kind == 0 || depth == 0 && kind > 3:
		case kind < 3:
			all[name] = json.Number(fmt.Sprint(r.IntN(2)))
		case kind == 3:
			all[name] = []any{}
			for range r.IntN(3) {
				all[name] = append(all[name].([]any), fmt.Sprint(r.IntN(2)))
			}
		case kind < 6:
			all[name] = randomObject(r, depth-1)
		default:
			list := []any{}
			for i := range r.IntN(4) {
				one := randomObject(r, depth-1)
				if name == "c" {
					one["name"] = fmt.Sprint("n", i+r.IntN(2)*10)
				}
				list = append(list, one)
			}
			slices.SortFunc(list, func(a, b any) int {
				return strings.Compare(fmt.Sprint(a.(map[string]any)["name"]), fmt.Sprint(b.(map[string]any)["name"]))
			})
			all[name] = list
		}
	}
	return all
}

// isIn reports whether a path leads to another one.
func isIn(path, other string) bool {
	rest, ok := strings.CutPrefix(other, path)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// compare compares the paths with a comparison of all leaves.
func compare(t *testing.T, old, now map[string]any) {
	t.Helper()
	paths := Changed(old, now)
	if (len(paths) == 0) != reflect.DeepEqual(old, now) {
		t.Fatalf("got %v for\n%v\n%v", paths, old, now)
	}
	if slices.Contains(paths, "…") {
		return
	}
	was, is := flat{map[string]string{}, map[string]bool{}}, flat{map[string]string{}, map[string]bool{}}
	was.flatten("", old)
	is.flatten("", now)
	differ := map[string]bool{}
	for _, leaf := range slices.Concat(slices.Collect(maps.Keys(was.leaves)), slices.Collect(maps.Keys(is.leaves))) {
		before, had := was.leaves[leaf]
		after, has := is.leaves[leaf]
		if had != has || before != after {
			differ[leaf] = true
		}
	}
	for _, path := range paths {
		path = "." + path
		if was.objects[path] && is.objects[path] {
			t.Errorf("%s is in both, for\n%v\n%v", path, old, now)
		}
		found := false
		for leaf := range differ {
			found = found || isIn(path, leaf)
		}
		if !found {
			t.Errorf("%s does not differ, for\n%v\n%v", path, old, now)
		}
	}
	for leaf := range differ {
		if !slices.ContainsFunc(paths, func(path string) bool { return isIn("."+path, leaf) }) {
			t.Errorf("%s is missing in %v, for\n%v\n%v", leaf, paths, old, now)
		}
	}
}

func TestRandomObjects(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	some := 0
	for range 5_000 {
		old, now := randomObject(r, 3), randomObject(r, 3)
		if r.IntN(3) > 0 { // mostly alike
			maps.Copy(now, old)
			now["a"] = randomObject(r, 2)
		}
		compare(t, old, now)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
		some += len(Changed(old, now))
	}
	if some < 5_000 {
		t.Errorf("only %d paths", some)
	}
}

// No JSON makes it panic or say more than it may.
func FuzzChanged(f *testing.F) {
	f.Add(`{"a":[{"name":"x","b":1}]}`, `{"a":[{"name":"x","b":2},{"name":"y"}]}`)
	f.Add(`{"a":[1,{"type":2}]}`, `{"a":[[],{"type":"2"}],"":null}`)
	f.Fuzz(func(t *testing.T, a, b string) {
		if !json.Valid([]byte(a)) || !json.Valid([]byte(b)) {
			return
		}
		paths := Changed(json.RawMessage(a), json.RawMessage(b))
		if len(paths) > maxPaths+1 {
			t.Errorf("%d paths", len(paths))
		}
		var old, now any
		decode := func(text string, into *any) bool {
			d := json.NewDecoder(strings.NewReader(text))
			d.UseNumber()
			return d.Decode(into) == nil
		}
		if decode(a, &old) && decode(b, &now) && reflect.DeepEqual(old, now) && len(paths) > 0 {
			t.Errorf("got %v for equal objects", paths)
		}
	})
}
