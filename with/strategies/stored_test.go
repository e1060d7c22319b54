package strategies_test

import (
	"fmt"
	"strings"
	"testing"
)

// versionOf returns the resourceVersion of an object.
func versionOf(obj map[string]any) string {
	meta, _ := obj["metadata"].(map[string]any)
	return fmt.Sprint(meta["resourceVersion"])
}

// TestFirstWriteOfNothing: what an object gets when it is read is not stored yet, so the first write
// of nothing stores it. The second one does not write.
func TestFirstWriteOfNothing(t *testing.T) {
	for _, c := range []struct {
		path, object string
		writes       bool
	}{
		{"/apis/batch/v1/namespaces/default/jobs", `{"metadata":{"name":"x"},"spec":{"template":{"spec":{"restartPolicy":"Never",` + pod + `}}}}`, true},
		{"/apis/batch/v1/namespaces/default/jobs", `{"metadata":{"name":"x","labels":{"a":"b"}},"spec":{"template":{"spec":{"restartPolicy":"Never",` + pod + `}}}}`, false},
		{"/api/v1/nodes", `{"metadata":{"name":"x"},"status":{"capacity":{"cpu":"4"},"allocatable":{}}}`, true},
		{"/api/v1/nodes", `{"metadata":{"name":"x"},"status":{"capacity":{"cpu":"4"}}}`, false},
		{apps + "deployments", `{"metadata":{"name":"x"},"spec":` + spec + `}`, false},
		{ns + "configmaps", `{"metadata":{"name":"x","selfLink":"/x"},"data":{}}`, false},
	} {
		s := newServer(t)
		was := versionOf(send(t, s, request{"POST " + c.path, c.object, 201, nil}))
		for i := range 2 {
			now := versionOf(send(t, s, request{"PATCH " + c.path + "/x", `{"metadata":{"selfLink":"/y"}}`, 200, nil}))
			if wrote := now != was; wrote != (c.writes && i == 0) {
				t.Errorf("%s %s: write %d of nothing wrote: %v", c.path, c.object, i+1, wrote)
			}
			was = now
		}
	}
}

// TestGeneratedName: what a strategy fills in has the name that the object gets.
func TestGeneratedName(t *testing.T) {
	s := newServer(t)
	seen := map[string]bool{}
	for range 3 {
		job := send(t, s, request{"POST /apis/batch/v1/namespaces/default/jobs", `{"metadata":{"generateName":"j-"},"spec":{"template":{"spec":{"restartPolicy":"Never",` + pod + `}}}}`, 201, nil})
		meta, _ := job["metadata"].(map[string]any)
		labels, _ := meta["labels"].(map[string]any)
		name := fmt.Sprint(meta["name"])
		if name != labels["job-name"] || strings.HasSuffix(name, "xxxxx") || seen[name] {
			t.Errorf("the Job %s has labels %v", name, labels)
		}
		seen[name] = true
	}
}

// TestTwinMembers: a member that has a newer twin is never seen without it, and so a write of its
// absence is one of nothing.
func TestTwinMembers(t *testing.T) {
	s := newServer(t)
	was := versionOf(send(t, s, request{"POST /api/v1/nodes", `{"metadata":{"name":"n"},"spec":{"podCIDR":"10.244.0.0/24","podCIDRs":["10.244.0.0/24"]}}`, 201, nil}))
	now := send(t, s, request{"PATCH /api/v1/nodes/n", `{"spec":{"podCIDR":null}}`, 200, []string{`"podCIDR":"10.244.0.0/24"`, `"f:podCIDR":{}`}})
	if versionOf(now) != was {
		t.Errorf("wrote version %s after %s", versionOf(now), was)
	}
}

// TestEmptyIsNotAbsent: refusals tell an empty map from an absent one.
func TestEmptyIsNotAbsent(t *testing.T) {
	s := newServer(t)
	const empty = `{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":%s},"spec":{` + pod + `}}}}`
	send(t, s, request{"POST " + apps + "deployments", fmt.Sprintf(empty, "{}"), 422, []string{"spec.template.metadata.labels: Invalid value: {}: "}})
	send(t, s, request{"POST " + apps + "deployments", fmt.Sprintf(empty, "null"), 422, []string{"spec.template.metadata.labels: Invalid value: null: "}})
}
