// Package fieldpaths names the fields in which two states of an object differ, without their values.
package fieldpaths

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/kinform/kinform/internal/keytext"
)

const (
	maxPaths = 32
	maxDepth = 16
	maxName  = 64 // bytes of a name in a path
)

// Changed returns the paths of the fields that differ, in the order of their names: members as in spec.replicas, or
// metadata.labels[example.com/a] if the name is not plain, and elements by name, type or the like, as in
// status.conditions[Ready], or by their index. A field that only one state has is one path, whatever is in it, and so is
// a list of texts or numbers. JSON decides what is a field and what is equal, so an empty list that is left out is as
// good as none.
//
// It leaves out the resourceVersion and the managed fields, which differ in each update. There are 32 paths at most, and
// then "…" for the rest. It returns nil if the states are equal, or have no JSON.
func Changed(old, now any) (paths []string) {
	defer func() {
		if recover() != nil { // methods of the objects
			paths = nil
		}
	}()
	before, ok := treeOf(old)
	after, is := treeOf(now)
	if !ok || !is {
		return nil
	}
	var d difference
	d.values("", before, after, maxDepth)
	return d.paths
}

// treeOf returns the JSON of an object as maps, slices and scalars.
func treeOf(obj any) (tree any, ok bool) {
	text, err := json.Marshal(obj)
	if err != nil {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return tree, d.Decode(&tree) == nil
}

type difference struct{ paths []string }

func (d *difference) add(at string) {
	switch n := len(d.paths); {
	case n < maxPaths:
		d.paths = append(d.paths, at)
	case n == maxPaths:
		d.paths = append(d.paths, "…")
	}
}

// values adds the paths in which the values at a path differ.
func (d *difference) values(at string, old, now any, depth int) {
	if len(d.paths) > maxPaths || reflect.DeepEqual(old, now) {
		return
	}
	before, wasTree := old.(map[string]any)
	after, isTree := now.(map[string]any)
	was, wasList := old.([]any)
	is, isList := now.([]any)
	switch {
	case depth > 0 && wasTree && isTree:
		d.members(at, before, after, depth-1)
	case depth > 0 && wasList && isList && anyParts(was) && anyParts(is):
		d.elements(at, was, is, depth-1)
	default:
		d.add(at)
	}
}

func (d *difference) members(at string, old, now map[string]any, depth int) {
	all := maps.Clone(old)
	maps.Copy(all, now)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		path := member(at, name)
		if path == "metadata.resourceVersion" || path == "metadata.managedFields" {
			continue
		}
		before, was := old[name]
		after, is := now[name]
		if was && is {
			d.values(path, before, after, depth)
		} else {
			d.add(path)
		}
	}
}

// elements pairs the elements of two lists by their names, or else by their places.
func (d *difference) elements(at string, old, now []any, depth int) {
	before, after, named := byName(old, now)
	if !named {
		for i := range max(len(old), len(now)) {
			path := element(at, strconv.Itoa(i))
			if i < len(old) && i < len(now) {
				d.values(path, old[i], now[i], depth)
			} else {
				d.add(path)
			}
		}
		return
	}
	n := len(d.paths)
	all := maps.Clone(before)
	maps.Copy(all, after)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		was, had := before[name]
		is, has := after[name]
		if had && has {
			d.values(element(at, name), was, is, depth)
		} else {
			d.add(element(at, name))
		}
	}
	if len(d.paths) == n {
		d.add(at) // only their order differs
	}
}

// byName returns the elements of two lists by the member that names each of them.
func byName(old, now []any) (before, after map[string]any, ok bool) {
	for _, by := range [...]string{"name", "type", "uid", "port", "containerPort", "mountPath", "ip"} {
		if before, ok = named(old, by); !ok {
			continue
		}
		if after, ok = named(now, by); ok {
			return before, after, true
		}
	}
	return nil, nil, false
}

// named returns elements by the value of a member. It fails if one has no such member, or two have the same value.
func named(all []any, by string) (map[string]any, bool) {
	elements := make(map[string]any, len(all))
	for _, one := range all {
		members, _ := one.(map[string]any)
		var name string
		switch is := members[by].(type) {
		case string:
			name = is
		case json.Number:
			name = is.String()
		}
		if _, twice := elements[name]; twice || name == "" {
			return nil, false
		}
		elements[name] = one
	}
	return elements, true
}

// anyParts reports whether an element of a list has members or elements.
func anyParts(all []any) bool {
	return slices.ContainsFunc(all, func(one any) bool {
		switch one.(type) {
		case map[string]any, []any:
			return true
		}
		return false
	})
}

func member(at, name string) string {
	if !isPlain(name) {
		return element(at, name)
	}
	if at == "" {
		return name
	}
	return at + "." + name
}

func element(at, name string) string {
	if len(name) > maxName {
		name = strings.ToValidUTF8(name[:maxName], "") + "…"
	}
	return at + "[" + keytext.Printable(name) + "]"
}

// isPlain reports whether a name can stand behind a dot.
func isPlain(name string) bool {
	return name != "" && len(name) <= maxName && strings.IndexFunc(name, func(r rune) bool {
		return !(r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z')
	}) < 0
}
