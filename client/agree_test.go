package client_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"math"
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/kind"
)

// sample has a field of every kind that API types have.
type sample struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Text     string                       `json:"text,omitempty"`
	Pointer  *string                      `json:"pointer,omitempty"`
	Data     map[string][]byte            `json:"data,omitempty"`
	Bytes    []byte                       `json:"bytes,omitempty"`
	Small    int32                        `json:"small,omitempty"`
	Large    *int64                       `json:"large,omitempty"`
	Unsigned uint64                       `json:"unsigned,omitempty"`
	Float    float64                      `json:"float,omitempty"`
	Flag     *bool                        `json:"flag,omitempty"`
	Words    []string                     `json:"words,omitempty"`
	Time     *metav1.Time                 `json:"time,omitempty"`
	Micro    metav1.MicroTime             `json:"micro"`
	Duration metav1.Duration              `json:"duration"`
	Port     intstr.IntOrString           `json:"port"`
	Amounts  map[string]resource.Quantity `json:"amounts,omitempty"`
	Selector *metav1.LabelSelector        `json:"selector,omitempty"`
	Raw      runtime.RawExtension         `json:"raw"`
	Raws     []runtime.RawExtension       `json:"raws,omitempty"`
	Message  json.RawMessage              `json:"message,omitempty"`
	Any      map[string]any               `json:"any,omitempty"`
	Nested   []sampleNested               `json:"nested,omitempty"`
}

type sampleNested struct {
	Name   string         `json:"name"`
	Nested []sampleNested `json:"nested,omitempty"`
}

// DeepCopyObject is required by runtime.Object. Decoders do not call it.
func (s *sample) DeepCopyObject() runtime.Object { panic("nobody copies") }

// dice makes random parts of objects.
type dice struct{ *rand.Rand }

func (d dice) text() string {
	alphabet := []string{"a", "Z", "0", "<", "&", "\"", "\\", "/", "\n", "é", "€", "𝄞", " ", "\u2028", "~", ".", "f:", "\x7f"}
	var b strings.Builder
	for range d.Intn(8) {
		b.WriteString(alphabet[d.Intn(len(alphabet))])
	}
	return b.String()
}

func (d dice) name() string { return string(rune('a'+d.Intn(26))) + fmt.Sprint(d.Intn(1000)) }

func (d dice) untyped(depth int) any {
	switch n := d.Intn(10); {
	case n < 2 && depth > 0:
		m := map[string]any{}
		for range d.Intn(5) {
			m[d.text()] = d.untyped(depth - 1)
		}
		return m
	case n < 4 && depth > 0:
		list := []any{}
		for range d.Intn(4) {
			list = append(list, d.untyped(depth-1))
		}
		return list
	case n == 5:
		return d.Int63() >> d.Intn(64) * int64(d.Intn(3)-1)
	case n == 6:
		return float64(d.Intn(1000)) + 0.5
	case n == 7:
		return math.Ldexp(d.Float64()+0.5, -d.Intn(900)) // as JSON, a whole number is no float
	case n == 8:
		return []any{nil, true, false}[d.Intn(3)]
	}
	return d.text()
}

// rawJSON is JSON as a server stores it: compact, its members in any order.
func (d dice) rawJSON() []byte {
	m := map[string]any{}
	for range d.Intn(6) {
		m[d.text()] = d.untyped(2)
	}
	raw, _ := json.Marshal(m)
	return raw
}

func (d dice) fields() *metav1.FieldsV1 {
	var f metav1.FieldsV1
	set := map[string]any{".": map[string]any{}}
	for range 1 + d.Intn(6) {
		set["f:"+strings.Repeat("x", d.Intn(12))+d.name()] = map[string]any{"f:" + d.name(): map[string]any{}}
		set[fmt.Sprintf(`k:{"port":%d,"protocol":"TCP"}`, d.Intn(70000))] = map[string]any{".": map[string]any{}}
	}
	raw, _ := json.Marshal(set)
	f.SetRawBytes(raw)
	return &f
}

func (d dice) meta() metav1.ObjectMeta {
	m := metav1.ObjectMeta{
		Name: d.name(), Namespace: d.name(), ResourceVersion: fmt.Sprint(1 + d.Intn(1e6)), UID: types.UID(d.name()), Generation: d.Int63n(100),
		CreationTimestamp: metav1.Unix(d.Int63n(4e9), 0),
	}
	for range d.Intn(4) {
		metav1.SetMetaDataLabel(&m, d.name(), d.name())
		metav1.SetMetaDataAnnotation(&m, d.name(), d.text())
		m.Finalizers = append(m.Finalizers, d.name())
		m.OwnerReferences = append(m.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: d.name(), UID: "u", Controller: new(d.Intn(2) == 0)})
		m.ManagedFields = append(m.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: d.name(), Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", Time: new(metav1.Unix(d.Int63n(4e9), 0)),
			FieldsType: "FieldsV1", FieldsV1: d.fields(),
		})
	}
	return m
}

func (d dice) sample() *sample {
	s := &sample{
		TypeMeta: metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Sample"}, ObjectMeta: d.meta(),
		Text: d.text(), Data: map[string][]byte{d.name(): []byte(d.text())}, Small: int32(d.Uint32()), Unsigned: d.Uint64() >> (1 + d.Intn(60)),
		Float: math.Ldexp(d.Float64(), d.Intn(200)-100), Words: []string{d.text(), d.text()}, Micro: metav1.NewMicroTime(time.UnixMicro(d.Int63n(4e15))),
		Duration: metav1.Duration{Duration: time.Duration(d.Int63n(1e15))}, Port: intstr.FromString(d.text()),
		Amounts: map[string]resource.Quantity{d.name(): *resource.NewMilliQuantity(d.Int63n(1e6), resource.DecimalSI)},
		Raw:     runtime.RawExtension{Raw: d.rawJSON()}, Message: d.rawJSON(), Any: map[string]any{d.text(): d.untyped(3)},
		Nested: []sampleNested{{Name: d.text(), Nested: []sampleNested{{Name: d.text()}}}},
	}
	if d.Intn(2) == 0 {
		s.Pointer, s.Large, s.Flag, s.Bytes = new(d.text()), new(d.Int63()), new(d.Intn(2) == 0), []byte(d.text())
		s.Time, s.Port, s.Selector = new(metav1.Unix(d.Int63n(4e9), 0)), intstr.FromInt32(int32(d.Uint32())), &metav1.LabelSelector{MatchLabels: map[string]string{d.name(): d.name()}}
		s.Raws = []runtime.RawExtension{{Raw: d.rawJSON()}, {}, {Raw: []byte(`"text"`)}, {Raw: []byte("12")}}
	}
	return s
}

// sameRaw compares objects by every byte that is kept, the raw JSON of fields too.
var sameRaw = cmp.Options{
	cmp.Comparer(func(a, b metav1.FieldsV1) bool { return bytes.Equal(a.GetRawBytes(), b.GetRawBytes()) }),
	cmp.Comparer(func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 && a.Format == b.Format }),
	cmp.Comparer(func(a, b metav1.Time) bool { return a.Equal(&b) && a.Location() == b.Location() }),
	cmp.Comparer(func(a, b metav1.MicroTime) bool { return a.Equal(&b) && a.Location() == b.Location() }),
}

// through lists one object by the client and returns it.
func through[T any](t *testing.T, contentType string, list []byte) T {
	t.Helper()
	r, err := client.New(bodiesOf(contentType, list), kind.OfResource[T](schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "samples"}).Named("Sample"), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := listOf(t, r)
	if got.err != nil || got.errs != nil || len(got.events) != 1 {
		t.Fatal(got.err, got.errs)
	}
	return got.events[0].Object
}

func listOf[T any](t *testing.T, r *client.Resource[T]) collected[T] {
	return list(t.Context(), r, metav1.ListOptions{})
}

// An object is equal to the result of apimachinery's own serializer for the same bytes. So is raw
// JSON that a type keeps.
func TestAgreesWithApimachinery(t *testing.T) {
	seed := time.Now().UnixNano()
	d := dice{rand.New(rand.NewSource(seed))}
	scheme := runtime.NewScheme()
	gvk := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Sample"}
	scheme.AddKnownTypeWithName(gvk, &sample{})
	inJSON := kjson.NewSerializerWithOptions(kjson.DefaultMetaFactory, scheme, scheme, kjson.SerializerOptions{})
	for n := range 50 {
		s := d.sample()
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var fromJSON sample
		if _, _, err := inJSON.Decode(text, nil, &fromJSON); err != nil {
			t.Fatal(err)
		}
		jsonList := append(append([]byte(`{"kind":"SampleList","apiVersion":"example.com/v1","metadata":{},"items":[`), text...), "]}"...)
		check := func(what string, want, got any) {
			if diff := cmp.Diff(want, got, sameRaw); diff != "" {
				t.Errorf("seed %d, object %d, %s:\n%s", seed, n, what, diff)
			}
		}
		check("JSON", &fromJSON, through[*sample](t, "application/json", jsonList))
		var plain map[string]any
		if err := utiljson.Unmarshal(text, &plain); err != nil {
			t.Fatal(err)
		}
		check("untyped JSON", plain, through[*unstructured.Unstructured](t, "application/json", jsonList).Object)
		if t.Failed() {
			return
		}
	}
}

// Metadata is the same in three encodings.
func TestMetadataAgreesInEveryEncoding(t *testing.T) {
	seed := time.Now().UnixNano()
	d := dice{rand.New(rand.NewSource(seed))}
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, metav1.SchemeGroupVersion)
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for n := range 50 {
		m := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"}, ObjectMeta: d.meta()}
		all := &metav1.PartialObjectMetadataList{Items: []metav1.PartialObjectMetadata{*m}}
		all.APIVersion, all.Kind = "meta.k8s.io/v1", "PartialObjectMetadataList"
		for contentType, serializer := range map[string]runtime.Serializer{
			"application/json":                    kjson.NewSerializerWithOptions(kjson.DefaultMetaFactory, scheme, scheme, kjson.SerializerOptions{}),
			"application/vnd.kubernetes.protobuf": protobuf.NewSerializer(scheme, scheme),
		} {
			var one, list bytes.Buffer
			if err := serializer.Encode(m, &one); err != nil {
				t.Fatal(err)
			}
			if err := serializer.Encode(all, &list); err != nil {
				t.Fatal(err)
			}
			var want metav1.PartialObjectMetadata
			if _, _, err := serializer.Decode(one.Bytes(), nil, &want); err != nil {
				t.Fatal(err)
			}
			want.TypeMeta = m.TypeMeta // of protobuf it is in the envelope
			got := through[*metav1.PartialObjectMetadata](t, contentType, list.Bytes())
			if diff := cmp.Diff(&want, got, sameRaw); diff != "" {
				t.Fatalf("seed %d, object %d, %s:\n%s", seed, n, contentType, diff)
			}
			if diff := cmp.Diff(m, got, sameRaw); diff != "" {
				t.Fatalf("seed %d, object %d, %s and what was encoded:\n%s", seed, n, contentType, diff)
			}
		}
	}
}

// numbered has a number as it is written.
type numbered struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	N                 json.Number            `json:"n"`
	P                 *json.Number           `json:"p"`
	M                 map[string]json.Number `json:"m"`
}

// A json.Number takes what apimachinery's decoder lets it take.
func TestNumbers(t *testing.T) {
	for _, n := range []string{
		"0", "-0", "1", "-1", "1.0", "1.50", "1e-400", "1e400", "-1E+5", "123456789012345678901234567890", "0.1e1", "null",
		`"1"`, `"-1.5e3"`, `"1e-400"`, `"\u0031"`, `"é"`, `""`, `" 1"`, `"1 "`, `"01"`, `"+1"`, `"1."`, `"NaN"`, `"0x1"`, `"\n1"`, "true", "false", "{}", "[]", "[1]", `{"a":1}`,
	} {
		object := fmt.Sprintf(`{"kind":"Sample","apiVersion":"example.com/v1","metadata":{"name":"a"},"n":%s,"p":%[1]s,"m":{"k":%[1]s}}`, n)
		var want numbered
		wantErr := utiljson.Unmarshal([]byte(object), &want)
		r, err := client.NewLike(bodies(`{"kind":"SampleList","apiVersion":"example.com/v1","metadata":{},"items":[`+object+`]}`),
			kind.OfResource[any](schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "samples"}), any(&numbered{}), client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := listOf(t, r)
		if got.err != nil || (wantErr != nil) != (len(got.errs) == 1) {
			t.Errorf("%s: %v, %v, want %v", n, got.err, got.errs, wantErr)
		} else if wantErr == nil && !cmp.Equal(got.events[0].Object, any(&want)) {
			t.Errorf("%s: %s", n, cmp.Diff(any(&want), got.events[0].Object))
		} else if wantErr != nil && !strings.Contains(got.errs[0].Error(), "field n at byte") {
			t.Errorf("%s: %v", n, got.errs[0])
		}
	}
}
