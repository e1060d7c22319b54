package sharing

import (
	"fmt"
	"math/rand"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// thing has a part of each kind.
type thing struct {
	metav1.TypeMeta
	Name    string
	Next    *thing
	Words   []string
	Numbers []int32
	Bytes   []byte
	Things  []thing
	Links   []*thing
	Labels  map[string]string
	Amounts map[color]resource.Quantity
	Data    map[string][]byte
	ByID    map[int]inner
	Any     any
	Tree    map[string]any
	Inner   inner
	Pair    [2]*int64
	At      *metav1.Time
	Fields  *metav1.FieldsV1
	Number  float64
	Flag    *bool
}

type (
	color string
	inner struct {
		A    int8
		B    int64
		Text *string
	}
)

func pick[T any](r *rand.Rand, all ...T) T { return all[r.Intn(len(all))] }

func ptr[T any](v T) *T { return &v }

// random makes one of few things, in separate memory, so that their parts are often equal but not shared.
func random(r *rand.Rand, depth int) thing {
	t := thing{Name: pick(r, "", "a", "b"), Number: pick(r, 0, 1.5), Inner: inner{A: int8(r.Intn(2)), Text: ptr(pick(r, "x", "y"))}}
	if depth == 0 {
		return t
	}
	if r.Intn(2) == 0 {
		next := random(r, depth-1)
		t.Next, t.Links = &next, []*thing{nil, ptr(random(r, depth-1))}
	}
	for range r.Intn(3) {
		t.Things = append(t.Things, random(r, depth-1))
		t.Words = append(t.Words, pick(r, "a", "b"))
		t.Numbers = append(t.Numbers, int32(r.Intn(2)))
	}
	t.Bytes = pick(r, nil, []byte{}, []byte("a"), []byte("b"))
	t.Labels = pick(r, nil, map[string]string{}, map[string]string{"a": "b"}, map[string]string{"b": "a"}, map[string]string{"a": "b", "b": "a"})
	t.Amounts = pick(r, nil, map[color]resource.Quantity{"a": resource.MustParse(pick(r, "1", "1Gi"))})
	t.Data = pick(r, nil, map[string][]byte{"a": []byte(pick(r, "1", "2"))})
	t.ByID = pick(r, nil, map[int]inner{r.Intn(2): {Text: ptr("z")}})
	t.Any, t.Tree = randomAny(r, 2), pick(r, nil, map[string]any{"a": randomAny(r, 2), "b": randomAny(r, 1)})
	t.Pair[r.Intn(2)] = ptr(int64(r.Intn(2)))
	t.At = pick(r, nil, &metav1.Time{}, ptr(metav1.Unix(int64(r.Intn(2)), 0)))
	t.Fields = pick(r, nil, metav1.NewFieldsV1(`{}`), metav1.NewFieldsV1(`{"f:a":{}}`))
	t.Flag = pick(r, nil, ptr(true), ptr(false))
	return t
}

func randomAny(r *rand.Rand, depth int) any {
	if depth == 0 || r.Intn(3) == 0 {
		return pick[any](r, nil, true, false, int64(1), int64(1000), 1.0, 1.5, "", "a", "b", []any(nil), map[string]any(nil))
	}
	if r.Intn(2) == 0 {
		return append(make([]any, 0, 4), randomAny(r, depth-1), randomAny(r, depth-1))
	}
	return map[string]any{"a": randomAny(r, depth-1), pick(r, "b", "c"): randomAny(r, depth-1)}
}

// TestShareChangesNothing: sharing does not change an object, now or after many others, for any
// former contents and any size of the cache.
func TestShareChangesNothing(t *testing.T) {
	plan := Compile(reflect.TypeFor[thing]())
	for _, parts := range []int{0, 1, 7, 64, 4096} {
		c := NewCache(parts)
		var got, want []*thing
		for seed := range int64(120) {
			a, b := random(rand.New(rand.NewSource(seed)), 3), random(rand.New(rand.NewSource(seed)), 3)
			plan.Share(&a, c)
			got, want = append(got, &a), append(want, &b)
		}
		for i := range got {
			if !reflect.DeepEqual(got[i], want[i]) {
				t.Fatalf("%d parts: object %d is\n%+v\nwant\n%+v", parts, i, got[i], want[i])
			}
		}
	}
}

// TestEqualPartsAreOne: of equal objects, the fourth has the parts of the third, but for a few
// whose hashes have all a place in common.
func TestEqualPartsAreOne(t *testing.T) {
	plan, all, shared := Compile(reflect.TypeFor[thing]()), 0, 0
	for seed := range int64(50) {
		c := NewCache(1 << 14)
		var equal [4]thing
		for i := range equal {
			equal[i] = random(rand.New(rand.NewSource(seed)), 3)
			plan.Share(&equal[i], c)
		}
		eachPart(reflect.ValueOf(equal[2]), reflect.ValueOf(equal[3]), func(a, b reflect.Value) {
			if all++; a.Pointer() == b.Pointer() {
				shared++
			}
			if a.Kind() == reflect.Slice && a.Len() > 0 && a.Cap() > a.Len() {
				t.Errorf("seed %d: %v has room behind its end", seed, a)
			}
		})
	}
	if all < 5000 || shared < all*99/100 {
		t.Errorf("%d of %d parts are shared", shared, all)
	}
}

// eachPart calls f for all parts of two equal values.
func eachPart(a, b reflect.Value, f func(a, b reflect.Value)) {
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			if a.Type().Field(i).IsExported() && a.Type() != reflect.TypeFor[resource.Quantity]() {
				eachPart(a.Field(i), b.Field(i), f)
			}
		}
		return
	case reflect.Array:
		for i := range a.Len() {
			eachPart(a.Index(i), b.Index(i), f)
		}
		return
	case reflect.Interface, reflect.Pointer, reflect.Map, reflect.Slice:
		if a.IsNil() {
			return
		}
	default:
		return
	}
	if a.Kind() != reflect.Interface {
		f(a, b)
	}
	switch a.Kind() {
	case reflect.Interface, reflect.Pointer:
		eachPart(a.Elem(), b.Elem(), f)
	case reflect.Slice:
		for i := range a.Len() {
			eachPart(a.Index(i), b.Index(i), f)
		}
	case reflect.Map:
		for _, k := range a.MapKeys() {
			eachPart(a.MapIndex(k), b.MapIndex(k), f)
		}
	}
}

// hiding has what is not followed: fields that are not exported, interfaces with methods,
// and what only its UnmarshalJSON knows.
type hiding struct {
	Clock  fmt.Stringer
	Opaque *opaque
	Any    any
	hidden []string
	*embedded
	Loc time.Time
}

type (
	opaque   struct{ List []*string }
	embedded struct{ Kind string }
)

func (*opaque) UnmarshalJSON([]byte) error { return nil }

func TestWhatIsNotFollowed(t *testing.T) {
	plan, c := Compile(reflect.TypeFor[hiding]()), NewCache(64)
	var all [5]hiding
	for i := range all {
		all[i] = hiding{Clock: ptr(resource.MustParse("1")), Opaque: &opaque{[]*string{ptr("x")}}, Any: new(int), hidden: []string{"a"}, embedded: &embedded{"b"}}
		plan.Share(&all[i], c)
	}
	a, b := all[3], all[4]
	if a.Clock == b.Clock || a.Opaque == b.Opaque || a.Any == b.Any || &a.hidden[0] == &b.hidden[0] || a.embedded == b.embedded {
		t.Errorf("%+v and %+v share something", a, b)
	}
}

// TestMapInPlaceOfObject: the map itself is its owner's to write to.
func TestMapInPlaceOfObject(t *testing.T) {
	plan, c := Compile(reflect.TypeFor[map[string]any]()), NewCache(64)
	var all [4]map[string]any
	for i := range all {
		all[i] = map[string]any{"spec": map[string]any{"a": []any{"b", int64(1000)}}}
		plan.Share(&all[i], c)
	}
	eachPart(reflect.ValueOf(all[2]["spec"]), reflect.ValueOf(all[3]["spec"]), func(a, b reflect.Value) {
		if a.Pointer() != b.Pointer() {
			t.Errorf("%v is not shared", a)
		}
	})
	if all[2]["kind"] = "x"; all[3]["kind"] != nil {
		t.Error("the objects are one map")
	}
	plan.Share(new(map[string]any), c)
}

// TestMemoryIsBounded: of many parts no more are kept than there are slots, and none that
// is large or came once.
func TestMemoryIsBounded(t *testing.T) {
	plan, c := Compile(reflect.TypeFor[thing]()), NewCache(100)
	if n := unsafe.Sizeof(bucket{}); len(c.buckets)*ways != 128 || n > ways*34 {
		t.Errorf("%d places of %d bytes", len(c.buckets), n)
	}
	kept := func() (n int) {
		for _, b := range c.buckets {
			for _, p := range b.parts {
				if p.at != nil {
					n++
				}
			}
		}
		return n
	}
	for i := range 5000 {
		plan.Share(&thing{Words: []string{fmt.Sprint(i)}}, c)
	}
	large := strings.Repeat("x", maxPart)
	for range 5 {
		plan.Share(&thing{Words: []string{large, "y"}, Next: &thing{Bytes: []byte(large + "z")}}, c)
	}
	if n := kept(); n > 0 {
		t.Errorf("%d parts are kept that are large or came once", n)
	}
	for i := range 5000 {
		for range 3 {
			plan.Share(&thing{Words: []string{fmt.Sprint(i)}}, c)
		}
	}
	if n := kept(); n < 100 || n > 128 {
		t.Errorf("%d parts are kept though many came three times", n)
	}
}

// TestDeepAndCyclic: what nests deeper than JSON can is left as it is.
func TestDeepAndCyclic(t *testing.T) {
	plan, c := Compile(reflect.TypeFor[thing]()), NewCache(64)
	for range 3 {
		cyclic := &thing{Name: "a"}
		cyclic.Next = cyclic
		plan.Share(cyclic, c)
		if cyclic.Next != cyclic {
			t.Fatal("a cycle was opened")
		}
	}
}

// TestReadersBesideSharing reads objects in other goroutines while parts of them are given
// to more objects. The race detector has something to say if they are written to.
func TestReadersBesideSharing(t *testing.T) {
	plan, c := Compile(reflect.TypeFor[thing]()), NewCache(256)
	var readers sync.WaitGroup
	for seed := range int64(80) {
		a := random(rand.New(rand.NewSource(seed%5)), 3)
		plan.Share(&a, c)
		readers.Go(func() {
			if b := random(rand.New(rand.NewSource(seed%5)), 3); !reflect.DeepEqual(a, b) {
				t.Errorf("seed %d: %+v, want %+v", seed, a, b)
			}
		})
	}
	readers.Wait()
}

// priced has quantities in every place. String of a quantity writes to it, so it may be
// called for one object while others are read or shared, but for what maps copy.
type priced struct {
	Limit   *resource.Quantity
	Limits  []resource.Quantity
	Ref     *cost
	Pairs   [][1]cost
	Amounts map[string]resource.Quantity
	Named   map[string]*cost
	Times   []metav1.Time
}

type cost struct {
	Words []string
	Each  resource.Quantity
}

func newPriced() *priced {
	q := resource.MustParse("8Gi")
	return &priced{
		Limit: ptr(q), Limits: []resource.Quantity{q}, Ref: &cost{[]string{"a"}, q}, Pairs: [][1]cost{{{nil, q}}},
		Amounts: map[string]resource.Quantity{"a": q}, Named: map[string]*cost{"a": {nil, q}}, Times: []metav1.Time{metav1.Unix(7, 0)},
	}
}

// TestReadersThatWrite: what its own methods write to is in no two objects.
func TestReadersThatWrite(t *testing.T) {
	plan, c := Compile(reflect.TypeFor[priced]()), NewCache(256)
	var readers sync.WaitGroup
	var all []*priced
	for range 30 {
		p := newPriced()
		plan.Share(p, c)
		all = append(all, p)
		readers.Go(func() {
			amount := p.Amounts["a"]
			for _, q := range []*resource.Quantity{p.Limit, &p.Limits[0], &p.Ref.Each, &p.Pairs[0][0].Each, &p.Named["a"].Each, &amount} {
				if q.String() != "8Gi" {
					t.Errorf("got %v", q)
				}
			}
		})
	}
	readers.Wait()
	a, b := all[28], all[29]
	if a.Limit == b.Limit || &a.Limits[0] == &b.Limits[0] || a.Ref == b.Ref || &a.Pairs[0] == &b.Pairs[0] || a.Named["a"] == b.Named["a"] {
		t.Error("a quantity is in two objects")
	}
	if &a.Ref.Words[0] != &b.Ref.Words[0] || reflect.ValueOf(a.Amounts).Pointer() != reflect.ValueOf(b.Amounts).Pointer() || &a.Times[0] != &b.Times[0] {
		t.Error("what is beside quantities, in maps, or a time is not shared")
	}
}

// TestEmptyPartsWeigh: a part of nothing but empty values is as large as any other, and an
// empty slice has no room to append to.
func TestEmptyPartsWeigh(t *testing.T) {
	plan, c := Compile(reflect.TypeFor[thing]()), NewCache(64)
	maps := func() (all []any) {
		for range maxPart / emptyMap {
			all = append(all, map[string]any{})
		}
		return all
	}
	var all [4]thing
	for i := range all {
		all[i] = thing{
			Next: &thing{Words: make([]string, 0, 5)}, Things: make([]thing, maxPart/200), Links: make([]*thing, maxPart/8+1),
			Words: make([]string, maxPart/16+1), Any: maps(), Tree: map[string]any{"a": make([]any, maxPart/16+1)},
		}
		plan.Share(&all[i], c)
		if room := cap(all[i].Next.Words); room > 0 {
			t.Errorf("room for %d words", room)
		}
	}
	a, b := all[2], all[3]
	if &a.Things[0] == &b.Things[0] || &a.Links[0] == &b.Links[0] || &a.Words[0] == &b.Words[0] || &a.Any.([]any)[0] == &b.Any.([]any)[0] ||
		reflect.ValueOf(a.Tree).Pointer() == reflect.ValueOf(b.Tree).Pointer() {
		t.Error("a part of more than 64 KiB is shared")
	}
}

func TestShareRefusesOtherTypes(t *testing.T) {
	plan := Compile(reflect.TypeFor[thing]())
	for _, object := range []any{nil, thing{}, (*thing)(nil), new(string)} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%T was taken", object)
				}
			}()
			plan.Share(object, NewCache(1))
		}()
	}
}
