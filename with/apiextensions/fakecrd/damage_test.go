package fakecrd_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/apiextensions/fakecrd"
)

// TestDamaged: no definition that lacks parts or has others in their place makes the server fail by
// itself, and no such object does. FuzzSchema damages the text, and seldom gets as far as the
// schema.
func TestDamaged(t *testing.T) {
	accepted := 0
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 0))
		s := fake.New(fake.Options{})
		if err := fakecrd.Serve(s); err != nil {
			t.Fatal(err)
		}
		for _, it := range []struct{ path, text string }{{definitionsPath, widgets}, {widgetsPath, widget("w", "{color: red, ports: [{name: a}]}")}} {
			body := damaged(t, r, it.text)
			switch code, answer := call(t, s, http.MethodPost, it.path, body, ""); code {
			case http.StatusInternalServerError:
				t.Errorf("seed %d: %s\n%s", seed, body, answer)
			case http.StatusCreated:
				accepted++
			}
		}
	}
	if accepted == 0 {
		t.Error("everything was refused")
	}
}

// damaged returns text with some of its parts lost, doubled or replaced.
func damaged(t *testing.T, r *rand.Rand, text string) string {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(damage(r, v, []float64{0.01, 0.03, 0.1}[r.IntN(3)]))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// damage replaces a part with probability p, and drops or doubles it with half of that.
func damage(r *rand.Rand, v any, p float64) any {
	if r.Float64() < p {
		others := []any{nil, map[string]any{}, []any{}, []any{nil}, []any{map[string]any{}}, map[string]any{"type": "object"}, "", "x", "Webhook", true, 1, -1}
		return others[r.IntN(len(others))]
	}
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(v)) { // so that a seed stands for one damage
			if r.Float64() >= p/2 {
				out[name] = damage(r, v[name], p)
			}
		}
		return out
	case []any:
		var out []any
		for _, part := range v {
			copies := 1
			switch x := r.Float64(); {
			case x < p/2:
				copies = 0
			case x < p:
				copies = 2
			}
			for range copies {
				out = append(out, damage(r, part, p))
			}
		}
		return out
	}
	return v
}
