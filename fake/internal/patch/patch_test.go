package patch_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/kinform/kinform/fake/internal/patch"
	"github.com/kinform/kinform/fake/internal/refusal"
)

func TestPatches(t *testing.T) {
	type item struct {
		Name  string `json:"name"`
		Value string `json:"value,omitempty"`
	}
	type sample struct {
		Items []item   `json:"items,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
		Args  []string `json:"args,omitempty"`
	}
	strategic := func(state, data []byte) ([]byte, error) { return patch.Strategic(state, data, &sample{}) }
	large := func(_, data []byte) ([]byte, error) {
		return patch.JSON([]byte(`{"a":"`+strings.Repeat("x", 1<<20)+`"}`), data)
	}
	const state = `{"items":[{"name":"a","value":"1"}],"args":["x"],"n":12345678901234567}`
	for name, c := range map[string]struct {
		apply func(state, data []byte) ([]byte, error)
		data  string
		want  string
		code  int32
	}{
		"json":               {patch.JSON, `[{"op":"add","path":"/args/-","value":"y"}]`, `{"args":["x","y"],"items":[{"name":"a","value":"1"}],"n":12345678901234567}`, 0},
		"json no list":       {patch.JSON, `{}`, "", 400},
		"json absent":        {patch.JSON, `[{"op":"remove","path":"/none"}]`, "", 422},
		"json too long":      {patch.JSON, "[" + strings.Repeat(`{"op":"test","path":"/n","value":1},`, 10_000) + `{"op":"test","path":"/n","value":1}]`, "", 413},
		"json grows":         {large, `[{"op":"copy","from":"/a","path":"/b"},{"op":"copy","from":"/a","path":"/c"},{"op":"copy","from":"/a","path":"/d"},{"op":"copy","from":"/a","path":"/e"}]`, "", 422},
		"merge":              {patch.Merge, `{"args":null,"items":[],"o":{"p":null,"q":1}}`, `{"items":[],"n":12345678901234567,"o":{"q":1}}`, 0},
		"merge list":         {patch.Merge, `[]`, "", 400},
		"merge null":         {patch.Merge, `null`, "", 400},
		"strategic":          {strategic, `{"items":[{"name":"b"}],"args":["z"]}`, `{"args":["z"],"items":[{"name":"b"},{"name":"a","value":"1"}],"n":12345678901234567}`, 0},
		"strategic list":     {strategic, `[]`, "", 400},
		"strategic retained": {strategic, `{"$retainKeys":["args"],"items":[]}`, "", 400},
	} {
		got, err := c.apply([]byte(state), []byte(c.data))
		if c.code != 0 {
			if err == nil || refusal.StatusOf(err).Code != c.code {
				t.Errorf("%s: %s, %v, want %d", name, got, err, c.code)
			}
			continue
		}
		if string(got) != c.want || err != nil {
			t.Errorf("%s: %s, %v, want %s", name, got, err, c.want)
		}
	}
}

// FuzzPatches: the result of a patch is JSON.
func FuzzPatches(f *testing.F) {
	f.Add([]byte(`{"a":{"b":[1]}}`), []byte(`{"a":{"b":null}}`))
	f.Add([]byte(`{"a":{"b":[1]}}`), []byte(`[{"op":"copy","from":"/a","path":"/c"}]`))
	f.Fuzz(func(t *testing.T, state, data []byte) {
		var object map[string]any
		if json.Unmarshal(state, &object) != nil || object == nil {
			return
		}
		for _, apply := range []func(_, _ []byte) ([]byte, error){patch.Merge, patch.JSON} {
			if out, err := apply(state, data); err == nil && !json.Valid(out) {
				t.Errorf("%s patched by %s: %q", state, data, out)
			}
		}
	})
}
