package kubeproto

import (
	"bytes"
	"fmt"
	"math/rand"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"
	"weak"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// encodedSamples returns random metadata, each several times in a row.
func encodedSamples(t testing.TB, r *rand.Rand, n int) [][]byte {
	var all [][]byte
	for range n {
		data, err := samples["PartialObjectMetadata"](r).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if r.Intn(8) == 0 && len(all) > 0 {
			data = append(data, all[r.Intn(len(all))]...) // every field once more
		}
		all = append(all, data, data, data)
	}
	return all
}

// TestPartsAgree decodes as the generated code does, whatever is known already, and what was
// decoded before stays as it is.
func TestPartsAgree(t *testing.T) {
	plan := mustCompile[metav1.PartialObjectMetadata](t)
	for _, size := range []int{1, 64, 4096} {
		o := Options{Parts: NewParts(size), Strings: NewStrings(64)}
		var got, want []*metav1.PartialObjectMetadata
		for _, data := range encodedSamples(t, rand.New(rand.NewSource(int64(size))), 500) {
			requireAgreement(t, "parts", plan, &metav1.PartialObjectMetadata{}, data, o)
			a, b := new(metav1.PartialObjectMetadata), new(metav1.PartialObjectMetadata)
			if err := plan.Decode(data, a, o); err != nil {
				t.Fatal(err)
			}
			if err := b.Unmarshal(data); err != nil {
				t.Fatal(err)
			}
			got, want = append(got, a), append(want, b)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("%d parts: what was decoded has changed: %s", size, d)
		}
	}
}

// TestPartsAtTheSameTime is for the race detector: nothing is written to what others have.
func TestPartsAtTheSameTime(t *testing.T) {
	plan := mustCompile[metav1.PartialObjectMetadata](t)
	all := encodedSamples(t, rand.New(rand.NewSource(7)), 100)
	o := Options{Parts: NewParts(128)}
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			r := rand.New(rand.NewSource(int64(worker)))
			for range 500 {
				data := all[r.Intn(len(all))]
				got, want := new(metav1.PartialObjectMetadata), new(metav1.PartialObjectMetadata)
				if err := plan.Decode(data, got, o); err != nil {
					t.Error(err)
				}
				if err := want.Unmarshal(data); err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("got %v, want %v, %v", got, want, err)
				}
			}
		})
	}
	group.Wait()
}

// TestParts checks what is shared and what is not.
func TestParts(t *testing.T) {
	plan := mustCompile[everything](t)
	data := join(
		textField(5, "text"), textField(5, "text2"), // Texts
		textField(22, "\x0a\x01x"),                               // Pointers
		textField(23, "\x0a\x01k\x12\x01v"),                      // Labels2
		textField(25, "\x0a\x03cpu\x12\x04\x0a\x022k"),           // Amounts
		textField(36, "\x0a\x021k"), textField(37, "\x0a\x023k"), // Size, Sizes
		textField(38, "foreign"), textField(40, "\x0a\x02{}"), // Foreign, Fields
		numberField(17, 3), numberField(17, 4), // Int32s
	)
	o := Options{Parts: newParts(1<<18, 1<<18)}
	var all []*everything
	for range 4 {
		one := new(everything)
		if err := plan.Decode(data, one, o); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	a, b := all[2], all[3]
	for name, same := range map[string]bool{
		"Texts":    &a.Texts[0] == &b.Texts[0],
		"Pointers": &a.Pointers[0] == &b.Pointers[0],
		"Labels2":  reflect.ValueOf(a.Labels2).Pointer() == reflect.ValueOf(b.Labels2).Pointer(),
		"Amounts":  reflect.ValueOf(a.Amounts).Pointer() == reflect.ValueOf(b.Amounts).Pointer(),
		"Fields":   a.Fields == b.Fields,
	} {
		if !same {
			t.Errorf("%s are not shared", name)
		}
	}
	for name, same := range map[string]bool{
		"Size": a.Size == b.Size, "Sizes": &a.Sizes[0] == &b.Sizes[0], "Foreign": a.Foreign == b.Foreign, "Int32s": &a.Int32s[0] == &b.Int32s[0],
	} {
		if same {
			t.Errorf("%s are shared", name)
		}
	}
	if cap(a.Texts) > 2 || cap(a.Int32s) > 2 || cap(a.Pointers) > 1 {
		t.Errorf("spare capacities %d, %d, %d", cap(a.Texts), cap(a.Int32s), cap(a.Pointers))
	}
	if a.Amounts["cpu"] != resource.MustParse("2k") || len(all[0].Texts) != 2 {
		t.Errorf("decoded %v, %v", a.Amounts, all[0].Texts)
	}
}

// TestPartsOfOneObject has parts that repeat only within an object. They are shared there, and take
// no place of others.
func TestPartsOfOneObject(t *testing.T) {
	plan := mustCompile[metav1.ObjectMeta](t)
	parts := newParts(1<<16, 1<<16)
	for i := range 100 {
		at := metav1.Unix(int64(i), 0)
		want := metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{Time: &at}, {Time: &at}}}
		data, err := want.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		got := new(metav1.ObjectMeta)
		if err := plan.Decode(data, got, Options{Parts: parts}); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(&want, got); d != "" {
			t.Fatal(d)
		}
		if got.ManagedFields[0].Time != got.ManagedFields[1].Time {
			t.Fatal("allocated twice")
		}
	}
	if n := parts.young.Load().added.Load(); n != 0 {
		t.Fatalf("%d have entered", n)
	}
}

// TestPartsOfNumbers shares the targets of pointers to small numbers, from the first object on.
func TestPartsOfNumbers(t *testing.T) {
	type numbers struct {
		Bool  *bool    `json:"bool" protobuf:"varint,1,opt,name=bool"`
		Int32 *int32   `json:"int32" protobuf:"varint,2,opt,name=int32"`
		Int64 *int64   `json:"int64" protobuf:"varint,3,opt,name=int64"`
		Float *float64 `json:"float" protobuf:"fixed64,4,opt,name=float"`
	}
	plan, err := Compile(reflect.TypeFor[numbers]())
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Parts: NewParts(1)}
	for _, v := range []int64{0, 1, 511, 512, -1, 1 << 40} {
		var two [2]numbers
		for i := range two {
			data := join(numberField(1, uint64(v)), numberField(2, uint64(v)), numberField(3, uint64(v)), []byte("\x21\x00\x00\x00\x00\x00\x00\x00\x00"))
			if err := plan.Decode(data, &two[i], o); err != nil {
				t.Fatal(err)
			}
		}
		a, b := two[0], two[1]
		if *a.Bool != (v != 0) || *a.Int32 != int32(v) || *a.Int64 != v || *a.Float != 0 {
			t.Errorf("%d became %v, %v, %v, %v", v, *a.Bool, *a.Int32, *a.Int64, *a.Float)
		}
		if small := v >= 0 && v < 512; a.Bool != b.Bool || (a.Int32 == b.Int32) != small || (a.Int64 == b.Int64) != small || a.Float == b.Float {
			t.Errorf("%d: shared %v, %v, %v, %v", v, a.Bool == b.Bool, a.Int32 == b.Int32, a.Int64 == b.Int64, a.Float == b.Float)
		}
	}
}

// TestPartsKeepOwnedApart checks that a value whose methods write to it is not shared as a part of
// something else.
func TestPartsKeepOwnedApart(t *testing.T) {
	type inner struct {
		Size *resource.Quantity `json:"size" protobuf:"bytes,1,opt,name=size"`
		Name string             `json:"name" protobuf:"bytes,2,opt,name=name"`
	}
	type outer struct {
		Inner *inner  `json:"inner" protobuf:"bytes,1,opt,name=inner"`
		Many  []inner `json:"many" protobuf:"bytes,2,rep,name=many"`
	}
	plan, err := Compile(reflect.TypeFor[outer]())
	if err != nil {
		t.Fatal(err)
	}
	decode := func(o Options, data []byte) *outer {
		one := new(outer)
		if err := plan.Decode(data, one, o); err != nil {
			t.Fatal(err)
		}
		return one
	}
	for _, c := range []struct {
		data   string
		shared bool
	}{{"\x12\x01a", true}, {"\x0a\x04\x0a\x021k\x12\x01a", false}} {
		o := Options{Parts: newParts(1<<18, 1<<18)}
		data := join(textField(1, c.data), textField(2, c.data))
		decode(o, data)
		decode(o, data)
		a, b := decode(o, data), decode(o, data)
		if (a.Inner == b.Inner) != c.shared || (&a.Many[0] == &b.Many[0]) != c.shared {
			t.Errorf("%q: shared %v and %v", c.data, a.Inner == b.Inner, &a.Many[0] == &b.Many[0])
		}
	}
}

// sameAsWithout decodes each of the inputs in turn, with the same parts and without.
func sameAsWithout[T any](t *testing.T, o Options, inputs ...[]byte) {
	t.Helper()
	plan, err := Compile(reflect.TypeFor[T]())
	if err != nil {
		t.Fatal(err)
	}
	without := o
	without.Parts = nil
	for i, data := range inputs {
		got, want := new(T), new(T)
		err, wantErr := plan.Decode(data, got, o), plan.Decode(data, want, without)
		if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
			t.Errorf("input %d: error %v, without parts %v", i, err, wantErr)
		}
		if err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("input %d: got\n%+v\nwant\n%+v", i, got, want)
		}
	}
}

// TestPartsOfEntriesThatAreTooShort reads what follows an entry of a map whose value ends behind
// it.
func TestPartsOfEntriesThatAreTooShort(t *testing.T) {
	a := join(textField(23, "\x0a\x01k\x12\x04"), []byte("\x10\x01\x18\x01"))
	b := join(textField(23, "\x0a\x01k\x12\x04"), []byte("\x10\x02\x18\x02"))
	c := join(textField(23, "\x0a\x01k\x12\x04"), []byte("\x10\x02"))
	sameAsWithout[everything](t, Options{Parts: NewParts(64)}, a, a, a, b, c)
}

// chain can be as deep as its bytes allow.
type chain struct {
	Next *chain `json:"next" protobuf:"bytes,1,opt,name=next"`
}

// TestPartsInTheDepth knows a part that is too deep where it comes next.
func TestPartsInTheDepth(t *testing.T) {
	nest := func(data []byte, n int) []byte {
		for range n {
			data = join(textField(1, string(data)))
		}
		return data
	}
	shallow := nest(nil, 9000)
	deep := nest(shallow, 2000)
	sameAsWithout[chain](t, Options{Parts: newParts(1<<16, 1<<16)}, shallow, shallow, shallow, deep)
}

// TestPartsAndMaxMemory counts parts that are known as those that are not.
func TestPartsAndMaxMemory(t *testing.T) {
	var x [][]byte
	for range 100 {
		x = append(x, textField(5, "text"))
	}
	some := join(x...)
	more := join(append(x[:100:100], textField(6, strings.Repeat("x", 10)), textField(22, "\x0a\x01x"))...)
	for most := int64(1500); most < 1800; most++ {
		sameAsWithout[everything](t, Options{Parts: NewParts(64), MaxMemory: most}, some, some, some, more)
		o := Options{Parts: NewParts(64)}
		plan := mustCompile[everything](t)
		for range 3 {
			_ = plan.Decode(more, new(everything), o)
		}
		o.MaxMemory = most
		sameAsWithout[everything](t, o, some, more)
	}
}

// TestPartsOfPointersToOwned does not share lists of pointers to values whose methods write to
// them.
func TestPartsOfPointersToOwned(t *testing.T) {
	type inner struct {
		Size resource.Quantity `json:"size" protobuf:"bytes,1,opt,name=size"`
	}
	type outer struct {
		Many  []*inner             `json:"many" protobuf:"bytes,1,rep,name=many"`
		Sizes []*resource.Quantity `json:"sizes" protobuf:"bytes,2,rep,name=sizes"`
	}
	plan, err := Compile(reflect.TypeFor[outer]())
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Parts: newParts(1<<16, 1<<16)}
	data := join(textField(1, "\x0a\x04\x0a\x021k"), textField(2, "\x0a\x021k"))
	var all []*outer
	for range 4 {
		one := new(outer)
		if err := plan.Decode(bytes.Clone(data), one, o); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	if a, b := all[2], all[3]; a.Many[0] == b.Many[0] || a.Sizes[0] == b.Sizes[0] {
		t.Error("shared")
	}
}

// room is a type that only its own method can decode, which leaves spare room.
type room struct {
	Raw []byte `json:"raw"`
}

func (r *room) Unmarshal(data []byte) error {
	r.Raw = append(make([]byte, 0, 2*len(data)+8), data...)
	return nil
}

// TestPartsHaveNoSpareRoom has a type whose own method leaves some.
func TestPartsHaveNoSpareRoom(t *testing.T) {
	type outer struct {
		Room *room `json:"room" protobuf:"bytes,1,opt,name=room"`
	}
	plan, err := Compile(reflect.TypeFor[outer]())
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Parts: newParts(1<<16, 1<<16)}
	var all []*outer
	for range 4 {
		one := new(outer)
		if err := plan.Decode(textField(1, "x"), one, o); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	if all[2].Room == all[3].Room && cap(all[2].Room.Raw) > 1 {
		t.Errorf("a capacity of %d is shared", cap(all[2].Room.Raw))
	}
}

// TestPartsOfListsThatLookAlike has lists that differ only in the length of the first value.
func TestPartsOfListsThatLookAlike(t *testing.T) {
	one := textField(5, "a\x2a\x01b")
	two := join(textField(5, "a"), textField(5, "b"))
	sameAsWithout[everything](t, Options{Parts: NewParts(64)}, one, one, one, two, two, two, one)
}

// TestPartsAreBounded: however many parts come twice, the tables keep those that came last, and those that are asked
// for again and again.
func TestPartsAreBounded(t *testing.T) {
	plan := mustCompile[metav1.ObjectMeta](t)
	decode := func(s *Parts, o Options, owner string) *metav1.ObjectMeta {
		want := metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Name: owner}}}
		data, err := want.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		got := new(metav1.ObjectMeta)
		if o.Parts = s; plan.Decode(data, got, o) != nil || got.OwnerReferences[0].Name != owner {
			t.Fatal(got)
		}
		return got
	}
	const most = 1 << 11
	s := NewParts(most)
	popular := func() *metav1.OwnerReference { return &decode(s, Options{}, "popular").OwnerReferences[0] }
	last := popular()
	decode(s, Options{}, "gone")
	gone := weak.Make(&decode(s, Options{}, "gone").OwnerReferences[0])
	long := strings.Repeat("x", 100)
	kept := 0
	for i := range 4 * most {
		decode(s, Options{}, fmt.Sprint(long, i))
		decode(s, Options{}, fmt.Sprint(long, i))
		now := popular()
		if now == last {
			kept++
		}
		last = now
	}
	if kept < 3*most { // two parts may have one place
		t.Errorf("the part that is asked for again and again was found %d times of %d", kept, 4*most)
	}
	for _, g := range []*generation{s.young.Load(), s.old.Load()} {
		if n := g.added.Load(); len(g.rows)*rowParts != most || n > most/2 || g.bytes.Load() > most*slotBytes {
			t.Errorf("%d slots, %d parts, %d bytes", len(g.rows)*rowParts, n, g.bytes.Load())
		}
	}
	for range 4 {
		runtime.GC()
	}
	if gone.Value() != nil {
		t.Error("a part that nobody asks for is still alive")
	}
	added := s.young.Load().added.Load()
	for range 5 {
		decode(s, Options{KnownParts: true}, "an update")
	}
	if s.young.Load().added.Load() != added {
		t.Error("a part of new states of an object has entered")
	}
	for range 3 {
		decode(s, Options{}, strings.Repeat("x", maxPart))
	}
	if s.young.Load().added.Load() != added {
		t.Error("a large part has entered")
	}
}

// TestLuck: a field whose values are unknown rests after a thousand, and is tried again. One value of six that is known
// keeps it from resting.
func TestLuck(t *testing.T) {
	var l luck
	for i := range 10 * mostUnlucky {
		if l.rests() {
			t.Fatalf("rests after %d values", i)
		}
		l.count(i%5 == 0, false)
	}
	for !l.rests() {
		l.count(false, false)
	}
	n := 1
	for l.rests() {
		n++
	}
	if n != longestRest {
		t.Errorf("rests for %d values, want %d", n, longestRest)
	}
	for range mostUnlucky - 1 {
		l.count(false, false)
	}
	if l.rests() {
		t.Error("a second chance is no chance")
	}
}

// FuzzParts compares with decoding without parts, and checks that what was decoded does not change.
func FuzzParts(f *testing.F) {
	for _, test := range decodeTests {
		f.Add([]byte(test.in), []byte(test.in), int64(0))
	}
	plan := mustCompile[everything](f)
	f.Fuzz(func(t *testing.T, x, y []byte, most int64) {
		o := Options{Parts: NewParts(16), MaxMemory: most}
		type result struct {
			got, want *everything
			failed    bool
		}
		var all []result
		for _, data := range [][]byte{x, x, x, y, y, append(bytes.Clone(x), y...), y, x} {
			got, want := new(everything), new(everything)
			err, wantErr := plan.Decode(data, got, o), plan.Decode(data, want, Options{MaxMemory: most})
			if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
				t.Fatalf("error %v, without parts %v", err, wantErr)
			}
			all = append(all, result{got, want, err != nil})
		}
		for i, one := range all {
			if !one.failed && !reflect.DeepEqual(one.got, one.want) && !hasNaN(one.want) {
				t.Errorf("object %d: got\n%+v\nwant\n%+v", i, one.got, one.want)
			}
		}
	})
}

// hasNaN reports whether a value is not even equal to itself.
func hasNaN(e *everything) bool {
	return e.Float32 != e.Float32 || e.Float64 != nil && *e.Float64 != *e.Float64
}

// An object with a shared number does not keep alive the parts of all other objects.
func TestNumbersKeepNoParts(t *testing.T) {
	plan := mustCompile[metav1.ObjectMeta](t)
	decode := func() (*metav1.ObjectMeta, weak.Pointer[Parts]) {
		parts, got := NewParts(64), new(metav1.ObjectMeta)
		if err := plan.Decode(numberField(10, 30), got, Options{Parts: parts}); err != nil {
			t.Fatal(err)
		}
		if got.DeletionGracePeriodSeconds != &parts.small.int64s[30] {
			t.Error("the number is not shared")
		}
		return got, weak.Make(parts)
	}
	got, parts := decode()
	for range 10 {
		runtime.GC()
	}
	if parts.Value() != nil {
		t.Error("the parts are alive")
	}
	runtime.KeepAlive(got)
}

// TestPartsOfOneRow fills a row. The next part replaces one, and the others are still found. A part is known by its
// bytes and field, whatever its mark.
func TestPartsOfOneRow(t *testing.T) {
	parts, of := newParts(64, 64), new(naming) // far from full
	hashes := func(i int) uint64 { return uint64(i+1)<<33 | uint64(i)<<30 }
	raw := func(i int) []byte { return []byte{byte(i)} }
	for i := range rowParts {
		parts.add(&part{of: of, raw: raw(i)}, hashes(i))
	}
	found := func(n int) (known int) {
		for i := range n {
			p, _ := parts.find(of, raw(i), hashes(i))
			if p != nil && !bytes.Equal(p.raw, raw(i)) {
				t.Errorf("part %d is %x", i, p.raw)
			}
			if p != nil {
				known++
			}
		}
		return known
	}
	if n := found(rowParts); n != rowParts {
		t.Errorf("%d parts in a row of %d", n, rowParts)
	}
	parts.add(&part{of: of, raw: raw(rowParts)}, hashes(rowParts))
	if p, _ := parts.find(of, raw(rowParts), hashes(rowParts)); p == nil || found(rowParts+1) != rowParts {
		t.Errorf("of %d parts, %d are known", rowParts+1, found(rowParts+1))
	}
	for name, wrong := range map[string]func() (*part, bool){
		"other bytes":   func() (*part, bool) { return parts.find(of, raw(9), hashes(rowParts)) },
		"another field": func() (*part, bool) { return parts.find(new(naming), raw(rowParts), hashes(rowParts)) },
	} {
		if p, _ := wrong(); p != nil {
			t.Errorf("%s: %x is known", name, p.raw)
		}
	}
}

// TestPartsSize: a Parts has the places that were asked for, in whole rows.
func TestPartsSize(t *testing.T) {
	for most, want := range map[int]int{-1: 1, 0: 1, 1: 1, 4: 1, 5: 2, 8: 2, 9: 4, 1 << 16: 1 << 14} {
		if n := len(newParts(most, most).young.Load().rows); n != want {
			t.Errorf("%d parts: %d rows, want %d", most, n, want)
		}
	}
	if n := unsafe.Sizeof(row{}); n > 64 {
		t.Errorf("a row takes %d bytes, more than a line", n)
	}
}
