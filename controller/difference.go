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
	d := difference{merge: true}
	d.tree(t, nil, "", before, after)
	if !d.unmergeable {
		if len(d.steps) == 0 {
			return p, nil
		}
		p.form = types.MergePatchType
		p.data, err = json.Marshal(merged(d.steps, version))
		return p, err
	}
	d = difference{known: known}
	d.tree(t, nil, "", before, after)
	if len(d.steps) == 0 {
		return p, nil
	}
	p.form, p.guesses = types.JSONPatchType, d.guesses
	p.data, err = json.Marshal(append([]step{testVersion(version)}, d.steps...))
	return p, err
}

// difference has the steps that turn one state of an object into another one. Both states are what
// a Go type shows of the object. The server may have more, which the steps leave alone.
type difference struct {
	steps []step
	// merge says that the steps are for a merge patch. unmergeable says that it cannot do what they do: it replaces
	// lists as a whole, and a null in it removes a member. Then there are no more steps.
	merge, unmergeable bool
	// guesses are structs of which the Go type does not show whether the server has them. known
	// says it for some. A merge patch needs no guesses: then known is nil.
	guesses []jsonPointer
	known   map[string]bool
}

// tree adds the steps for an object of type t whose states differ. old is nil if the first state does not show it.
// put is the operation that sets it as a whole: add for a member, replace for an element, in front of
// which add would insert another one.
func (d *difference) tree(t reflect.Type, at jsonPointer, put string, old, now tree) {
	if d.known != nil && mayLack(t, old) {
		has, known := d.known[at.String()]
		if !known {
			d.guesses = append(d.guesses, at)
			has = old != nil
		}
		if !has {
			if !known {
				d.steps = append(d.steps, step{Op: "test", Path: at, Value: null})
			}
			d.set(put, at, withoutShown(t, now))
			return
		}
	}
	if old == nil {
		old = zeroOf(t) // even a zero struct shows these nulls
		maps.DeleteFunc(old, func(_ string, member any) bool { return member != nil })
	}
	names := tree{}
	maps.Copy(names, old)
	maps.Copy(names, now)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if before, after := memberOf(old, name), memberOf(now, name); !isSame(before, after) {
			d.member(t, at.to(name), before, after)
		}
		if d.merge && d.unmergeable {
			return
		}
	}
}

// set adds the step that sets a whole value.
func (d *difference) set(put string, at jsonPointer, value any) {
	d.unmergeable = d.unmergeable || hasNull(value)
	d.steps = append(d.steps, step{Op: put, Path: at, Value: orNull(value)})
}

// mayLack reports whether the server may lack a struct of type t that changes, although the Go type shows
// one, or has one that it does not show: a zero struct may be left out.
func mayLack(t reflect.Type, old tree) bool {
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

// clear adds the steps for a struct of type t that is left out because it is zero now. The server may lack what
// was zero before.
func (d *difference) clear(t reflect.Type, at jsonPointer, old tree) {
	zero := zeroOf(t)
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if !isSame(old[name], memberOf(zero, name)) {
			d.member(t, at.to(name), old[name], absent{})
		}
	}
}

// member adds the steps for a member of an object of type in whose states differ.
func (d *difference) member(in reflect.Type, at jsonPointer, old, now any) {
	before, wasTree := old.(tree)
	after, isTree := now.(tree)
	_, wasAbsent := old.(absent)
	_, isAbsent := now.(absent)
	t := typeAt(in, at[len(at)-1:])
	switch {
	case wasTree && isTree:
		d.tree(t, at, "add", before, after)
	case wasTree && isAbsent && isOmittable(in, t):
		d.clear(t, at, before)
	case isTree && wasAbsent && isOmittable(in, t):
		if len(after) > 0 {
			d.tree(t, at, "add", nil, after)
		}
	case isAbsent:
		d.steps = append(d.steps, step{Op: "remove", Path: at})
	default:
		d.value(t, at, "add", old, now)
	}
}

// value adds the steps for a value of type t whose states differ, and are not both trees.
func (d *difference) value(t reflect.Type, at jsonPointer, put string, old, now any) {
	before, wasList := old.([]any)
	after, isList := now.([]any)
	if wasList && isList && isVerbatim(t) {
		if from := match(before, after); slices.ContainsFunc(from, func(n int) bool { return n >= 0 && !isScalar(before[n]) }) {
			d.list(t, at, before, after, from)
			return
		}
	}
	d.set(put, at, now)
}

// list adds the steps for a list of type t that keeps some of its elements. For each element of after, from
// has its index in before, or -1 if it is new. An element that stays keeps what the Go type does
// not show. The elements are changed first, so that all paths refer to the first state.
func (d *difference) list(t reflect.Type, at jsonPointer, before, after []any, from []int) {
	if d.unmergeable = true; d.merge {
		return
	}
	stays := make([]bool, len(before))
	for n, old := range from {
		if old >= 0 {
			stays[old] = true
			d.element(t, at.to(strconv.Itoa(old)), before[old], after[n])
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

// element adds the steps for an element that stays in a list of type in.
func (d *difference) element(in reflect.Type, at jsonPointer, old, now any) {
	if isSame(old, now) {
		return
	}
	before, wasTree := old.(tree)
	after, isTree := now.(tree)
	if t := typeAt(in, at[len(at)-1:]); wasTree && isTree {
		d.tree(t, at, "replace", before, after)
	} else {
		d.value(t, at, "replace", old, now)
	}
}
