package client_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kinform/kinform/client"
)

// listOne lists one item as T and returns its object, or the error about it.
func listOne[T any](t testing.TB, item string) (T, string, error) {
	t.Helper()
	return listOneOf(t, item, newResource[T])
}

// listOneLike is listOne for an object of the type of like.
func listOneLike(t testing.TB, item string, like any) (any, string, error) {
	t.Helper()
	return listOneOf(t, item, func(t testing.TB, conn client.Connection, opts client.Options) *client.Resource[any] {
		return newLike(t, conn, like, opts)
	})
}

func listOneOf[T any](t testing.TB, item string, open func(testing.TB, client.Connection, client.Options) *client.Resource[T]) (T, string, error) {
	t.Helper()
	got := list(t.Context(), open(t, bodies(listJSON(item)), client.Options{}), metav1.ListOptions{})
	if got.err != nil {
		t.Fatal(got.err)
	}
	if len(got.errs) == 1 {
		return *new(T), "", got.errs[0]
	}
	return got.events[0].Object, got.events[0].ResourceVersion, nil
}

func TestObjectTypes(t *testing.T) {
	item := widgetJSON("a", 10, 3)
	t.Run("struct", func(t *testing.T) {
		w, rv, err := listOne[widget](t, item)
		if d := cmp.Diff(*newWidget("a", 10, 3), w); d != "" || rv != "10" || err != nil {
			t.Error(rv, err, d)
		}
	})
	t.Run("pointer to struct without metadata", func(t *testing.T) {
		w, rv, err := listOne[*plain](t, item)
		if w.Spec.Size != 3 || rv != "10" || err != nil {
			t.Error(rv, err, w)
		}
		if _, _, err = listOne[*plain](t, `{"metadata":{"resourceVersion":"7"},"spec":{}}`); err == nil || !strings.Contains(err.Error(), "name") {
			t.Error("no name:", err)
		}
	})
	t.Run("map", func(t *testing.T) {
		m, rv, err := listOne[map[string]any](t, item)
		if size := m["spec"].(map[string]any)["size"]; size != int64(3) || rv != "10" || err != nil {
			t.Error(rv, err, m)
		}
	})
	t.Run("Unstructured", func(t *testing.T) {
		u, rv, err := listOne[*unstructured.Unstructured](t, item)
		if u.GetKind() != "Widget" || u.GetAPIVersion() != "example.com/v1" || rv != "10" || err != nil {
			t.Error(rv, err, u)
		}
	})
	t.Run("Unstructured struct", func(t *testing.T) {
		u, rv, err := listOne[unstructured.Unstructured](t, item)
		if u.GetKind() != "Widget" || rv != "10" || err != nil {
			t.Error(rv, err, u)
		}
	})
	t.Run("PartialObjectMetadata", func(t *testing.T) {
		p, rv, err := listOne[*metav1.PartialObjectMetadata](t, item)
		if p.Kind != "PartialObjectMetadata" || p.APIVersion != "meta.k8s.io/v1" || p.Name != "a" || rv != "10" || err != nil {
			t.Error(rv, err, p)
		}
	})
	t.Run("metadata without a kind", func(t *testing.T) {
		type nameless struct {
			metav1.ObjectMeta `json:"metadata"`
			Spec              widgetSpec `json:"spec"`
		}
		o, rv, err := listOneLike(t, item, &nameless{})
		if w, _ := o.(*nameless); w == nil || w.Name != "a" || w.Spec.Size != 3 || rv != "10" || err != nil {
			t.Error(rv, err, o)
		}
		if _, _, err := listOneLike(t, `{"kind":"Widget","apiVersion":"example.org/v1","metadata":{"name":"a"}}`, &nameless{}); !errors.Is(err, client.ErrWrongKind) {
			t.Error(err)
		}
	})
	t.Run("metadata behind a nil pointer", func(t *testing.T) {
		type hollow struct {
			metav1.TypeMeta
			*metav1.ObjectMeta `json:"metadata"`
		}
		if h, _, err := listOneLike(t, item, &hollow{}); err != nil || h.(*hollow).Name != "a" {
			t.Error(h, err)
		}
		if _, _, err := listOneLike(t, `{"spec":1}`, &hollow{}); err == nil {
			t.Error("no error")
		}
	})
}

// Every object is a separate allocation: keeping one keeps no other, and changing one changes no
// other.
func TestObjectsShareNothing(t *testing.T) {
	item := `{"metadata":{"name":"a","labels":{"x":"y"}},"spec":{"parts":[{"name":"p"}],"data":"AAEC"}}`
	got := list(t.Context(), newResource[*widget](t, bodies(listJSON(item, item)), client.Options{}), metav1.ListOptions{})
	a, b := got.events[0].Object, got.events[1].Object
	a.Labels["x"], a.Spec.Parts[0].Name, a.Spec.Data[0] = "changed", "changed", 9
	if b.Labels["x"] != "y" || b.Spec.Parts[0].Name != "p" || b.Spec.Data[0] != 0 {
		t.Error(b)
	}
}

// objectTexts are objects at the edges of what JSON and encoding/json allow.
var objectTexts = []string{
	widgetJSON("a", 1, 1),
	`{"metadata":{"name":"a"},"spec":{"size":1,"size":2}}`,
	`{"metadata":{"name":"a","name":"b","labels":{"x":"1"},"labels":{"y":"2"}}}`,
	`{"metadata":{"name":"a"},"Spec":{"Size":1},"spec":{"SIZE":3}}`,
	`{"metadata":{"name":"a"},"spec":{"size":1,"unknown":{"deep":[1,2,{"x":null}]}},"more":[]}`,
	`{"metadata":{"name":"a"},"spec":null}`,
	`{"metadata":{"name":"a"},"spec":{"size":null,"color":null,"options":null,"data":null,"parts":null}}`,
	`{"metadata":{"name":"a"},"spec":{"parts":[null,{"name":"x"}],"parts":[{}]}}`,
	`{"metadata":{"name":"a"},"spec":{"options":{"i":1,"f":1.0,"big":9223372036854775807,"over":9223372036854775808,"e":1e3,"neg":-0,"negf":-0.0,"s":"x","t":true,"f2":false,"n":null,"l":[1,1.5,[]],"m":{"a":{}}}}}`,
	`{"metadata":{"name":"a"},"spec":{"options":{"huge":1e400}}}`,
	`{"metadata":{"name":"a"},"spec":{"options":{"a":{"x":1},"a":{"y":2}}}}`,
	`{"metadata":{"name":"a"},"spec":{"extra":1,"extra":2}}`,
	`{"metadata":{"name":"a"},"spec":{"extra":{"x":1},"extra":{"y":2}}}`,
	`{"metadata":{"name":"a"},"spec":{"extra":{"x":1},"extra":null}}`,
	`{"metadata":{"name":"a"},"spec":{"extra":1,"extra":1e999}}`,
	`{"metadata":{"name":"a"},"spec":{"size":1.0}}`,
	`{"metadata":{"name":"a"},"spec":{"size":1e2}}`,
	`{"metadata":{"name":"a"},"spec":{"size":9223372036854775808}}`,
	`{"metadata":{"name":"a"},"spec":{"size":"1"}}`,
	`{"metadata":{"name":"a"},"spec":{"ratio":1}}`,
	`{"metadata":{"name":"a"},"spec":{"ratio":1e400}}`,
	`{"metadata":{"name":"a"},"spec":{"color":"caf\u00e9 \ud83d\ude00 \u0000 \/ \ud800"}}`,
	"{\"metadata\":{\"name\":\"a\"},\"spec\":{\"color\":\"\xff\xfe \xed\xa0\x80\"}}",
	"{\"metadata\":{\"name\":\"a\",\"labels\":{\"\xff\":\"x\"}}}",
	`{"metadata":{"name":"a"},"spec":{"data":"AAEC"}}`,
	`{"metadata":{"name":"a"},"spec":{"data":"AA\nEC"}}`,
	`{"metadata":{"name":"a"},"spec":{"data":"A"}}`,
	`{"metadata":{"name":"a"},"spec":{"data":[1,2]}}`,
	`{"metadata":{"name":"a","creationTimestamp":"2025-01-02T03:04:05Z","deletionTimestamp":null,"generation":7}}`,
	`{"metadata":{"name":"a","creationTimestamp":"2025-01-02T03:04:05.678901234+05:30","deletionTimestamp":"2025\u002d01-02T03:04:05Z"}}`,
	`{"metadata":{"name":"a","creationTimestamp":"2025-01-02T3:04:05,5+24:00","deletionTimestamp":"2024-02-29T23:59:59Z","deletionTimestamp":null}}`,
	`{"metadata":{"name":"a","creationTimestamp":"2025-01-02T03:04:05Z","creationTimestamp":null}}`,
	`{"metadata":{"name":"a","creationTimestamp":"2025-02-29T03:04:05Z"}}`,
	`{"metadata":{"name":"a","creationTimestamp":"2025-01-02t03:04:05z"}}`,
	`{"metadata":{"name":"a","creationTimestamp":""}}`,
	`{"metadata":{"name":"a","creationTimestamp":0}}`,
	`{"metadata":{"name":"a","managedFields":[{"manager":"m","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:size":{}}}}]}}`,
	`{"metadata":{"name":"a","finalizers":["x",null]}}`,
	`{"metadata":{"name":"a"},"spec":[]}`,
	`{"metadata":{"name":"a"},"spec":"x"}`,
	` { "metadata" : { "name" : "a" } , "spec" : { "size" : 1 } } `,
}

// agree compares what the client makes of one object with what apimachinery makes of it.
func agree(t testing.TB, text string) {
	t.Helper()
	var want widget
	wantErr := utiljson.Unmarshal([]byte(text), &want)
	w, _, err := listOne[*widget](t, text)
	switch {
	case (err == nil) != (wantErr == nil) && want.Name != "" && (want.Kind == "" || want.Kind == "Widget"):
		t.Errorf("%q: apimachinery says %v, the client says %v", text, wantErr, err)
	case err == nil:
		want.Kind, want.APIVersion = "Widget", "example.com/v1"
		if d := cmp.Diff(&want, w, cmp.AllowUnexported(intstr.IntOrString{})); d != "" {
			t.Errorf("%q: %s", text, d)
		}
	}

	var wantMap map[string]any
	wantErr = utiljson.Unmarshal([]byte(text), &wantMap)
	u, _, err := listOne[*unstructured.Unstructured](t, text)
	if err == nil {
		wantMap["kind"], wantMap["apiVersion"] = "Widget", "example.com/v1"
		if d := cmp.Diff(wantMap, u.Object); d != "" || wantErr != nil {
			t.Errorf("%q: %v %s", text, wantErr, d)
		}
	} else if wantErr == nil && want.Name != "" && (want.Kind == "" || want.Kind == "Widget") && (want.APIVersion == "" || want.APIVersion == "example.com/v1") {
		t.Errorf("%q: %v", text, err)
	}
}

func TestObjectsAgreeWithApimachinery(t *testing.T) {
	for _, text := range objectTexts {
		agree(t, text)
	}
}

// Random documents, as an Unstructured and back.
func TestRandomObjectsAgreeWithApimachinery(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		m := map[string]any{"metadata": map[string]any{"name": "a"}, "spec": map[string]any{"options": map[string]any{"x": randomValue(rng, 4)}}}
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		agree(t, string(text))
	}
}

func randomValue(rng *rand.Rand, depth int) any {
	n := 8
	if depth == 0 {
		n = 6
	}
	switch rng.IntN(n) {
	case 0:
		return nil
	case 1:
		return rng.IntN(2) == 0
	case 2:
		return rng.Int64() >> rng.IntN(64) * int64(1-2*rng.IntN(2))
	case 3:
		return rng.NormFloat64() * 1e6
	case 4, 5:
		b := make([]rune, rng.IntN(20))
		for i := range b {
			b[i] = rune(rng.IntN(1 << (4 + rng.IntN(13))))
		}
		return string(b)
	case 6:
		l := make([]any, rng.IntN(4))
		for i := range l {
			l[i] = randomValue(rng, depth-1)
		}
		return l
	}
	m := map[string]any{}
	for range rng.IntN(4) {
		m[randomKey(rng)] = randomValue(rng, depth-1)
	}
	return m
}

func randomKey(rng *rand.Rand) string {
	return []string{"a", "b", "A", "é", "kind", "metadata", "items", ""}[rng.IntN(8)]
}

// Lists of Unstructured agree with apimachinery's own, item for item.
func TestUnstructuredListAgreesWithApimachinery(t *testing.T) {
	text := listJSON(widgetJSON("a", 1, 1), full(widgetJSON("b", 2, 2)), `{"metadata":{"name":"c"},"spec":{"options":{"f":1.0,"i":1}}}`)
	object, _, err := unstructured.UnstructuredJSONScheme.Decode([]byte(text), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := object.(*unstructured.UnstructuredList).Items
	got := list(t.Context(), newResource[*unstructured.Unstructured](t, bodies(text), client.Options{}), metav1.ListOptions{})
	if len(got.events) != len(want) || got.err != nil || got.errs != nil {
		t.Fatal(got)
	}
	for i, ev := range got.events {
		if d := cmp.Diff(want[i].Object, ev.Object.Object); d != "" {
			t.Error(d)
		}
	}
}

// A Go type that encoding/json takes, and its successor finds fault with, decodes too.
func TestQuestionableType(t *testing.T) {
	type odd struct {
		Metadata metav1.ObjectMeta  `json:"metadata"`
		Spec     struct{ size int } `json:"spec"` // no exported field
	}
	o, rv, err := listOne[*odd](t, widgetJSON("a", 10, 3))
	if err != nil || rv != "10" || o.Metadata.Name != "a" || o.Spec.size != 0 {
		t.Error(o, rv, err)
	}
}
