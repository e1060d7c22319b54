package controller

import (
	"bytes"
	"encoding/json"
	"errors"
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

// treesOf returns the members of an object that differ in two of its states. There are no trees if the states are equal.
func treesOf(before, after any) (was, is tree, err error) {
	rawWas, err := json.Marshal(before)
	if err != nil {
		return nil, nil, err
	}
	rawIs, err := json.Marshal(after)
	if err != nil || bytes.Equal(rawWas, rawIs) && bytes.HasPrefix(rawWas, []byte("{")) {
		return nil, nil, err
	}
	var all, allNow map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(rawWas, &all), json.Unmarshal(rawIs, &allNow)); err != nil {
		return nil, nil, err
	}
	if all == nil || allNow == nil {
		return nil, nil, errNotAnObject
	}
	was, err = decodeOthers(all, allNow)
	if err == nil {
		is, err = decodeOthers(allNow, all)
	}
	return was, is, err
}

// decodeOthers returns the members of an object that are not in another one.
func decodeOthers(all, than map[string]json.RawMessage) (tree, error) {
	others := tree{}
	for name, raw := range all {
		if bytes.Equal(raw, than[name]) {
			continue
		}
		var member any
		if err := decode(raw, &member); err != nil {
			return nil, err
		}
		others[name] = member
	}
	return others, nil
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

func decodeTree(raw []byte) (tree, error) {
	var t tree
	err := decode(raw, &t)
	if err == nil && t == nil {
		err = errNotAnObject
	}
	return t, err
}

// decode reads JSON without losing digits: a float64 does not hold every int64.
func decode(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(into)
}

// hasNull reports whether a value of JSON is null or has one in it.
func hasNull(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case tree:
		for _, member := range v {
			if hasNull(member) {
				return true
			}
		}
	case []any:
		for _, element := range v {
			if hasNull(element) {
				return true
			}
		}
	}
	return false
}
