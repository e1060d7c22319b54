package fakecrd_test

import (
	"net/http"
	"testing"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/apiextensions/fakecrd"
)

// FuzzSchema: no definition and no object makes the server fail by itself.
func FuzzSchema(f *testing.F) {
	f.Add(widgets, widget("w", "{color: red, ports: [{name: a}]}"))
	f.Add(widgets, widget("w", "{color: [1], template: {kind: Pod}, free: {a: null}, ports: {name: 1}}"))
	f.Add("{kind: CustomResourceDefinition, apiVersion: apiextensions.k8s.io/v1, metadata: {name: widgets.example.com}}", "{}")
	f.Fuzz(func(t *testing.T, definition, object string) {
		s := fake.New(fake.Options{})
		if err := fakecrd.Serve(s); err != nil {
			t.Fatal(err)
		}
		if code, answer := call(t, s, http.MethodPost, definitionsPath, definition, ""); code == http.StatusInternalServerError {
			t.Errorf("definition: %s", answer)
		}
		if code, answer := call(t, s, http.MethodPost, widgetsPath, object, ""); code == http.StatusInternalServerError {
			t.Errorf("object: %s", answer)
		}
		for _, path := range []string{widgetsPath, "/openapi/v3/apis/example.com/v1", definitionsPath} {
			if code, answer := call(t, s, http.MethodGet, path, "", ""); code == http.StatusInternalServerError {
				t.Errorf("%s: %s", path, answer)
			}
		}
	})
}
