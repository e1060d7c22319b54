package builtin

import (
	"encoding/json"
	"flag"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/kubernetes/fakekube"
)

var schemas = flag.String("schemas", "", "add what fakekube's schemas lack to this file instead of checking them")

// server answers GET requests.
type server struct {
	url    string
	client *http.Client
}

func (s server) get(t *testing.T, path string, into any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(path, resp.Status, err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(path, err)
	}
}

// version3 returns the schemas of all groups' versions.
func (s server) version3(t *testing.T) map[string]any {
	t.Helper()
	var index struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	s.get(t, "/openapi/v3", &index)
	all := map[string]any{}
	for name, p := range index.Paths {
		if !strings.HasPrefix(name, "api/") && strings.Count(name, "/") < 2 {
			continue // a group, without resources
		}
		var doc struct {
			Components struct{ Schemas map[string]any }
		}
		s.get(t, p.ServerRelativeURL, &doc)
		maps.Copy(all, doc.Components.Schemas)
	}
	return all
}

func (s server) version2(t *testing.T) map[string]any {
	t.Helper()
	var doc struct{ Definitions map[string]any }
	s.get(t, "/openapi/v2", &doc)
	return doc.Definitions
}

// TestSchemas compares the schemas of all kinds, and of what they refer to, with a real server's.
func TestSchemas(t *testing.T) {
	if os.Getenv(cluster.Variable) != "1" {
		t.Skipf("needs a real server: set %s=1 to build it", cluster.Variable)
	}
	c := cluster.Start(t, cluster.Options{})
	ours, err := fakekube.New(fake.Options{})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(ours)
	t.Cleanup(web.Close)
	there, here := server{c.URL(), c.HTTPClient()}, server{web.URL, web.Client()}
	want, got := served(there.version3(t)), served(here.version3(t))
	if *schemas != "" {
		addDifferences(t, *schemas, got, want)
		return
	}
	compare(t, got, want)
	compare(t, served(here.version2(t)), served(there.version2(t)))
}

// served drops from the schemas which kinds they are of, if these are many: options of requests are
// of every version.
func served(all map[string]any) map[string]any {
	const kinds = "x-kubernetes-group-version-kind"
	for _, s := range all {
		if of, ok := s.(map[string]any)[kinds].([]any); ok && len(of) > 1 {
			delete(s.(map[string]any), kinds)
		}
	}
	return all
}

func compare(t *testing.T, got, want map[string]any) {
	t.Helper()
	if len(got) < 400 {
		t.Errorf("%d schemas", len(got))
	}
	same := 0
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if d := cmp.Diff(want[name], got[name]); d != "" {
			t.Errorf("%s: -real +fake\n%s", path.Base(name), d)
			continue
		}
		same++
	}
	t.Logf("%d of %d schemas are the same; the real server has %d", same, len(got), len(want))
}

// addDifferences adds to the file what makes got want, as JSON merge patches.
func addDifferences(t *testing.T, file string, got, want map[string]any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]any{}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for name, now := range got {
		if d := difference(now, want[name]); d != nil && want[name] != nil {
			old, _ := all[name].(map[string]any)
			all[name] = join(old, d.(map[string]any))
		}
	}
	if text, err = json.MarshalIndent(all, "", "\t"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// difference returns the JSON merge patch from one value to another; nil for none.
func difference(from, to any) any {
	old, both := from.(map[string]any)
	now, ok := to.(map[string]any)
	if both = both && ok; !both {
		if reflect.DeepEqual(from, to) {
			return nil
		}
		return to
	}
	patch := map[string]any{}
	for field, value := range now {
		if d := difference(old[field], value); d != nil {
			patch[field] = d
		}
	}
	for field := range old {
		if now[field] == nil {
			patch[field] = nil
		}
	}
	if len(patch) == 0 {
		return nil
	}
	return patch
}

// join returns the merge patch that does what two do one after the other.
func join(first, second map[string]any) map[string]any {
	out := maps.Clone(first)
	if out == nil {
		out = map[string]any{}
	}
	for field, value := range second {
		a, isA := out[field].(map[string]any)
		if b, isB := value.(map[string]any); isA && isB {
			value = join(a, b)
		}
		out[field] = value
	}
	return out
}
