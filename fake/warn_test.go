package fake_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/kinform/kinform/fake"
)

// TestWarningsOfHooks: what hooks and rules warn of is in the answer, once.
func TestWarningsOfHooks(t *testing.T) {
	verbs := func(_ context.Context, a *fake.Admission) error {
		a.Warn(string(a.Verb))
		return nil
	}
	s := fake.New(fake.Options{Mutate: verbs, Validate: verbs})
	check(t, fake.Define(s, fake.Definition[*pod]{Kind: podKind, Rules: fake.Rules{Deprecation: "old"}, Hooks: fake.Hooks[*pod]{
		Warn: func(obj, old *pod) []string {
			if old == nil {
				return []string{"new on " + obj.Spec.Node}
			}
			return []string{"from " + old.Spec.Node + " to " + obj.Spec.Node}
		},
	}}))
	must(fake.Create(s, newPod("a", "staged")))(t) // nobody gets warnings
	const pods = "/api/v1/namespaces/a/pods"
	for _, c := range []struct {
		line, body string
		code       int
		want       string
	}{
		{"GET " + pods, "", 200, "old"},
		{"POST " + pods, `{"kind":"Pod","metadata":{"name":"x"},"spec":{"node":"n"}}`, 201, "old, create, new on n"},
		{"PATCH " + pods + "/x", `{"spec":{"node":"m"}}`, 200, "old, update, from n to m"},
		{"PATCH " + pods + "/x", `{"metadata":{"labels":{"-":""}}}`, 422, "old, update"},
		{"PATCH " + pods + "/x/status", `{"status":{"phase":"Running"}}`, 200, "old, update"},
		{"DELETE " + pods + "/x", "", 200, "old, delete"},
		{"DELETE " + pods, "", 200, "old, delete"},
	} {
		method, path, _ := strings.Cut(c.line, " ")
		r := must(http.NewRequestWithContext(t.Context(), method, fake.URL+path, strings.NewReader(c.body)))(t)
		if method == http.MethodPatch {
			r.Header.Set("Content-Type", "application/merge-patch+json")
		}
		resp := must(s.Client().Do(r))(t)
		_ = resp.Body.Close()
		got := slices.Clone(resp.Header.Values("Warning"))
		for i, header := range got {
			got[i] = strings.Trim(strings.TrimPrefix(header, "299 - "), `"`)
		}
		if text := strings.Join(got, ", "); resp.StatusCode != c.code || text != c.want {
			t.Errorf("%s %s: %d %q, want %d %q", c.line, c.body, resp.StatusCode, text, c.code, c.want)
		}
	}
}
