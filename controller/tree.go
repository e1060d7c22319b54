package controller

import (
	"encoding/json"
	"slices"
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

// withoutNulls removes the members of v that are null: the API treats them as absent.
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

// isSame reports whether two values of JSON are equal.
func isSame(a, b any) bool {
	switch a := a.(type) {
	case tree:
		b, ok := b.(tree)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, member := range a {
			if other, ok := b[name]; !ok || !isSame(member, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, isSame)
	}
	return isScalar(b) && a == b
}

// isScalar reports whether a value of JSON has no parts.
func isScalar(value any) bool {
	switch value.(type) {
	case tree, []any:
		return false
	}
	return true
}
