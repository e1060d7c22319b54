package kubeproto

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kinform/kinform/internal/memtest"
)

func fixed32(num int, v float32) []byte {
	return binary.LittleEndian.AppendUint32(tagBytes(num, 5), math.Float32bits(v))
}

func fixed64(num int, v float64) []byte {
	return binary.LittleEndian.AppendUint64(tagBytes(num, 1), math.Float64bits(v))
}

func group(num int, in ...[]byte) []byte {
	return join(tagBytes(num, 3), join(in...), tagBytes(num, 4))
}

func pair(key, value []byte) []byte { return join(textField(1, key), textField(2, value)) }

// minus is how protobuf writes a negative number of any width.
func minus(n int64) uint64 { return uint64(-n) }

func local(sec, nsec int64) time.Time { return time.Unix(sec, nsec).Local() }

var decodeTests = map[string]struct {
	in   []byte
	want everything
}{
	"nothing": {},
	"scalars": {
		join(numberField(9, 7), numberField(10, 0), numberField(12, minus(3)), numberField(13, 65535), numberField(14, minus(5)),
			numberField(15, math.MaxUint64), numberField(16, 1<<31), numberField(18, math.MaxUint64), fixed32(19, 1.5), fixed64(20, -2)),
		everything{Yes: true, YesPtr: new(bool), Int8: -3, Uint16: 65535, Int32: -5, Int64: -1, Int32Ptr: ptr[int32](math.MinInt32),
			Uint64: math.MaxUint64, Float32: 1.5, Float64: ptr(-2.0)},
	},
	"the last scalar wins": {
		join(textField(2, "a"), numberField(14, 1), textField(4, "a"), numberField(16, 1), textField(7, "abc"), numberField(9, 1),
			textField(2, "b"), numberField(14, 2), textField(4, "b"), numberField(16, 2), textField(7, "d"), numberField(9, 0)),
		everything{Text: "b", Int32: 2, TextPtr: ptr("b"), Int32Ptr: ptr[int32](2), Blob: []byte("d")},
	},
	"empty is not nil": {
		join(textField(4, ""), textField(5, ""), textField(7, ""), textField(8, ""), textField(22, ""), textField(23, ""), textField(26, ""),
			textField(27, ""), textField(28, ""), textField(30, "")),
		everything{TextPtr: new(string), Texts: []string{""}, Blob: []byte{}, Blobs: [][]byte{{}}, Pointers: []*branch{{}},
			Labels2: map[string]string{"": ""}, Data: map[string][]byte{"": {}}, Tree: map[string]branch{"": {}},
			Extra: map[string]words{"": {}}, Words: words{}},
	},
	"packed and unpacked": {
		join(numberField(17, 1), textField(17, []byte{2, 0x80, 1, 3}), textField(17, ""), numberField(17, minus(1)), textField(11, []byte{0, 1})),
		everything{Int32s: []int32{1, 2, 128, 3, -1}, Yeses: []bool{false, true}},
	},
	"an empty packed list is none": {textField(17, ""), everything{}},
	"messages merge": {
		join(messageField(21, textField(1, "a"), messageField(2, textField(1, "b"))), textField(3, "red"),
			messageField(21, messageField(2, messageField(3, textField(1, "c"))), messageField(3))),
		everything{Color: "red", Branch: branch{Name: "a", Next: &branch{Name: "b", All: []branch{{Name: "c"}}}, All: []branch{{}}}},
	},
	"lists whose elements take turns": {
		join(textField(5, "a"), textField(6, "red"), textField(5, "b"), textField(5, "c"), textField(6, "blue"), textField(5, "d"),
			messageField(22, textField(1, "x")), textField(2, "t"), messageField(22), messageField(22, textField(1, "z"))),
		everything{Text: "t", Texts: []string{"a", "b", "c", "d"}, Colors: []color{"red", "blue"},
			Pointers: []*branch{{Name: "x"}, {}, {Name: "z"}}},
	},
	"maps": {
		join(messageField(23, pair([]byte("k"), []byte("v"))), messageField(23, textField(2, "v2"), textField(1, "k2"), numberField(3, 1)),
			messageField(23, pair([]byte("k"), []byte("new"))), messageField(24, pair([]byte("red"), []byte("blue"))),
			messageField(25, pair([]byte("cpu"), textField(1, "100m"))), messageField(25, textField(1, "none")),
			messageField(26, pair([]byte("k"), []byte{1})), messageField(27, textField(1, "k"), messageField(2, textField(1, "n"))),
			messageField(28, textField(1, "k"), messageField(2, textField(1, "a"), textField(1, "b"))),
			messageField(29, textField(1, "k"), messageField(2, numberField(1, 5))), messageField(39, pair([]byte("f"), []byte("fo")))),
		everything{
			Labels2: map[string]string{"k": "new", "k2": "v2"}, Colors2: map[color]color{"red": "blue"},
			Amounts: map[color]resource.Quantity{"cpu": resource.MustParse("100m"), "none": {}}, Data: map[string][]byte{"k": {1}},
			Tree: map[string]branch{"k": {Name: "n"}}, Extra: map[string]words{"k": {"a", "b"}},
			Times: map[string]metav1.Time{"k": {Time: local(5, 0)}}, Several: map[string]foreign{"f": {"fo"}},
		},
	},
	"special types": {
		join(messageField(30, textField(1, "get"), textField(7, "ignored"), textField(1, "list")),
			messageField(31, numberField(1, 1700000000), numberField(2, 999)), messageField(32, numberField(2, 1)),
			messageField(33, numberField(2, 1999), numberField(1, 7)), messageField(34, numberField(1, 1500)),
			messageField(35, numberField(1, 1), textField(3, "http")), messageField(36, textField(1, "1Gi")),
			messageField(37, textField(1, "1"), textField(1, "2")), messageField(37), textField(38, "whatever"),
			messageField(40, textField(1, "{}")), messageField(41, textField(1, "kubectl"))),
		everything{
			Words: words{"get", "list"}, Time: metav1.Time{Time: local(1700000000, 0)}, TimePtr: &metav1.Time{Time: local(0, 0)},
			Micro: &metav1.MicroTime{Time: local(7, 1000)}, Took: metav1.Duration{Duration: 1500}, Port: intstr.FromString("http"),
			Size: ptr(resource.MustParse("1Gi")), Sizes: []resource.Quantity{resource.MustParse("2"), {}}, Foreign: &foreign{"whatever"},
			Fields: metav1.NewFieldsV1("{}"), Entries: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
		},
	},
	"a time without bytes is zero": {
		join(messageField(31, numberField(1, 5)), messageField(31), messageField(32), messageField(33)),
		everything{TimePtr: &metav1.Time{}, Micro: &metav1.MicroTime{}},
	},
	"what is unknown is ignored": {
		join(numberField(99, 1), textField(100, "x"), fixed32(101, 1), fixed64(5000, 1), group(300, textField(1, "x"), group(2, numberField(1, 1))),
			textField(2, "t"), messageField(1, textField(99, "x"), textField(1, "n"))),
		everything{Text: "t", ObjectMeta: metav1.ObjectMeta{Name: "n"}},
	},
	"numbers that are longer than need be": {
		join([]byte{0x92, 0x00, 0x83, 0x80, 0x00, 'a', 'b', 'c'}, // field 2
			[]byte{0x70, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7e}), // field 14, all bits beyond the 64th
		everything{Text: "abc"},
	},
}

func ptr[T any](v T) *T { return &v }

var compareAll = cmp.Options{
	cmp.AllowUnexported(foreign{}), cmpopts.IgnoreUnexported(everything{}), cmp.Comparer(func(a, b time.Time) bool { return a == b }),
	cmp.Comparer(func(a, b resource.Quantity) bool { return reflect.DeepEqual(a, b) }),
}

func TestDecode(t *testing.T) {
	plan := mustCompile[everything](t)
	warm, known := NewStrings(0), NewParts(256)
	for name, test := range decodeTests {
		for _, o := range []Options{{}, {Strings: warm}, {Strings: warm}, {Strings: new(Strings)}, {Parts: known}, {Parts: known}, {Parts: known}} {
			in := bytes.Clone(test.in)
			var got everything
			if err := plan.Decode(in, &got, o); err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			for i := range in {
				in[i] = 0xff // nothing decoded may look at it any more
			}
			if d := cmp.Diff(test.want, got, compareAll); d != "" {
				t.Errorf("%s: (-want +got)\n%s", name, d)
			}
		}
	}
}

func TestDropManagedFields(t *testing.T) {
	plan := mustCompile[everything](t)
	in := join(messageField(1, textField(1, "n"), messageField(17, textField(1, "kubectl")), textField(17, "\xff"), textField(3, "ns")),
		messageField(41, textField(1, "kept: not in metadata")))
	var got everything
	if err := plan.Decode(in, &got, Options{DropManagedFields: true}); err != nil {
		t.Fatal(err)
	}
	if got.Name != "n" || got.Namespace != "ns" || got.ManagedFields != nil || len(got.Entries) != 1 {
		t.Errorf("got %+v", got)
	}
	if err := plan.Decode(in, &got, Options{}); err == nil {
		t.Error("without the option they are not read")
	}
}

func TestDecodeErrors(t *testing.T) {
	plan := mustCompile[everything](t)
	nested := messageField(21, textField(1, "abc"), messageField(3), messageField(3, textField(1, "x"), []byte{0x0a, 9}))
	for name, test := range map[string]struct {
		in     []byte
		cause  error
		path   string
		offset int
	}{
		"half a tag":                  {join(textField(2, "a"), []byte{0x80}), io.ErrUnexpectedEOF, "", 3},
		"endless tag":                 {bytes.Repeat([]byte{0x80}, 11), ErrOverflow, "", 0},
		"field 0":                     {[]byte{0x02, 0x00}, ErrTag, "", 0},
		"negative field":              {numberField(-1, 1), ErrTag, "", 0},
		"end of no group":             {[]byte{0x14}, ErrTag, "", 0},
		"end of no group, unknown":    {tagBytes(99, 4), ErrTag, "", 0},
		"group without end":           {tagBytes(99, 3), io.ErrUnexpectedEOF, "", 0},
		"wire type 6":                 {[]byte{0x16}, ErrWireType, "text", 0},
		"wire type 7, unknown":        {tagBytes(99, 7), ErrTag, "", 0},
		"a number for a text":         {join(textField(3, "x"), numberField(2, 1)), ErrWireType, "text", 3},
		"a text for a number":         {textField(14, "x"), ErrWireType, "int32", 0},
		"a text for a pointer":        {textField(16, "x"), ErrWireType, "int32Ptr", 0},
		"no length":                   {tagBytes(2, 2), io.ErrUnexpectedEOF, "text", 0},
		"length beyond the end":       {[]byte{0x12, 0x02, 'a'}, io.ErrUnexpectedEOF, "text", 0},
		"huge length":                 {join(tagBytes(2, 2), binary.AppendUvarint(nil, math.MaxInt64)), io.ErrUnexpectedEOF, "text", 0},
		"negative length":             {join(tagBytes(2, 2), binary.AppendUvarint(nil, math.MaxUint64)), ErrLength, "text", 0},
		"huge length, unknown":        {join(tagBytes(99, 2), binary.AppendUvarint(nil, math.MaxInt64)), io.ErrUnexpectedEOF, "", 0},
		"short fixed":                 {tagBytes(20, 1), io.ErrUnexpectedEOF, "float64", 0},
		"short fixed, unknown":        {join(tagBytes(99, 5), []byte{1, 2}), io.ErrUnexpectedEOF, "", 0},
		"half a number":               {[]byte{0x70, 0x80}, io.ErrUnexpectedEOF, "int32", 0},
		"half a packed number":        {textField(17, []byte{1, 0x80}), io.ErrUnexpectedEOF, "int32s[1]", 4},
		"packed beyond the end":       {join(numberField(9, 1), tagBytes(17, 2), []byte{2, 1}), io.ErrUnexpectedEOF, "int32s", 2},
		"within":                      {nested, io.ErrUnexpectedEOF, "branch.all[1].name", len(nested) - 2},
		"in a list of pointers":       {messageField(22, []byte{0x0a}), io.ErrUnexpectedEOF, "pointers[0].name", 3},
		"in a map's text":             {textField(23, []byte{0x0a, 5}), io.ErrUnexpectedEOF, "labels2", 3},
		"in a map's message":          {messageField(27, textField(1, "k"), messageField(2, []byte{0x0a})), io.ErrUnexpectedEOF, "tree.k.name", 8},
		"a quantity that is none":     {messageField(36, textField(1, "many")), resource.ErrFormatWrong, "size", 3},
		"a quantity in a map":         {messageField(25, textField(1, "cpu"), messageField(2, textField(1, ""))), resource.ErrFormatWrong, "amounts.cpu", 10},
		"a quantity that is a number": {messageField(36, numberField(1, 1)), ErrWireType, "size", 3},
		"a time that is a text":       {messageField(31, textField(2, "")), ErrWireType, "time", 3},
		"half a time":                 {messageField(31, []byte{0x08}), io.ErrUnexpectedEOF, "time", 3},
		"words that are numbers":      {messageField(30, numberField(1, 1)), ErrWireType, "words", 3},
		"metadata":                    {messageField(1, messageField(13, numberField(1, 1))), ErrWireType, "metadata.ownerReferences[0].kind", 4},
	} {
		var got everything
		err := plan.Decode(test.in, &got, Options{})
		var where *DecodeError
		if !errors.As(err, &where) || !errors.Is(err, test.cause) || where.Path != test.path || where.Offset != test.offset {
			t.Errorf("%s: got %v, want %v at byte %d, %q", name, err, test.cause, test.offset, test.path)
		}
	}
}

// TestForeignErrors has the method of a foreign type fail and panic.
func TestForeignErrors(t *testing.T) {
	plan := mustCompile[everything](t)
	for _, text := range []string{"bad", "worse"} {
		err := plan.Decode(textField(38, text), new(everything), Options{})
		var where *DecodeError
		if !errors.As(err, &where) || where.Path != "foreign" || !bytes.Contains([]byte(err.Error()), []byte(text+" bytes")) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestDepth nests messages as deep as is allowed, and deeper.
func TestDepth(t *testing.T) {
	plan := mustCompile[branch](t)
	chain := func(depth int) []byte {
		// From the inside out, written backwards to be linear.
		var out []byte
		for range depth - 1 {
			length := binary.AppendUvarint(nil, uint64(len(out)))
			for i := len(length) - 1; i >= 0; i-- {
				out = append(out, length[i])
			}
			out = append(out, 0x12)
		}
		for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
			out[i], out[j] = out[j], out[i]
		}
		return out
	}
	var got branch
	if err := plan.Decode(chain(MaxDepth), &got, Options{}); err != nil {
		t.Fatal(err)
	}
	depth := 0
	for b := &got; b != nil; b = b.Next {
		depth++
	}
	if depth != MaxDepth {
		t.Errorf("%d deep, want %d", depth, MaxDepth)
	}
	if err := plan.Decode(chain(MaxDepth+1), new(branch), Options{}); !errors.Is(err, ErrTooDeep) {
		t.Errorf("deeper: %v", err)
	}
	if err := plan.Decode(bytes.Repeat(tagBytes(99, 3), 1<<20), new(branch), Options{}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a million groups: %v", err)
	}
}

// TestExactCapacity is why a plan needs less memory than the generated code.
func TestExactCapacity(t *testing.T) {
	plan := mustCompile[everything](t)
	var in []byte
	for range 100 {
		in = append(in, textField(5, "a")...)
	}
	for range 100 {
		in = append(in, messageField(22)...)
	}
	var got everything
	if err := plan.Decode(in, &got, Options{}); err != nil {
		t.Fatal(err)
	}
	if len(got.Texts) != 100 || cap(got.Texts) != 100 || len(got.Pointers) != 100 || cap(got.Pointers) > 128 {
		t.Errorf("texts %d of %d, pointers %d of %d", len(got.Texts), cap(got.Texts), len(got.Pointers), cap(got.Pointers))
	}
}

// TestHostileMemory decodes what would take most memory if sizes were believed, or if
// lists grew one by one.
func TestHostileMemory(t *testing.T) {
	plan := mustCompile[everything](t)
	turns := bytes.Repeat(join(textField(5, ""), textField(6, ""), messageField(22)), 30_000)
	for name, in := range map[string][]byte{
		"maps of one key":   bytes.Repeat(textField(23, ""), 50_000),
		"elements in turns": turns,
	} {
		used := memtest.Allocs(1, func() {
			if err := plan.Decode(in, new(everything), Options{}); err != nil {
				t.Fatal(err)
			}
		})
		if used > 31_000 { // one for each pointer
			t.Errorf("%s: %v allocations", name, used)
		}
	}
}

// TestMaxMemory: what a few bytes make much of is refused before it is made.
func TestMaxMemory(t *testing.T) {
	plan := mustCompile[everything](t)
	const n = 10_000
	for name, in := range map[string][]byte{
		"strings":        bytes.Repeat(textField(5, ""), n),
		"named strings":  bytes.Repeat(textField(6, ""), n),
		"a list of them": messageField(30, bytes.Repeat(textField(1, ""), n)),
		"packed numbers": messageField(17, make([]byte, n)),
		"pointers":       bytes.Repeat(messageField(22), n),
		"quantities":     bytes.Repeat(messageField(37), n),
		"maps":           bytes.Repeat(messageField(27), n),
	} {
		var err error
		used := memtest.Bytes(4*n, func() { err = plan.Decode(in, new(everything), Options{MaxMemory: 3 * n}) })
		if !errors.Is(err, ErrTooLarge) || used > 4*n {
			t.Errorf("%s: %v after %d bytes", name, err, used)
		}
		if err := plan.Decode(in, new(everything), Options{MaxMemory: 1000 * n}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestScalarsKeepToThemselves decodes each field alone, between others of its size.
func TestScalarsKeepToThemselves(t *testing.T) {
	type small struct {
		A int8    `json:"a" protobuf:"varint,1,opt,name=a"`
		B uint8   `json:"b" protobuf:"varint,2,opt,name=b"`
		C bool    `json:"c" protobuf:"varint,3,opt,name=c"`
		D bool    `json:"d" protobuf:"varint,4,opt,name=d"`
		E int16   `json:"e" protobuf:"varint,5,opt,name=e"`
		F uint16  `json:"f" protobuf:"varint,6,opt,name=f"`
		G int32   `json:"g" protobuf:"varint,7,opt,name=g"`
		H uint32  `json:"h" protobuf:"varint,8,opt,name=h"`
		I float32 `json:"i" protobuf:"fixed32,9,opt,name=i"`
		J int64   `json:"j" protobuf:"varint,10,opt,name=j"`
		K uint64  `json:"k" protobuf:"varint,11,opt,name=k"`
		L float64 `json:"l" protobuf:"fixed64,12,opt,name=l"`
		M int32   `json:"m" protobuf:"varint,13,opt,name=m"`
		N int32   `json:"n" protobuf:"varint,14,opt,name=n"`
	}
	plan := mustCompile[small](t)
	for num := 1; num <= 14; num++ {
		in := append(tagBytes(num, wireVarint), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1) // -1
		switch num {
		case 9:
			in = fixed32(num, 1.5)
		case 12:
			in = append(tagBytes(num, wireFixed64), 0, 0, 0, 0, 0, 0, 0xf8, 0x3f) // 1.5
		}
		var got small
		if err := plan.Decode(in, &got, Options{}); err != nil {
			t.Fatal(num, err)
		}
		v := reflect.ValueOf(got)
		for i := range v.NumField() {
			if v.Field(i).IsZero() == (i == num-1) {
				t.Errorf("field %d alone: %+v", num, got)
			}
		}
	}
}

// TestIdentity has the UID and the version in all orders, twice, cut off, and longer than what
// shares an allocation.
func TestIdentity(t *testing.T) {
	plan := mustCompile[metav1.ObjectMeta](t)
	uid, version, long := textField(5, "1234"), textField(6, "7"), textField(6, strings.Repeat("8", maxIdentity))
	for _, data := range [][]byte{
		uid, version, join(uid, version), join(version, uid), join(uid, uid, version), join(uid, version, version),
		join(uid, version, uid, long), join(uid, long), join(long, uid, version), join(uid, textField(5, ""), textField(6, "")),
		join(uid, version[:2]), join(uid, version[:1]), join(uid, []byte{6<<3 | wireVarint, 1}), join(uid, []byte{6<<3 | wireBytes, 0xff}),
	} {
		requireAgreement(t, "identity", plan, &metav1.ObjectMeta{}, data, Options{})
	}
	var got metav1.ObjectMeta
	if err := plan.Decode(join(uid, version), &got, Options{}); err != nil {
		t.Fatal(err)
	}
	if end := unsafe.Add(unsafe.Pointer(unsafe.StringData(string(got.UID))), 4+2); end != unsafe.Pointer(unsafe.StringData(got.ResourceVersion)) {
		t.Error("the UID and the version are in two allocations")
	}
}
