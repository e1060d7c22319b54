package fake_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
)

// TestDeepBodies: what is nested deeper than JSON may be in the API server is refused with
// a 400, and what is not is merged in a time that does not grow with the square.
func TestDeepBodies(t *testing.T) {
	const apps, things = "/apis/apps/v1/namespaces/a/apps", "/apis/example.com/v1/namespaces/a/things"
	deep := func(depth int) string {
		return strings.Repeat(`{"inner":`, depth) + "{}" + strings.Repeat("}", depth)
	}
	for _, c := range []struct{ method, path, media, head, tail string }{
		{"PATCH", apps + "/p", "application/merge-patch+json", `{"spec":`, "}"},
		{"PATCH", apps + "/p", "application/strategic-merge-patch+json", `{"spec":`, "}"},
		{"PATCH", apps + "/p", "application/json-patch+json", `[{"op":"add","path":"/spec","value":`, "}]"},
		{"PATCH", apps + "/p?fieldManager=m", "application/apply-patch+yaml", `{"apiVersion":"apps/v1","kind":"App","metadata":{"name":"p"},"spec":`, "}"},
		{"PUT", apps + "/p", "application/json", `{"apiVersion":"apps/v1","kind":"App","metadata":{"name":"p"},"spec":`, "}"},
		{"POST", apps, "application/yaml", `{"apiVersion":"apps/v1","kind":"App","metadata":{"name":"q"},"spec":`, "}"},
		{"DELETE", apps + "/p", "application/json", `{"preconditions":`, "}"},
		{"PATCH", things + "/p", "application/merge-patch+json", `{"spec":`, "}"},
		{"PATCH", things + "/p?fieldManager=m", "application/apply-patch+yaml", `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"p"},"spec":`, "}"},
		{"POST", things, "application/json", `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"q"},"spec":`, "}"},
	} {
		s := fake.New(fake.Options{})
		check(t, fake.Register(s, kind.Of[*unstructured.Unstructured](exampleV1, "things").Named("Thing"), fake.Rules{}))
		check(t, fake.Register(s, kind.Of[*app](schema.GroupVersion{Group: "apps", Version: "v1"}, "apps"), fake.Rules{}))
		call(t, s, "POST", apps, `{"apiVersion":"apps/v1","kind":"App","metadata":{"name":"p"}}`)
		call(t, s, "POST", things, `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"p"}}`)
		code, answer, _ := call(t, s, c.method, c.path, c.head+deep(100_000)+c.tail, "Content-Type", c.media)
		if code != 400 || !strings.Contains(answer, `"reason":"BadRequest"`) || s.ResourceVersion() != "3" {
			t.Errorf("%s %s as %s: %d at %s: %s", c.method, c.path, c.media, code, s.ResourceVersion(), answer[:min(len(answer), 300)])
		}
		if strings.HasPrefix(c.media, "application/merge") {
			if code, answer, _ := call(t, s, c.method, c.path, c.head+deep(9_000)+c.tail, "Content-Type", c.media); code != 200 {
				t.Errorf("%s: %d: %s", c.path, code, answer[:min(len(answer), 300)])
			}
		}
	}
}
