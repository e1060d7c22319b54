package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// answer is a body in one line that is the same in each run.
func (r *run) answer(body []byte) string {
	var obj map[string]any
	if err := json.Unmarshal(body, &obj); err != nil {
		return r.normal(fmt.Sprintf("%q", body))
	}
	kind, _ := obj["kind"].(string)
	switch items, list := obj["items"].([]any); {
	case kind == "Status":
		return r.status(obj)
	case list:
		r.last = obj
		return r.list(kind, obj, items)
	case kind == "Table":
		rows, _ := obj["rows"].([]any)
		return fmt.Sprintf("Table of %d", len(rows))
	}
	r.last = obj
	return r.normal(kind + " " + r.object("", obj))
}

func (r *run) status(st map[string]any) string {
	out := fmt.Sprintf("%v", st["status"])
	if st["status"] == "Failure" {
		out = fmt.Sprintf("%v %q", st["reason"], st["message"])
	}
	if d, ok := st["details"].(map[string]any); ok {
		for _, field := range []string{"group", "kind", "name", "retryAfterSeconds"} {
			if v, ok := d[field]; ok {
				out += fmt.Sprintf(" %s=%v", field, v)
			}
		}
		causes, _ := d["causes"].([]any)
		texts := make([]string, len(causes))
		for i, c := range causes {
			cause, _ := c.(map[string]any)
			texts[i] = fmt.Sprintf(" cause=%v:%v", cause["field"], cause["reason"])
		}
		if strings.Contains(out, "Apply failed") {
			slices.Sort(texts) // the order of conflicts is a map's
		}
		out += strings.Join(texts, "")
	}
	if m, ok := st["metadata"].(map[string]any); ok && m["continue"] != nil {
		out += " continue"
		r.last = st
	}
	return r.normal(out)
}

func (r *run) list(kind string, list map[string]any, items []any) string {
	var names []string
	for _, item := range items {
		names = append(names, r.object(kind, item.(map[string]any)))
	}
	out := fmt.Sprintf("%s [%s]", kind, strings.Join(names, "; "))
	m, _ := list["metadata"].(map[string]any)
	if token, _ := m["continue"].(string); token != "" {
		out += " continue"
	}
	if n, ok := m["remainingItemCount"]; ok {
		out += fmt.Sprintf(" remaining=%v", n)
	}
	if m["resourceVersion"] == nil {
		out += " without resourceVersion"
	}
	return r.normal(out)
}

// object is the metadata that means something, and the data, spec and status of what is not
// defaulted.
func (r *run) object(list string, obj map[string]any) string {
	m, _ := obj["metadata"].(map[string]any)
	name := fmt.Sprint(m["name"])
	if prefix, ok := m["generateName"].(string); ok && strings.HasPrefix(name, prefix) {
		name = fmt.Sprintf("%s<%d>", prefix, len(name)-len(prefix))
	}
	out := name
	if rv, ok := m["resourceVersion"].(string); ok {
		key := fmt.Sprint(obj["kind"], name)
		if obj["kind"] == nil { // in a list
			key = fmt.Sprint(strings.TrimSuffix(list, "List"), name)
		}
		if !slices.Contains(r.versions[key], rv) {
			r.versions[key] = append(r.versions[key], rv)
		}
		out += fmt.Sprintf(" v%d", slices.Index(r.versions[key], rv)+1)
	}
	for _, field := range []string{"generation", "selfLink", "labels", "annotations", "finalizers"} {
		if v, ok := m[field]; ok {
			out += " " + field + "=" + inOrder(v)
		}
	}
	for _, field := range []string{"uid", "creationTimestamp"} {
		if v, ok := m[field]; !ok || v == nil {
			out += " no-" + field
		}
	}
	if _, ok := m["deletionTimestamp"]; ok {
		out += fmt.Sprintf(" deleting grace=%v", m["deletionGracePeriodSeconds"])
	}
	if filledIn(obj) {
		return out
	}
	fields := []string{"data", "spec", "status", "immutable"}
	if r.showAll {
		fields = slices.DeleteFunc(slices.Sorted(maps.Keys(obj)), func(f string) bool { return f == "kind" || f == "apiVersion" || f == "metadata" })
	}
	for _, field := range fields {
		if v, ok := obj[field]; ok {
			out += " " + field + "=" + inOrder(v)
		}
	}
	return out
}

// managed lists the managedFields of one manager in the last object.
func (r *run) managed(manager string) string {
	m, _ := r.last["metadata"].(map[string]any)
	entries, _ := m["managedFields"].([]any)
	out := []string{}
	for _, e := range entries {
		if e, _ := e.(map[string]any); e["manager"] == manager {
			out = append(out, fmt.Sprint(e["operation"], " ", e["apiVersion"], " ", inOrder(e["fieldsV1"])))
		}
	}
	return "[" + strings.Join(out, "; ") + "]"
}

// filledIn reports whether the server completes half of the object: a pod, a template of one, a
// service.
func filledIn(obj map[string]any) bool {
	switch obj["kind"] {
	case "CertificateSigningRequest", "CSIDriver", "CustomResourceDefinition", "LimitRange", "Namespace", "Node", "PersistentVolume", "PersistentVolumeClaim":
		return true
	}
	spec, _ := obj["spec"].(map[string]any)
	for _, field := range []string{"containers", "template", "ports", "jobTemplate", "maxReplicas"} {
		if spec[field] != nil {
			return true
		}
	}
	return false
}

// inOrder is JSON, whose maps encoding/json sorts.
func inOrder(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

var (
	patched    = regexp.MustCompile(`Invalid value: \\"\{.*\}\\"`)
	uid        = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	disruption = regexp.MustCompile(`("disruptedPods":\{"[a-z]+":")[^"]+`)
	revisionIn = regexp.MustCompile(`(revision=)[0-9]+`)
	versionIn  = regexp.MustCompile(`(?i)(resource ?version: |version in (?:precondition|object meta): )[0-9]+`)
	currentIn  = regexp.MustCompile(`(current: |old resource version: |\()[0-9]+`)
	goPosition = regexp.MustCompile(`0x[0-9a-f]+`)
)

// normal takes out of a message what differs from run to run.
func (r *run) normal(text string) string {
	text = strings.ReplaceAll(text, r.namespace, "NS")
	text = patched.ReplaceAllString(text, `Invalid value: \"{...}\"`)
	text = uid.ReplaceAllString(text, "UID")
	text = goPosition.ReplaceAllString(text, "0x")
	text = disruption.ReplaceAllString(text, "${1}TIME")
	text = revisionIn.ReplaceAllString(text, "${1}N")
	text = currentIn.ReplaceAllString(text, "${1}N")
	return versionIn.ReplaceAllString(text, "${1}N")
}
