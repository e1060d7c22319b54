package packed

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kinform/kinform/internal/memtest"
	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/internal/usercode"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type (
	// widget is a custom resource.
	widget struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitempty"`

		Spec struct {
			Size   resource.Quantity    `json:"size"`
			Port   intstr.IntOrString   `json:"port"`
			Any    any                  `json:"any"`
			Raw    runtime.RawExtension `json:"raw"`
			Names  []string             `json:"names"`
			Labels map[string]string    `json:"labels,omitempty"`
			Next   *widget              `json:"next,omitempty"`
		} `json:"spec"`
	}

	// secretive has only its own encoding. It is broken if the text says so.
	secretive struct{ text string }

	// plain is no pointer.
	plain struct {
		ID   int
		Name string
	}
)

func (s *secretive) MarshalBinary() ([]byte, error) {
	switch s.text {
	case "does not encode":
		return nil, errBad
	case "panics":
		panic(errBad)
	}
	return []byte(s.text), nil
}

func (s *secretive) UnmarshalBinary(data []byte) error {
	switch s.text = string(data); s.text {
	case "does not decode":
		return errBad
	case "panics when it is decoded":
		panic(errBad)
	}
	clear(data) // as it may
	return nil
}

var errBad = errors.New("bad")

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "space", Name: name, UID: "uid", ResourceVersion: "7", Labels: map[string]string{"a": "b"}, Finalizers: []string{"f"},
		CreationTimestamp: metav1.NewTime(time.Unix(1e9, 0)),
		ManagedFields:     []metav1.ManagedFieldsEntry{{Manager: "m", FieldsV1: metav1.NewFieldsV1(`{"f:x": {}}`)}},
	}
}

func aWidget() *widget {
	w := &widget{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Widget"}, ObjectMeta: meta("w")}
	w.ManagedFields = nil // JSON has no white space in them
	w.Spec.Size, w.Spec.Port, w.Spec.Names = resource.MustParse("5Gi"), intstr.FromString("http"), []string{}
	w.Spec.Any = map[string]any{"whole": int64(1), "part": 1.5, "list": []any{"x", nil, true}}
	w.Spec.Raw.Raw = []byte(`{"html":"<&>","escaped":"\u003c","number":1.0}`)
	w.Spec.Next = &widget{ObjectMeta: metav1.ObjectMeta{Name: "next"}}
	w.Spec.Next.Spec.Raw.Raw, w.Spec.Next.Spec.Size = []byte("{}"), resource.MustParse("0")
	return w
}

func aTree() map[string]any {
	return map[string]any{
		"apiVersion": "example.com/v1", "kind": "Thing", "metadata": map[string]any{"name": "n", "namespace": "s", "uid": "u"},
		"unknown": map[string]any{"empty": map[string]any{}, "none": map[string]any(nil), "list": []any{}, "noList": []any(nil), "nil": nil},
		"numbers": []any{int64(1), 1.0, int64(math.MinInt64), int64(math.MaxInt64), math.Copysign(0, -1), 1e300, int64(-1)},
		"texts":   []any{"", "<&>", "\xff", strings.Repeat("x", 1000)}, "yes": true, "no": false, "": "no name",
	}
}

// TestRoundTrip: each object has the form that its type is to have, and comes back equal.
func TestRoundTrip(t *testing.T) {
	partial := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: meta("p")}
	for _, test := range []struct {
		obj   any
		form  form
		check bool
	}{
		{partial, &protobuf{}, false},
		{&metav1.PartialObjectMetadata{}, &protobuf{}, false},
		{&metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: strings.Repeat("k", 300)}}, &protobuf{}, false},
		{*partial, &protobuf{}, false},
		{&unstructured.Unstructured{Object: aTree()}, &tree{}, false},
		{&unstructured.Unstructured{}, &tree{}, false},
		{unstructured.Unstructured{Object: map[string]any{}}, &tree{}, false},
		{aTree(), &tree{}, false},
		{aWidget(), json{}, false},
		{*aWidget(), json{}, false},
		{&secretive{"text"}, own{}, true},
		{secretive{""}, own{}, true},
		{plain{1, "one"}, json{}, false},
		{&plain{2, "two"}, json{}, false},
		{map[string]plain{"a": {3, "three"}}, json{}, false},
		{map[string]plain(nil), json{}, false},
		{[]string{"a"}, json{}, false},
		{"text", json{}, false},
		{"", json{}, false},
		{7, json{}, false},
		{false, json{}, false},
		{struct{ Time time.Time }{time.Unix(1e9, 1).UTC()}, json{}, false},
		{struct{ Secret struct{ textual } }{}, json{}, true},
		{struct{ Stringer fmt.Stringer }{}, json{}, true},
		{questionable(), json{}, false},
	} {
		codec := cacheOf(reflect.TypeOf(test.obj))
		if reflect.TypeOf(codec.form) != reflect.TypeOf(test.form) || codec.check != test.check {
			t.Errorf("%T has the form %T, checked: %v", test.obj, codec.form, codec.check)
		}
		bytes, err := codec.Pack(test.obj)
		again, _ := codec.Pack(test.obj)
		if err != nil || bytes == "" || bytes != again {
			t.Errorf("%T: %q and %q, %v", test.obj, bytes, again, err)
			continue
		}
		to := reflect.New(reflect.TypeOf(test.obj))
		if err := codec.Unpack(bytes, to.Interface()); err != nil || !reflect.DeepEqual(to.Elem().Interface(), test.obj) {
			t.Errorf("%T: %v, got\n%+v, want\n%+v", test.obj, err, to.Elem(), test.obj)
		}
	}
}

// questionable returns a struct with a tag that encoding/json takes, but its successor does not.
func questionable() any {
	v := reflect.New(reflect.StructOf([]reflect.StructField{{Name: "ID", Type: reflect.TypeFor[int](), Tag: `json:"id,omitempty,"`}})).Elem()
	v.Field(0).SetInt(1)
	return v.Interface()
}

func cacheOf(t reflect.Type) *cache {
	c, err := Of(t)
	if err != nil {
		panic(err)
	}
	return c.(*cache)
}

// textual has methods for JSON.
type textual struct{ text string }

func (t textual) MarshalText() ([]byte, error) { return []byte(t.text), nil }
func (t *textual) UnmarshalText(data []byte) error {
	if t.text = string(data); t.text == "does not decode" {
		return errBad
	}
	return nil
}

type (
	embedsPartial  struct{ metav1.PartialObjectMetadata } // has its methods for protobuf
	embedsMethods  struct{ secretive }                    // has its MarshalBinary
	embedsDeclared struct {                               // declares MarshalToSizedBuffer, so that no field's counts
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata" protobuf:"bytes,1,opt,name=metadata"`
		lie               int // of Size
	}
	embedsBoth struct { // has the methods of ObjectMeta, which is nearer
		metav1.ObjectMeta `json:"metadata" protobuf:"bytes,1,opt,name=metadata"`
		EmbedsType        `protobuf:"bytes,2,opt,name=two"`
	}
	EmbedsType struct{ metav1.TypeMeta } // exported, as protobuf needs it
)

func (e *embedsDeclared) Size() int { return e.ObjectMeta.Size() + 3 + e.lie }

func (e *embedsDeclared) MarshalToSizedBuffer(data []byte) (int, error) {
	n, err := e.ObjectMeta.MarshalToSizedBuffer(data)
	data = data[:len(data)-n]
	copy(data[len(data)-3:], []byte{1<<3 | 2, byte(n), byte(n >> 7)})
	if n >= 0x80 {
		data[len(data)-2] |= 0x80
	}
	return n + 3, err
}

// TestMethodsOfFields: what encodes only an embedded field is not used.
func TestMethodsOfFields(t *testing.T) {
	for _, test := range []struct {
		obj  any
		form form
	}{{embedsPartial{}, json{}}, {embedsBoth{}, json{}}, {embedsDeclared{}, &protobuf{}}} {
		if got, _, err := formOf(reflect.TypeOf(test.obj)); reflect.TypeOf(got) != reflect.TypeOf(test.form) {
			t.Errorf("%T has the form %T, %v", test.obj, got, err)
		}
	}
	if got, _, err := formOf(reflect.TypeFor[embedsMethods]()); err == nil {
		t.Errorf("got %T", got)
	}
}

// TestNoCodec: the error says what is wrong with a type.
func TestNoCodec(t *testing.T) {
	type deep struct {
		Maps map[string][]*struct{ F func() }
	}
	for _, test := range []struct {
		of   reflect.Type
		want string
	}{
		{reflect.TypeFor[func()](), "func() cannot be packed: func() is a func(), which JSON does not have: give func() MarshalBinary and UnmarshalBinary"},
		{reflect.TypeFor[chan int](), "is a chan int"},
		{reflect.TypeFor[complex128](), "is a complex128"},
		{reflect.TypeFor[*deep](), "*packed.deep cannot be packed: packed.deep.Maps.F is a func()"},
		{reflect.TypeFor[*struct{ text string }](), "has no field that JSON keeps"},
		{reflect.TypeFor[struct {
			F func() `json:"-"`
		}](), "has no field that JSON keeps"},
	} {
		if _, err := Of(test.of); !errors.Is(err, mistake.Err) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: %v", test.of, err)
		}
	}
}

// TestBadObjects: an object that cannot be packed is an error that names its type and the cause, and no bytes.
func TestBadObjects(t *testing.T) {
	loop := map[string]any{}
	loop["self"] = loop
	var panicked *usercode.PanicError
	for _, test := range []struct {
		of   reflect.Type
		obj  any
		want string
		is   error
	}{
		{reflect.TypeFor[*plain](), (*plain)(nil), "*packed.plain: the object is nil", mistake.NoObject},
		{reflect.TypeFor[any](), nil, "the object is nil", mistake.NoObject},
		{reflect.TypeFor[*secretive](), &secretive{"does not encode"}, "*packed.secretive: bad", errBad},
		{reflect.TypeFor[*secretive](), &secretive{"does not decode"}, "its bytes do not decode: bad", errBad},
		{reflect.TypeFor[*secretive](), &secretive{"panics"}, "encoding panicked: bad", errBad},
		{reflect.TypeFor[secretive](), secretive{"panics when it is decoded"}, "encoding panicked: bad", errBad},
		{reflect.TypeFor[any](), func() {}, "func(): func() cannot be packed", mistake.Err},
		{reflect.TypeFor[map[string]any](), map[string]any{"a": []any{nil, []string{}}}, "map[string]interface {}: .a[1]: a []string is no untyped value", nil},
		{reflect.TypeFor[map[string]any](), loop, "map[string]interface {}: " + strings.Repeat(".self", 20) + ": nested more than 10000 deep", nil},
		{reflect.TypeFor[map[string]float64](), map[string]float64{"a": math.NaN()}, `"/a": unsupported value: NaN`, nil},
		{reflect.TypeFor[struct{ V any }](), struct{ V any }{func() {}}, `cannot marshal from Go func() within "/V"`, nil},
		{reflect.TypeFor[struct{ S fmt.Stringer }](), struct{ S fmt.Stringer }{time.Second}, "its bytes do not decode", nil},
		{reflect.TypeFor[struct{ T textual }](), struct{ T textual }{textual{"does not decode"}}, "its bytes do not decode", nil},
		{reflect.TypeFor[*embedsDeclared](), &embedsDeclared{lie: 1}, "method Size returns 20, but there are 19 bytes", nil},
		{reflect.TypeFor[*embedsDeclared](), &embedsDeclared{lie: -1}, "encoding panicked", nil},
		{reflect.TypeFor[*embedsDeclared](), &embedsDeclared{lie: -30}, "method Size returns -11", nil},
		{reflect.TypeFor[*embedsDeclared](), &embedsDeclared{lie: 1 << 40}, "method Size returns 1099511627795", nil},
		{reflect.TypeFor[*embedsDeclared](), &embedsDeclared{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("n", 1<<14)}}, "its bytes do not decode", nil},
	} {
		bytes, err := cacheOf(test.of).Pack(test.obj)
		if err == nil || bytes != "" || !strings.Contains(err.Error(), test.want) || test.is != nil && !errors.Is(err, test.is) ||
			strings.Contains(test.want, "panicked") && !errors.As(err, &panicked) {
			t.Errorf("%v: %q, %.300s, want %s", test.of, bytes, fmt.Sprint(err), test.want)
		}
	}
}

// TestBadBytes: a pointer is never nil, and nothing panics.
func TestBadBytes(t *testing.T) {
	for _, bytes := range []string{"", "\x00", "\x00\x7f", "\xff", "\x00\x00\x00\xff", "\x00{"} {
		var partial *metav1.PartialObjectMetadata
		var thing *unstructured.Unstructured
		var w *widget
		for _, to := range []any{&partial, &thing, &w} {
			err := cacheOf(reflect.TypeOf(to).Elem()).Unpack(bytes, to)
			whole := bytes == "\x00\x00\x00" // that is an object
			if v := reflect.ValueOf(to).Elem(); v.IsNil() || (err == nil) != whole {
				t.Errorf("%q: %+v, %v", bytes, v, err)
			}
		}
		any := any(1)
		if err := cacheOf(reflect.TypeFor[error]()).Unpack(bytes, &any); err == nil {
			t.Errorf("%q is %v", bytes, any)
		}
	}
	s := new(secretive)
	if err := cacheOf(reflect.TypeOf(s)).Unpack("\x00does not decode", &s); !errors.Is(err, errBad) || s.text != "does not decode" {
		t.Errorf("%v, %v", s, err)
	}
}

// TestInterface: objects behind an interface have each their own type, whoever packs it first.
func TestInterface(t *testing.T) {
	codec := cacheOf(reflect.TypeFor[any]())
	objs := []any{aWidget(), plain{1, "a"}, &plain{2, "b"}, "text", 7, aTree(), &secretive{"s"}, &metav1.PartialObjectMetadata{ObjectMeta: meta("p")}}
	var wg sync.WaitGroup
	for from := range objs {
		wg.Go(func() {
			for n := range objs {
				want := objs[(from+n)%len(objs)]
				if bytes, err := codec.Pack(aCopy(want)); err != nil {
					t.Error(err)
				} else if got := Open[any](codec, bytes); !reflect.DeepEqual(got, want) {
					t.Errorf("got a %T, want a %T", got, want)
				}
			}
		})
	}
	wg.Wait()
	if n := len(codec.table.list()); n != len(objs) {
		t.Errorf("%d types, want %d", n, len(objs))
	}
	for n := len(objs); n < mostTypes; n++ {
		if _, err := codec.Pack(reflect.New(reflect.ArrayOf(n, reflect.TypeFor[bool]())).Interface()); err != nil {
			t.Fatal(err)
		}
	}
	if bytes, err := codec.Pack([]float64{}); err == nil || bytes != "" || !strings.Contains(err.Error(), "[]float64: objects have more than 128 types") {
		t.Errorf("%q, %v", bytes, err)
	}
	if bytes, err := codec.Pack("text"); err != nil || Open[any](codec, bytes) != "text" {
		t.Errorf("%q, %v", bytes, err)
	}
}

// aCopy returns a copy of an object whose encoding fills something in.
func aCopy(obj any) any {
	if w, ok := obj.(*widget); ok {
		again := *w
		return &again
	}
	return obj
}

// TestOwnMemory: what programs keep of an object does not keep its bytes, and the other strings are not copied.
func TestOwnMemory(t *testing.T) {
	if memtest.Race {
		t.Skip("the race detector allocates")
	}
	codec := cacheOf(reflect.TypeFor[*metav1.PartialObjectMetadata]())
	obj := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
	obj.Namespace, obj.Name, obj.UID, obj.GenerateName = "space", "name", "uid", strings.Repeat("x", 1<<16)
	var bytes string
	if n := memtest.Allocs(10, func() { bytes, _ = codec.pack(obj) }); n != 1 {
		t.Errorf("pack takes %v allocations, want one", n)
	}
	if n := memtest.Bytes(0, func() { _ = codec.unpack(bytes, &obj) }); n > 2048 {
		t.Errorf("Unpack takes %d bytes", n)
	}
	for _, text := range []string{obj.Namespace, obj.Name, string(obj.UID)} {
		if inside(bytes, text) {
			t.Errorf("%q keeps the bytes of its object", text)
		}
	}
	if !inside(bytes, obj.GenerateName) || !inside(bytes, obj.Kind) {
		t.Error("a string was copied")
	}
	codec = cacheOf(reflect.TypeFor[map[string]any]())
	if bytes, _ = codec.Pack(aTree()); bytes == "" {
		t.Fatal("a tree is not packed")
	}
	object := Open[map[string]any](codec, bytes)
	for name, text := range object["metadata"].(map[string]any) {
		if inside(bytes, text.(string)) {
			t.Errorf("%s keeps the bytes of its object", name)
		}
	}
	if !inside(bytes, object["kind"].(string)) {
		t.Error("a string of a tree was copied")
	}
}

// TestEqualBytes: the order of maps does not count.
func TestEqualBytes(t *testing.T) {
	for _, obj := range []any{map[string]any{}, map[string]string{}, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{}}}} {
		codec := cacheOf(reflect.TypeOf(obj))
		var want string
		for range 20 {
			for n := range 30 {
				key := fmt.Sprint("key", n)
				switch obj := obj.(type) {
				case map[string]any:
					obj[key] = key
				case map[string]string:
					obj[key] = key
				case *metav1.PartialObjectMetadata:
					obj.Labels[key] = key
				}
			}
			got, err := codec.Pack(obj)
			if want == "" {
				want = got
			}
			if got != want || err != nil {
				t.Fatalf("%q, then %q, %v", want, got, err)
			}
		}
	}
}
