package client_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinform/kinform/client"
)

var errPicky = errors.New("not to my taste")

// picky has a method that refuses.
type picky struct{}

func (*picky) UnmarshalJSON([]byte) error { return errPicky }

// nested has a method that decodes by encoding/json.
type nested struct{ n int }

func (n *nested) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &n.n) }

type fussy struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Picky  *picky            `json:"picky"`
		Nested *nested           `json:"nested"`
		Small  int8              `json:"small"`
		Texts  map[string]string `json:"texts"`
		Parts  []widgetPart      `json:"parts"`
		Any    any               `json:"any"`
	} `json:"spec"`
}

// An error says which field, where, and what is wrong with it, in words that do not depend
// on the library.
func TestErrorsNameTheField(t *testing.T) {
	for spec, want := range map[string][]string{
		`"small":"x"`:                {"field spec.small at byte 57:", "string", "int8"},
		`"small":300`:                {"field spec.small at byte 57:", "300", "int8"},
		`"small":1.5`:                {"field spec.small at byte 57:", "1.5", "int8"},
		`"texts":{"a/b":[]}`:         {"field spec.texts.a/b at byte ", "array", "string"},
		`"parts":[{},{"name":true}]`: {"field spec.parts.1.name at byte ", "bool", "string"},
		`"parts":{}`:                 {"field spec.parts at byte 57:", "object"},
		`"picky":1`:                  {"field spec.picky at byte 57:", "not to my taste"},
		`"nested":"x"`:               {"field spec.nested at byte 58:", "string", "int"},
		`"any":{"a":[1e999]}`:        {"field spec.any.a.0 at byte 61: ", "1e999 does not fit a float64"},
		`"small":"` + strings.Repeat("é", 5000) + `"`: {"field spec.small"},
	} {
		item := `{"metadata":{"name":"x","namespace":"n"},"spec":{` + spec + `}}`
		_, _, err := listOneLike(t, item, &fussy{})
		checkWording(t, err, want...)
		if strings.Contains(spec, "picky") && !errors.Is(err, errPicky) {
			t.Error(err)
		}
	}
	_, _, err := listOne[*unstructured.Unstructured](t, `{"metadata":{"name":"x"},"spec":{"a":[1e999]}}`)
	checkWording(t, err, "field spec.a.0 at byte 38: number 1e999 does not fit a float64")
	_, _, err = listOne[*widget](t, `{"metadata":{"name":"x","creationTimestamp":"yesterday"}}`)
	checkWording(t, err, "field metadata.creationTimestamp at byte ", "yesterday")
	_, _, err = listOne[*widget](t, `{"metadata":[]}`)
	checkWording(t, err, "field metadata at byte ", "array")

	for body, want := range map[string]string{
		listJSON(widgetJSON("a", 1, 1))[:150]:            "byte 150",
		strings.Replace(listJSON(), `"items"`, `'`, 1):   "byte ",
		strings.Replace(listJSON(), `"tok"`, `[1]`, 1):   "field continue at byte ",
		`{"kind":"WidgetList","apiVersion":"v1","items"`: "example.com/v1",
	} {
		got := list(t.Context(), newResource[*widget](t, bodies(body), client.Options{}), metav1.ListOptions{})
		checkWording(t, got.err, want)
	}
}

func checkWording(t *testing.T, err error, want ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	text := err.Error()
	for _, part := range want {
		if !strings.Contains(text, part) {
			t.Errorf("%s: no %q", text, part)
		}
	}
	for _, name := range []string{"json:", "jsontext", "jsonv1", "Go struct", "Go value of", "unmarshal"} {
		if strings.Contains(strings.ReplaceAll(text, "cannot unmarshal string into Go value of type int", ""), name) {
			t.Errorf("%s: %q", text, name)
		}
	}
	if len(text) > 600 {
		t.Errorf("%d bytes: %.200s", len(text), text)
	}
}
