package fake

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake/internal/rounds"
	"github.com/kinform/kinform/internal/fieldpaths"
)

// idleLines returns the lines about writes that changed nothing.
func idleLines(idle map[loopObject]map[string]idleWrites) (all []string) {
	for is, writers := range idle {
		for manager, i := range writers {
			if i.times < rounds.Enough {
				continue
			}
			line := fmt.Sprintf("%v: %q has written %d times what changed nothing", is, manager, i.times)
			if path := i.field(); path != "" {
				line += ": it sent " + path + ", which the server stores in another form"
			}
			all = append(all, line)
		}
	}
	return all
}

// idleWrites are the requests of one client that changed nothing of an object.
type idleWrites struct {
	times  int
	stored *revision
	last   sentBody // of the last one
}

// sentBody is the body of a request that writes an object, or its status.
type sentBody struct {
	text   []byte          // nil if it is not known
	patch  types.PatchType // empty for an update
	status bool
}

// noteIdle notes a write to old that changes nothing. A client that applies need not look before, so applies do not count.
func (t *table) noteIdle(old *revision, w write) {
	if w.request == nil || w.dryRun || w.applies || w.manager == "" {
		return
	}
	is := loopObject{t.res.groupResource(), old.key}
	if endless(is.resource) {
		return
	}
	s := t.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.live(old.key) != old.origin() {
		return // somebody has changed it meanwhile
	}
	if s.idle == nil {
		s.idle = map[loopObject]map[string]idleWrites{}
	}
	if s.idle[is] == nil {
		s.idle[is] = map[string]idleWrites{}
	}
	s.idle[is][w.manager] = idleWrites{s.idle[is][w.manager].times + 1, old, sentBody{w.sent, w.patch, w.status()}}
}

// forgetIdle forgets the writes to an object that changed nothing, since it changes now, or goes. Those that are enough
// for a loop stay. The caller holds Server.mu.
func (t *table) forgetIdle(key types.NamespacedName) {
	is := loopObject{t.res.groupResource(), key}
	writers := t.server.idle[is]
	maps.DeleteFunc(writers, func(_ string, i idleWrites) bool { return i.times < rounds.Enough })
	if len(writers) == 0 {
		delete(t.server.idle, is)
	}
}

// field returns the path of the first field that the last of the writes sent in another form than it is stored in, and
// "" if there is none.
func (i idleWrites) field() (path string) {
	var sent any
	text, err := encode(i.stored.obj, &i.stored.of.res)
	if err != nil || i.last.patch == types.JSONPatchType || json.Unmarshal(i.last.text, &sent) != nil {
		return ""
	}
	var stored any
	_ = json.Unmarshal(text, &stored) // it is JSON
	if i.last.patch == "" {
		sent, stored = i.updated(sent), i.updated(stored)
	}
	fieldpaths.Each(within(stored, sent, i.last.patch != ""), sent, func(at string, _, _ any) { path = cmp.Or(path, at) })
	return path
}

// updated returns the parts of an object that an update writes.
func (i idleWrites) updated(obj any) any {
	tree, _ := obj.(map[string]any)
	if i.last.status {
		return map[string]any{statusField: tree[statusField]}
	}
	out := maps.Clone(tree)
	delete(out, "apiVersion")
	delete(out, "kind")
	if i.stored.of.res.Status {
		delete(out, statusField)
	}
	meta, _ := tree["metadata"].(map[string]any)
	out["metadata"] = map[string]any{"labels": meta["labels"], "annotations": meta["annotations"], "finalizers": meta["finalizers"], "ownerReferences": meta["ownerReferences"]}
	return out
}

// within returns the part of what is stored that a patch is about. For an update it is all.
func within(stored, sent any, patch bool) any {
	was, isTree := stored.(map[string]any)
	now, toTree := sent.(map[string]any)
	if !patch || !isTree || !toTree {
		return stored
	}
	part := map[string]any{}
	for name, value := range now {
		if old, has := was[name]; has {
			part[name] = within(old, value, patch)
		}
	}
	return part
}
