package controller

import (
	"encoding/json"
	"slices"
)

// tree is a JSON object. Its numbers are json.Number.
type tree = map[string]any

// absent stands for a member that an object does not have. A nil member is null, which is a value.
type absent struct{}

// memberOf returns a member of an object, absent if there is none.
func memberOf(t tree, name string) any {
	if member, ok := t[name]; ok {
		return member
	}
	return absent{}
}

// treeOf returns the JSON of obj as a tree. JSON decides what counts as a change, because it is
// what would be sent: 1000m and 1 are one quantity, and an omitted list is as good as an empty one.
func treeOf(obj any) (tree, error) {
	raw, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	return decodeTree(raw)
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
