package openapi

import (
	_ "embed"
	"encoding/json"
	"sync"
)

//go:embed server.json
var recorded []byte

// patches are the merge patches of the recorded file, by the name of the type. They are read-only,
// and parsed once in a process, since the file is part of the program.
var patches = sync.OnceValue(func() map[string]map[string]any {
	var all map[string]map[string]any
	if err := json.Unmarshal(recorded, &all); err != nil {
		return nil // a test reads the file as well
	}
	return all
})

// known returns the merge patch for a type; nil for none.
func known(name string) map[string]any { return patches()[name] }

// merge applies a JSON merge patch (RFC 7386) to an object. The object keeps no part of the patch
// that it could change.
func merge(to, patch map[string]any) {
	for field, value := range patch {
		inner, isObject := value.(map[string]any)
		switch old, was := to[field].(map[string]any); {
		case value == nil:
			delete(to, field)
		case isObject && was:
			merge(old, inner)
		case isObject:
			fresh := map[string]any{}
			merge(fresh, inner)
			to[field] = fresh
		default:
			to[field] = value
		}
	}
}
