package decode

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"math/rand"
	"reflect"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"

	"github.com/kinform/kinform/internal/kubeproto"
)

// rawKeeper keeps CBOR wherever a type can.
type rawKeeper struct {
	Fields  *metav1.FieldsV1                `json:"fields"`
	Raw     runtime.RawExtension            `json:"raw"`
	Named   map[string]runtime.RawExtension `json:"named"`
	Managed []metav1.ManagedFieldsEntry     `json:"managed"`
	Any     any                             `json:"any"`
	Next    *rawKeeper                      `json:"next"`
}

// A value is passed over as far as the library sees it, or refused by both. What is passed over is
// decoded as apimachinery does.
func checkCBOR(t *testing.T, raw []byte) {
	t.Helper()
	mode, err := cborMode()
	if err != nil {
		t.Fatal(err)
	}
	rest, want := mode.UnmarshalFirst(raw, new(cbor.RawMessage))
	got, err := NewCBOR(bytes.NewReader(raw), 1<<20).Object(nil)
	if bytes.Count(raw, []byte{0x9f}) > maxEndless && err != nil {
		return // see TestEndlessArrays
	}
	if want == nil && (err != nil || !bytes.Equal(got, raw[:len(raw)-len(rest)])) {
		t.Fatalf("%x is %x, %v, and the library leaves %x", raw, got, err, rest)
	}
	if syntax := new(cbor.SyntaxError); err == nil && (errors.As(want, &syntax) || errors.Is(want, io.ErrUnexpectedEOF)) {
		t.Fatalf("%x is %x, and the library says: %v", raw, got, want)
	}
	if err != nil {
		return
	}
	var v, w any
	err = direct.Unmarshal(got, &v)
	json, jsonErr := cborToJSON(got)
	if (err == nil) != (jsonErr == nil) {
		t.Fatalf("%x: %v, as JSON %v", got, err, jsonErr)
	}
	c, _ := NewCBORCodec(reflect.TypeFor[any](), true, false)
	if own := c.Sharing(kubeproto.NewStrings(8)).Unmarshal(got, &w); (own == nil) != (err == nil) || err == nil && !reflect.DeepEqual(v, w) {
		t.Fatalf("%x: %v, want %v: %s", got, own, err, cmp.Diff(v, w))
	}
	if err != nil {
		return
	}
	if fast, err := new(jsonWriter).transcode(got); err != nil || !bytes.Equal(fast, json) {
		t.Fatalf("%x: %q, want %q, %v", got, fast, json, err)
	}
}

// randomCBOR appends a value, which sometimes is malformed.
func randomCBOR(rng *rand.Rand, b []byte, depth int) []byte {
	if rng.Intn(400) == 0 {
		return append(b, byte(rng.Int()))
	}
	texts := []string{"a", "f:name", `k:{"a":1}`, "", "<", "é", "\xff", "\n", "zzzzzzzzzzzzzzzzzzzzzzzzzzzzz"}
	n := rng.Intn(4)
	switch kind := rng.Intn(8); {
	case depth == 0 || kind < 3:
		v, _ := cbor.Marshal(texts[rng.Intn(len(texts))])
		if kind > 0 && v[0] != 0x78 {
			v[0] -= 0x20 // as bytes
		}
		return append(b, v...)
	case kind == 3:
		v, _ := cbor.Marshal([]any{nil, true, 1.5, -7, 1 << 40, 300}[rng.Intn(6)])
		return append(b, v...)
	case kind == 4:
		b = append(b, 0x80+byte(n))
	case kind == 5:
		return randomCBOR(rng, append(b, []byte{0xc0, 0xc1, 0xd5, 0xd6, 0xd7}[rng.Intn(5)]), depth-1)
	case kind == 6:
		b = append(b, 0xbf)
		for i := range n {
			b = append(b, 0x41, 'a'+byte(i))
			b = randomCBOR(rng, b, depth-1)
		}
		return append(b, 0xff)
	default:
		b = append(b, 0xa0+byte(n))
		for range n {
			b = randomCBOR(rng, randomCBOR(rng, b, 0), depth-1)
		}
		return b
	}
	for range n {
		b = randomCBOR(rng, b, depth-1)
	}
	return b
}

func TestCBOR(t *testing.T) {
	for seed := range int64(10_000) {
		checkCBOR(t, randomCBOR(rand.New(rand.NewSource(seed)), nil, 4))
	}
}

func FuzzCBOR(f *testing.F) {
	f.Add(append(bytes.Repeat([]byte{0x81}, 3000), 0)) // too deep for package cmp
	for seed := range int64(50) {
		f.Add(randomCBOR(rand.New(rand.NewSource(seed)), nil, 4))
	}
	f.Fuzz(func(t *testing.T, raw []byte) { checkCBOR(t, raw) })
}

// Raw CBOR in an object becomes JSON wherever it is, and managedFields go if that is asked.
func TestFinishedCBOR(t *testing.T) {
	value := map[string]any{"f:b": map[string]any{}, "f:a": map[string]any{"k:{\"x\":1}": map[string]any{}}}
	const text = `{"f:a":{"k:{\"x\":1}":{}},"f:b":{}}`
	one := map[string]any{
		"fields": value, "raw": value, "named": map[string]any{"a": value, "b": nil}, "managed": []any{map[string]any{"fieldsV1": value}}, "any": value,
	}
	raw, err := direct.Marshal(map[string]any{"next": map[string]any{"next": one}, "raw": 1.5})
	if err != nil {
		t.Fatal(err)
	}
	for _, drop := range []bool{false, true} {
		c, err := NewCBORCodec(reflect.TypeFor[rawKeeper](), true, drop)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []Codec{c, c.Sharing(kubeproto.NewStrings(8))} {
			var k rawKeeper
			if err := c.Unmarshal(raw, &k); err != nil {
				t.Fatal(err)
			}
			inner := k.Next.Next
			for _, got := range [][]byte{inner.Fields.GetRawBytes(), inner.Raw.Raw, inner.Named["a"].Raw} {
				if string(got) != text {
					t.Errorf("%s, want %s", got, text)
				}
			}
			if string(k.Raw.Raw) != "1.5" || inner.Named["b"].Raw != nil || !cmp.Equal(inner.Any, any(value)) || drop != (inner.Managed == nil) {
				t.Errorf("%+v", inner)
			}
			if !drop && string(inner.Managed[0].FieldsV1.GetRawBytes()) != text {
				t.Errorf("%s", inner.Managed[0].FieldsV1.GetRawBytes())
			}
		}
	}
}

// A raw value that JSON cannot express costs the object.
func TestUnfitRawCBOR(t *testing.T) {
	c, err := NewCBORCodec(reflect.TypeFor[rawKeeper](), false, false)
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := hex.DecodeString("a163726177a1616182c240f5") // a bignum
	if err := c.Unmarshal(raw, new(rawKeeper)); err == nil || err.Error() == "" {
		t.Error(err)
	}
}

// Maps over the limit that are the names of members are passed over.
func TestNestedNamesCBOR(t *testing.T) {
	body := bytes.Repeat([]byte{0xa1}, 5000) // each the name of the one before
	body = append(body, bytes.Repeat([]byte{0x00}, 5001)...)
	r := NewCBOR(bytes.NewReader(body), 1000)
	if _, err := r.Object(nil); err != ErrOverLimit {
		t.Fatal(err)
	}
	if _, err := r.Peek(); err != io.EOF {
		t.Errorf("%v, want the end", err)
	}
}
