package client_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/internal/memtest"
	"github.com/kinform/kinform/kind"
)

// expands lists an object between two others, which would take far more memory than its
// encoding has bytes: it is left out, and next to nothing is allocated for it.
func expands[T any](t *testing.T, contentType string, body []byte) {
	t.Helper()
	r, err := client.New(bodiesOf(contentType, body), kind.OfResource[T](machines), client.Options{MaxObjectBytes: 4 << 20})
	if err != nil {
		t.Fatal(err)
	}
	var got collected[T]
	used := memtest.Bytes(128<<20, func() { got = list(t.Context(), r, metav1.ListOptions{}) })
	var large *client.TooLargeError
	if got.err != nil || len(got.events) != 2 || len(got.errs) != 1 || !errors.As(got.errs[0], &large) || got.errs[0].Key != "ns/x" {
		t.Errorf("%.300v", got)
	}
	if used > 128<<20 {
		t.Errorf("%d bytes allocated for %d of body", used, len(body))
	}
}

// The limit is one of memory, too.
func TestExpansion(t *testing.T) {
	const small = `{"kind":"Machine","apiVersion":"example.com/v1","metadata":{"name":"a","namespace":"ns"}}`
	inList := func(spec string) string {
		return `{"kind":"MachineList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"1"},"items":[` + small +
			`,{"kind":"Machine","apiVersion":"example.com/v1","metadata":{"name":"x","namespace":"ns"},"spec":` + spec + `},` + small + `]}`
	}
	many := func(piece string, n int) string { return strings.TrimSuffix(strings.Repeat(piece+",", n), ",") }
	nested := strings.Repeat(strings.Repeat(`{"a":`, 50)+"0"+strings.Repeat("}", 50)+",", 6000) + "0"
	for name, spec := range map[string]string{
		"empty structs": `{"units":[` + many("{}", 630_000) + `]}`,
		"null structs":  `{"units":[` + many("null", 780_000) + `]}`,
	} {
		t.Run(name, func(t *testing.T) {
			expands[*machine](t, "application/json", []byte(inList(spec)))
		})
	}
	for name, spec := range map[string]string{"empty maps": `[` + many("{}", 630_000) + `]`, "nested maps": `[` + nested + `]`} {
		t.Run(name, func(t *testing.T) {
			expands[*unstructured.Unstructured](t, "application/json", []byte(inList(spec)))
		})
	}
	one := func(name string, spec []byte) []byte {
		meta := append(field(1, name), field(3, "ns")...)
		return field(2, append(field(1, meta), field(2, spec)...))
	}
	for name, spec := range map[string][]byte{
		"units":            bytes.Repeat(field(1, []byte{}), 900_000),
		"units with a map": bytes.Repeat(field(1, field(2, append(field(1, "a"), field(2, "")...))), 200_000),
	} {
		t.Run("protobuf "+name, func(t *testing.T) {
			raw := bytes.Join([][]byte{field(1, field(2, "1")), one("a", nil), one("x", spec), one("b", nil)}, nil)
			expands[*machine](t, "application/vnd.kubernetes.protobuf", protobufObject(t, "example.com/v1", "MachineList", rawMessage(raw)))
		})
	}
	// What is only large passes.
	for name, spec := range map[string]string{
		"string":  fmt.Sprintf(`{"selector":{"a":%q}}`, strings.Repeat("{},", 1_000_000)),
		"objects": `{"units":[` + strings.TrimSuffix(strings.Repeat(`{"name":"a unit","port":7},`, 60_000), ",") + `]}`,
	} {
		r, err := client.New(bodies(inList(spec)), kind.OfResource[*machine](machines), client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := list(t.Context(), r, metav1.ListOptions{}); got.err != nil || len(got.events) != 3 {
			t.Errorf("%s: %.300v", name, got)
		}
	}
}

// What etcd stores by default passes in any type, however small the pieces are: 1.5 MiB.
func TestLegalObjectsPass(t *testing.T) {
	const size = 1536 << 10
	many := func(piece func(i int) string) string {
		var b strings.Builder
		for i := 0; b.Len() < size-200; i++ {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(piece(i))
		}
		return b.String()
	}
	same := func(piece string) string { return many(func(int) string { return piece }) }
	entries := func(value string) string {
		return many(func(i int) string { return fmt.Sprintf(`"%x":%s`, i, value) })
	}
	for name, spec := range map[string]string{
		"words":   `{"words":[` + same(`""`) + `]}`,
		"numbers": `{"numbers":[` + same(`1`) + `]}`,
		"labels":  `{"labels":{` + entries(`""`) + `}}`,
		"amounts": `{"amounts":{` + entries(`"1"`) + `}}`,
		"structs": `{"units":[` + same(`{"name":"a"}`) + `]}`,
		"schema":  `{"schemas":{` + entries(`{"type":"object"}`) + `}}`,
	} {
		t.Run(name, func(t *testing.T) { passes(t, &spacious{}, spec) })
	}
	for name, spec := range map[string]string{
		"numbers": `[` + same(`1`) + `]`,
		"nulls":   `[` + same(`null`) + `]`,
		"entries": `{` + entries(`1`) + `}`,
		"lists":   `[` + same(`[1,2]`) + `]`,
		"maps":    `[` + same(`{"name":"a","value":1}`) + `]`,
	} {
		t.Run("unstructured "+name, func(t *testing.T) { passes(t, &unstructured.Unstructured{}, spec) })
	}
}

// spacious has structs as large as the containers of a pod and the schemas of a
// CustomResourceDefinition.
type spacious struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Words   []string                     `json:"words"`
		Numbers []int64                      `json:"numbers"`
		Labels  map[string]string            `json:"labels"`
		Amounts map[string]resource.Quantity `json:"amounts"`
		Units   []struct {
			Name  string     `json:"name"`
			Other [25]string `json:"other,omitzero"`
		} `json:"units"`
		Schemas map[string]level `json:"schemas"`
	} `json:"spec"`
}

type level struct {
	Type       string           `json:"type"`
	Other      [25]string       `json:"other,omitzero"`
	Properties map[string]level `json:"properties"`
}

func passes(t *testing.T, like any, spec string) {
	t.Helper()
	body := `{"kind":"MachineList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"1"},"items":[` +
		`{"kind":"Machine","apiVersion":"example.com/v1","metadata":{"name":"x"},"spec":` + spec + `}]}`
	r, err := client.NewLike(bodies(body), kind.OfResource[any](machines), like, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := list(t.Context(), r, metav1.ListOptions{}); got.err != nil || len(got.events) != 1 {
		t.Errorf("%v, %.300v", got.err, got.errs)
	}
}

type rawMessage []byte

func (m rawMessage) Marshal() ([]byte, error) { return m, nil }
