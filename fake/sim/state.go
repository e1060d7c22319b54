package sim

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
)

// state is all objects of a server, without what may differ between two runs, by resource and key.
type state map[string]any

// look returns the present state.
func (r *run) look() (state, []seen) {
	all := r.eyes.all()
	uids := map[string]string{}
	for _, s := range all {
		uids[uidOf(s.object)] = s.String()
	}
	alike := map[string][]object{} // by key, which lacks generated names, so several objects may have it
	for _, s := range all {
		if slices.Contains(r.program.Ignore, s.collection) {
			continue
		}
		o := r.plain(s.object, uids)
		for _, path := range r.program.Ignore {
			forget(o, steps(path))
		}
		key := r.names.generic(s)
		alike[key] = append(alike[key], o)
	}
	st := state{}
	for key, objects := range alike {
		slices.SortFunc(objects, func(a, b object) int { return strings.Compare(asText(a), asText(b)) })
		for i, o := range objects {
			name := key
			if i > 0 {
				name += fmt.Sprintf(" (%d)", i+1)
			}
			st[name] = o
		}
	}
	return st, all
}

// news names the objects that have been written since a version.
func (r *run) news(since int64) string {
	if r.version() == since {
		return ""
	}
	var names []string
	for _, s := range r.eyes.all() {
		if version, _ := strconv.ParseInt(text(meta(s.object)["resourceVersion"]), 10, 64); version > since {
			names = append(names, r.names.generic(s))
		}
	}
	if len(names) == 0 {
		return ", and delete"
	}
	return ", and write " + strings.Join(names, ", ")
}

// asText returns an object in JSON.
func asText(o object) string {
	text, _ := json.Marshal(o)
	return string(text)
}

// differs returns how seen differs from want, or "".
func (want state) differs(seen state) string {
	// Package cmp writes some spaces as others on purpose, at random.
	return short(strings.ReplaceAll(cmp.Diff(want, seen), "\u00a0", " "))
}

// mostDiff is how many bytes of a diff are shown.
const mostDiff = 16 << 10

// short returns the first lines of a text.
func short(text string) string {
	if len(text) <= mostDiff {
		return text
	}
	head := text[:strings.LastIndexByte(text[:mostDiff], '\n')+1]
	return head + fmt.Sprintf("… and %d bytes more\n", len(text)-len(head))
}

// plain returns a copy of an object without what differs between two runs. uids maps those that are known to names.
func (r *run) plain(o object, uids map[string]string) object {
	c := r.simple(o, meta(o)["generation"], uids).(object)
	m := meta(c)
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"} {
		delete(m, field)
	}
	return c
}

// simple copies a value, and replaces times, uids and generated names in it. Each observedGeneration becomes whether it is
// the present one.
func (r *run) simple(value, generation any, uids map[string]string) any {
	switch v := value.(type) {
	case object:
		c := make(object, len(v))
		for name, inner := range v {
			switch notes, _ := inner.(object); { // programs copy annotations
			case name == touched || len(notes) == 1 && notes[touched] != nil:
			default:
				c[name] = r.simple(inner, generation, uids)
			}
		}
		if seen, ok := v["observedGeneration"]; ok {
			c["observedGeneration"] = seen == generation
		}
		if uid, ok := v["uid"].(string); ok && c["uid"] == uid {
			c["uid"] = "of another object"
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, inner := range v {
			c[i] = r.simple(inner, generation, uids)
		}
		return c
	case string:
		if _, err := time.Parse(time.RFC3339, v); err == nil {
			return "a time"
		}
		return r.names.generated(uidForm.ReplaceAllStringFunc(v, func(uid string) string {
			if name, ok := uids[uid]; ok {
				return "uid of " + name
			}
			return uid
		}))
	}
	return value
}

// forget removes a field of an object.
func forget(value any, path []string) {
	switch v := value.(type) {
	case object:
		if len(path) == 1 {
			delete(v, path[0])
		} else {
			forget(v[path[0]], path[1:])
		}
	case []any:
		if len(path) > 1 && path[0] == "" {
			for _, inner := range v {
				forget(inner, path[1:])
			}
		}
	}
}

var stepForm = regexp.MustCompile(`\[[^\]]*\]|[^.\[]+`)

// steps takes a path apart: status.conditions[].reason has an empty step for each element of a list.
func steps(path string) (all []string) {
	for _, step := range stepForm.FindAllString(path, -1) {
		all = append(all, strings.Trim(step, "[]"))
	}
	return all
}
