// Package fieldpaths names the fields in which two states of an object differ, without their values.
//
// It has a walk of its own. deepcopy.Difference compares Go values, whatever their JSON is, and shows them. The difference
// in package controller makes a patch, so it pairs the elements of lists by its rules.
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

// More stands for the paths that are left out.
const More = "…"

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
	Each(old, now, func(path string, _, _ any) { paths = append(paths, path) })
	return paths
}

// Each calls f with the paths of Changed, and the values there before and after: JSON in the form of maps, slices, and
// scalars, with json.Number for numbers. An absent value is nil, as null is, and so are those of "…".
func Each(old, now any, f func(path string, old, now any)) {
	before, ok := treeOf(old)
	after, is := treeOf(now)
	if !ok || !is {
		return
	}
	d := difference{f: f}
	d.values("", before, after, maxDepth)
}

// treeOf returns the JSON of an object as maps, slices and scalars.
func treeOf(obj any) (tree any, ok bool) {
	defer func() {
		if recover() != nil { // methods of the object
			tree, ok = nil, false
		}
	}()
	text, err := json.Marshal(obj)
	if err != nil {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return tree, d.Decode(&tree) == nil
}

type difference struct {
	f func(path string, old, now any)
	n int // calls of f
}

func (d *difference) add(at string, old, now any) {
	switch {
	case d.n < maxPaths:
		d.f(at, old, now)
	case d.n == maxPaths:
		d.f(More, nil, nil)
	}
	d.n++
}

// values adds the paths in which the values at a path differ.
func (d *difference) values(at string, old, now any, depth int) {
	if d.n > maxPaths || reflect.DeepEqual(old, now) {
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
		d.add(at, old, now)
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
			d.add(path, before, after)
		}
	}
}

// elements pairs the elements of two lists by their names, or else by their places.
func (d *difference) elements(at string, old, now []any, depth int) {
	before, after, named := byName(old, now)
	if !named {
		for i := range max(len(old), len(now)) {
			path := element(at, strconv.Itoa(i))
			switch {
			case i >= len(now):
				d.add(path, old[i], nil)
			case i >= len(old):
				d.add(path, nil, now[i])
			default:
				d.values(path, old[i], now[i], depth)
			}
		}
		return
	}
	n := d.n
	all := maps.Clone(before)
	maps.Copy(all, after)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		was, had := before[name]
		is, has := after[name]
		if had && has {
			d.values(element(at, name), was, is, depth)
		} else {
			d.add(element(at, name), was, is)
		}
	}
	if d.n == n {
		d.add(at, old, now) // only their order differs
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
	return at + "[" + keytext.Printable(keytext.Short(name, maxName)) + "]"
}

// isPlain reports whether a name can stand behind a dot.
func isPlain(name string) bool {
	return name != "" && len(name) <= maxName && strings.IndexFunc(name, func(r rune) bool {
		return !(r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z')
	}) < 0
}
