package controller

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// patchOf returns the patch that turns one state of an object of type t into another one. The
// version is the first state's; known says which of the guesses of earlier patches are right. There
// is no data if the states are equal.
//
// A merge patch is for changes outside of lists that set no null. It fits whatever the server has. A
// list would be replaced as a whole, with all that the Go type does not show, and a null would remove
// a member. A JSON patch sets nulls, and changes the elements of lists by their index, which holds for
// the version that it tests first. A strategic merge patch would need the merge keys of the server's type,
// and custom resources do not take it.
func patchOf(t reflect.Type, before, after tree, version string, known map[string]bool) (p patch, err error) {
	d := difference{of: t}
	d.tree(nil, "", before, after)
	if len(d.steps) == 0 {
		return p, nil
	}
	if !d.unmergeable {
		p.form = types.MergePatchType
		p.data, err = json.Marshal(merged(d.steps, version))
		return p, err
	}
	d = difference{of: t, known: known}
	d.tree(nil, "", before, after)
	p.form, p.guesses = types.JSONPatchType, d.guesses
	p.data, err = json.Marshal(append([]step{testVersion(version)}, d.steps...))
	return p, err
}

// difference has the steps that turn one state of an object into another one. Both states are what
// a Go type shows of the object. The server may have more, which the steps leave alone.
type difference struct {
	of    reflect.Type // of the object
	steps []step
	// unmergeable says that a merge patch cannot do what the steps do: it replaces lists as a whole, and
	// a null in it removes a member.
	unmergeable bool
	// guesses are structs of which the Go type does not show whether the server has them. known
	// says it for some. A merge patch needs no guesses: then known is nil.
	guesses []jsonPointer
	known   map[string]bool
}

// tree adds the steps for an object in both states. old is nil if the first state does not show it.
// put is the operation that sets it as a whole: add for a member, replace for an element, in front of
// which add would insert another one.
func (d *difference) tree(at jsonPointer, put string, old, now tree) {
	if isSame(old, now) {
		return
	}
	if d.known != nil && d.mayLack(at, old) {
		has, known := d.known[at.String()]
		if !known {
			d.guesses = append(d.guesses, at)
			has = old != nil
		}
		if !has {
			if !known {
				d.steps = append(d.steps, step{Op: "test", Path: at, Value: null})
			}
			d.set(put, at, withoutShown(typeAt(d.of, at), now))
			return
		}
	}
	if old == nil {
		old = zeroOf(typeAt(d.of, at)) // even a zero struct shows these nulls
		maps.DeleteFunc(old, func(_ string, member any) bool { return member != nil })
	}
	names := tree{}
	maps.Copy(names, old)
	maps.Copy(names, now)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		d.member(at.to(name), memberOf(old, name), memberOf(now, name))
	}
}

// set adds the step that sets a whole value.
func (d *difference) set(put string, at jsonPointer, value any) {
	d.unmergeable = d.unmergeable || hasNull(value)
	d.steps = append(d.steps, step{Op: put, Path: at, Value: orNull(value)})
}

// mayLack reports whether the server may lack a struct that changes, although the Go type shows
// one, or has one that it does not show: a zero struct may be left out.
func (d *difference) mayLack(at jsonPointer, old tree) bool {
	t := typeAt(d.of, at)
	if !isPlainStruct(t) || old == nil {
		return isPlainStruct(t)
	}
	return !showsMore(t, old) && isSame(old, zeroOf(t))
}

// showsMore reports whether a struct of type t shows a field that a zero struct leaves out. It is a fast answer for most of
// those that are not zero.
func showsMore(t reflect.Type, shown tree) bool {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		kind := f.Type.Kind()
		if _, ok := shown[name]; ok && f.IsExported() && kind != reflect.Struct && kind != reflect.Array && omitsEmpty(options) {
			return true
		}
	}
	return false
}

// zeroOf returns what a zero struct of type t shows.
func zeroOf(t reflect.Type) tree {
	zero, err := treeOf(reflect.Zero(t).Interface())
	if err != nil {
		return nil
	}
	return zero
}

// omitsEmpty reports whether the options of a tag have omitempty.
func omitsEmpty(options string) bool {
	for option := range strings.SplitSeq(options, ",") {
		if option == "omitempty" {
			return true
		}
	}
	return false
}

// withoutShown returns what a struct of type t shows, but for the nulls that it shows for nothing: a
// zero struct shows them, too. Its structs are without these nulls as well.
func withoutShown(t reflect.Type, shown tree) tree {
	kept, zero := tree{}, zeroOf(t)
	for name, member := range shown {
		nothing := memberOf(zero, name) == nil // and not absent
		if in, isTree := member.(tree); isTree && isPlainStruct(typeAt(t, jsonPointer{name})) {
			kept[name] = withoutShown(typeAt(t, jsonPointer{name}), in)
		} else if member != nil || !nothing {
			kept[name] = member
		}
	}
	return kept
}

// clear adds the steps for a struct that is left out because it is zero now. The server may lack what
// was zero before.
func (d *difference) clear(at jsonPointer, old tree) {
	zero := zeroOf(typeAt(d.of, at))
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if !isSame(old[name], memberOf(zero, name)) {
			d.member(at.to(name), old[name], absent{})
		}
	}
}

// member adds the steps for a member of an object.
func (d *difference) member(at jsonPointer, old, now any) {
	before, wasTree := old.(tree)
	after, isTree := now.(tree)
	_, wasAbsent := old.(absent)
	_, isAbsent := now.(absent)
	switch {
	case wasTree && isTree:
		d.tree(at, "add", before, after)
	case wasTree && isAbsent && isOmittable(d.of, at):
		d.clear(at, before)
	case isTree && wasAbsent && isOmittable(d.of, at):
		d.tree(at, "add", nil, after)
	case isAbsent && !wasAbsent:
		d.steps = append(d.steps, step{Op: "remove", Path: at})
	default:
		d.value(at, "add", old, now)
	}
}

// value adds the steps for a value in both states that is not a tree in both.
func (d *difference) value(at jsonPointer, put string, old, now any) {
	if isSame(old, now) {
		return
	}
	before, wasList := old.([]any)
	after, isList := now.([]any)
	if wasList && isList && isVerbatim(typeAt(d.of, at)) {
		if from := match(before, after); slices.ContainsFunc(from, func(n int) bool { return n >= 0 && !isScalar(before[n]) }) {
			d.list(at, before, after, from)
			return
		}
	}
	d.set(put, at, now)
}

// list adds the steps for a list that keeps some of its elements. For each element of after, from
// has its index in before, or -1 if it is new. An element that stays keeps what the Go type does
// not show. The elements are changed first, so that all paths refer to the first state.
func (d *difference) list(at jsonPointer, before, after []any, from []int) {
	d.unmergeable = true
	stays := make([]bool, len(before))
	for n, old := range from {
		if old >= 0 {
			stays[old] = true
			d.element(at.to(strconv.Itoa(old)), before[old], after[n])
		}
	}
	var order []int // the indexes in before of the elements at this point
	for old := range before {
		if stays[old] {
			order = append(order, old)
		}
	}
	for old := len(before) - 1; old >= 0; old-- {
		if !stays[old] {
			d.steps = append(d.steps, step{Op: "remove", Path: at.to(strconv.Itoa(old))})
		}
	}
	for n, old := range from {
		place := at.to(strconv.Itoa(n))
		if old < 0 {
			d.steps = append(d.steps, step{Op: "add", Path: place, Value: orNull(after[n])})
			order = slices.Insert(order, n, -1)
		} else if now := n + slices.Index(order[n:], old); now != n {
			d.steps = append(d.steps, step{Op: "move", From: at.to(strconv.Itoa(now)), Path: place})
			order = slices.Insert(slices.Delete(order, now, now+1), n, old)
		}
	}
}

// element adds the steps for an element that stays in a list.
func (d *difference) element(at jsonPointer, old, now any) {
	before, wasTree := old.(tree)
	after, isTree := now.(tree)
	if wasTree && isTree {
		d.tree(at, "replace", before, after)
	} else {
		d.value(at, "replace", old, now)
	}
}
