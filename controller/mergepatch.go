package controller

import (
	"encoding/json"
	"reflect"
)

// tree is a JSON object. Its numbers are json.Number, and its members are never null.
type tree = map[string]any

// treeOf returns the JSON of obj as a tree. JSON decides what counts as a change, because it is
// what would be sent: 1000m and 1 are one quantity, and an omitted list is as good as an empty one.
func treeOf(obj any) (tree, error) {
	raw, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	t, err := decodeTree(raw)
	if err != nil {
		return nil, err
	}
	withoutNulls(t)
	return t, nil
}

// withoutNulls removes the members of v that are null: the API treats them as absent, and a merge
// patch cannot set them.
func withoutNulls(v any) {
	switch v := v.(type) {
	case tree:
		for name, member := range v {
			if member == nil {
				delete(v, name)
			} else {
				withoutNulls(member)
			}
		}
	case []any:
		for _, element := range v {
			withoutNulls(element)
		}
	}
}

// mergePatch returns the merge patch (RFC 7386) that turns from into to, empty if they are equal.
func mergePatch(from, to tree) tree {
	patch := tree{}
	for name, old := range from {
		now, there := to[name]
		if !there {
			patch[name] = nil
			continue
		}
		before, isTree := old.(tree)
		after, both := now.(tree)
		switch {
		case isTree && both:
			if inner := mergePatch(before, after); len(inner) > 0 {
				patch[name] = inner
			}
		case !reflect.DeepEqual(old, now):
			patch[name] = now
		}
	}
	for name, now := range to {
		if _, there := from[name]; !there {
			patch[name] = now
		}
	}
	return patch
}
