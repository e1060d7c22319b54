//go:build e2e

package e2e_test

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/e2e/oracle"
	"github.com/kinform/kinform/kind"
)

// form shows null for each pointer that is not there, and has a field of any form. The server may have
// null in free, nullable and must.
type form struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              formSpec `json:"spec"`
}

type formSpec struct {
	Free     json.RawMessage `json:"free,omitempty"`
	Nullable *int            `json:"nullable"`
	Plain    *int            `json:"plain"`
	Default  *int            `json:"default"`
	Must     *int            `json:"must"`
	Parts    []formPart      `json:"parts,omitempty"`
}

type formPart struct {
	Name string `json:"name"`
	Must *int   `json:"must"`
	Late struct {
		Nullable *int `json:"nullable"`
		Size     int  `json:"size,omitempty"`
	} `json:"late,omitzero"`
}

func (f *form) DeepCopy() *form {
	c := *f
	c.ObjectMeta = *f.ObjectMeta.DeepCopy()
	c.Spec.Parts = slices.Clone(f.Spec.Parts)
	return &c
}

const formPath = "/apis/example.com/v1/namespaces/default/forms/one"

// installForms installs the definition of forms, and makes one as another client would.
func installForms(ctx context.Context, t *testing.T, api *oracle.Client) {
	t.Helper()
	number := func(more ...any) map[string]any {
		n := map[string]any{"type": "integer"}
		for i := 0; i < len(more); i += 2 {
			n[more[i].(string)] = more[i+1]
		}
		return n
	}
	object := func(properties map[string]any, required ...any) map[string]any {
		return map[string]any{"type": "object", "properties": properties, "required": required}
	}
	free := map[string]any{"x-kubernetes-preserve-unknown-fields": true}
	spec := object(map[string]any{
		"free": free, "more": free,
		"nullable": number("nullable", true), "plain": number(), "default": number("default", 5), "must": number("nullable", true),
		"parts": map[string]any{"type": "array", "items": object(map[string]any{"name": map[string]any{"type": "string"}, "must": number("nullable", true), "more": free,
			"late": object(map[string]any{"nullable": number("nullable", true), "size": number()}),
		}, "name", "must")},
	}, "must")
	definition := map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "forms.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced", "names": map[string]any{"plural": "forms", "singular": "form", "kind": "Form"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": object(map[string]any{"spec": spec}, "spec")},
			}},
		},
	}
	must(t, api.Do(ctx, http.MethodPost, definitionsPath, definition, nil))
	must(t, api.Answers(ctx, formPath[:len(formPath)-len("/one")], http.StatusOK))
	made := map[string]any{
		"apiVersion": "example.com/v1", "kind": "Form", "metadata": map[string]any{"name": "one"},
		"spec": map[string]any{"must": 1, "more": map[string]any{"none": nil}, "parts": []any{map[string]any{"name": "a", "must": nil, "more": []any{nil}}}},
	}
	must(t, api.Do(ctx, http.MethodPost, formPath[:len(formPath)-len("/one")], made, nil))
}

// testNulls sets and removes nulls: they arrive where the server keeps them, and the same edit again
// sends nothing.
func testNulls(ctx context.Context, t *testing.T, conn client.Connection, api *oracle.Client) {
	installForms(ctx, t, api)
	own, wire := through(conn)
	forms := resource(t, own, kind.Of[*form](schema.GroupVersion{Group: "example.com", Version: "v1"}, "forms"), client.Options{})
	one, two := 1, 2
	free := func(text string) func(*formSpec) { return func(f *formSpec) { f.Free = json.RawMessage(text) } }
	const more = `,"more":{"none":null},`
	const parts = `"parts":[{"name":"a","must":null,"more":[null]}]`
	for _, c := range []struct {
		name   string
		edit   func(*formSpec)
		writes int
		want   string
	}{
		{"nothing", func(*formSpec) {}, 0, `{"default":5,"must":1` + more + parts + `}`},
		{"what is not there is null", func(f *formSpec) { f.Nullable, f.Plain = nil, nil }, 0, `{"default":5,"must":1` + more + parts + `}`},
		{"a value", func(f *formSpec) { f.Nullable, f.Plain, f.Default = &one, &one, &one }, 1, `{"default":1,"nullable":1,"plain":1,"must":1` + more + parts + `}`},
		// Null is what the type says. The server keeps it, leaves it out, or puts the default in.
		{"null for a value", func(f *formSpec) { f.Nullable, f.Plain = nil, nil }, 1, `{"default":1,"nullable":null,"must":1` + more + parts + `}`},
		{"a value for null", func(f *formSpec) { f.Nullable = &two }, 1, `{"default":1,"nullable":2,"must":1` + more + parts + `}`},
		{"null that must be there", func(f *formSpec) { f.Must = nil }, 1, `{"default":1,"nullable":2,"must":null` + more + parts + `}`},
		{"null in a new element", func(f *formSpec) { f.Parts = append(f.Parts[:1:1], formPart{Name: "b"}) }, 1,
			`{"default":1,"nullable":2,"must":null` + more + parts[:len(parts)-1] + `,{"name":"b","must":null}]}`},
		{"null for a value in an element", func(f *formSpec) { f.Parts = f.Parts[:1]; f.Parts[0].Must = &one }, 1,
			`{"default":1,"nullable":2,"must":null` + more + `"parts":[{"name":"a","must":1,"more":[null]}]}`},
		{"null in an element again", func(f *formSpec) { f.Parts[0].Must = nil }, 1, `{"default":1,"nullable":2,"must":null` + more + parts + `}`},
		{"free null", free(`{"a":null,"b":{"c":[null,{"d":null}]}}`), 1,
			`{"free":{"a":null,"b":{"c":[null,{"d":null}]}},"default":1,"nullable":2,"must":null` + more + parts + `}`},
		{"free values", free(`{"a":1,"b":{"c":[1]}}`), 1, `{"free":{"a":1,"b":{"c":[1]}},"default":1,"nullable":2,"must":null` + more + parts + `}`},
		{"free null instead", free(`{"a":1,"b":null}`), 1, `{"free":{"a":1,"b":null},"default":1,"nullable":2,"must":null` + more + parts + `}`},
		{"no free null", free(`{"a":1}`), 1, `{"free":{"a":1},"default":1,"nullable":2,"must":null` + more + parts + `}`},
		{"not there", free(``), 1, `{"default":1,"nullable":2,"must":null` + more + parts + `}`},
		{"a struct that the server lacks", func(f *formSpec) { f.Parts[0].Late.Size = 1 }, 1,
			`{"default":1,"nullable":2,"must":null` + more + `"parts":[{"name":"a","must":null,"late":{"size":1},"more":[null]}]}`},
		{"no struct", func(f *formSpec) { f.Parts[0].Late.Size = 0 }, 1,
			`{"default":1,"nullable":2,"must":null` + more + `"parts":[{"name":"a","must":null,"late":{},"more":[null]}]}`},
	} {
		for again := range 2 {
			wire.sent()
			_, _, err := controller.CreateOrUpdate(ctx, forms, &form{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "one"}}, func(f *form) error {
				c.edit(&f.Spec)
				return nil
			})
			if sent := wire.sent(); err != nil || len(sent) != c.writes*(1-again) {
				t.Errorf("%s, %d: %v, sent %q", c.name, again, err, sent)
			}
		}
		var now, want map[string]any
		must(t, api.Do(ctx, http.MethodGet, formPath, nil, &now))
		must(t, json.Unmarshal([]byte(c.want), &want))
		if !reflect.DeepEqual(now["spec"], any(want)) {
			text, _ := json.Marshal(now["spec"])
			t.Errorf("%s: the spec is %s, want %s", c.name, text, c.want)
		}
	}
	null := func(f *formSpec) { f.Default = nil } // the default comes back, so the edit never arrives
	now, _, err := controller.CreateOrUpdate(ctx, forms, &form{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "one"}}, func(f *form) error { null(&f.Spec); return nil })
	if err != nil || now.Spec.Default == nil || *now.Spec.Default != 5 {
		t.Errorf("null for a default: %v, %+v", err, now)
	}
	testNullsOfBuiltin(ctx, t, conn, api)
}

// testNullsOfBuiltin does so in the free form that a built-in kind has.
func testNullsOfBuiltin(ctx context.Context, t *testing.T, conn client.Connection, api *oracle.Client) {
	own, wire := through(conn)
	revisions := resource(t, own, kind.Of[*appsv1.ControllerRevision](appsv1.SchemeGroupVersion, "controllerrevisions"), client.Options{})
	for _, data := range []string{`{"a":null,"b":1}`, `{"a":null}`} { // data cannot be changed once it is there
		name := "revision-" + string(data[len(data)-2])
		_, err := revisions.Create(ctx, &appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: runtime.RawExtension{Raw: []byte(data)},
		}, metav1.CreateOptions{})
		must(t, err)
		wire.sent()
		for range 2 {
			_, _, err := controller.CreateOrUpdate(ctx, revisions, &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}, func(r *appsv1.ControllerRevision) error {
				r.Revision = 7
				return nil
			})
			must(t, err)
		}
		var now map[string]any
		must(t, api.Do(ctx, http.MethodGet, "/apis/apps/v1/namespaces/default/controllerrevisions/"+name, nil, &now))
		text, _ := json.Marshal(now["data"])
		if sent := wire.sent(); string(text) != data || len(sent) != 1 {
			t.Errorf("the data are %s, want %s; sent %q", text, data, sent)
		}
	}
}
