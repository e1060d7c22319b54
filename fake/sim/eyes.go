package sim

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// touched is the annotation that the action touch changes. Only the rule "overwrites" looks at it.
const touched = "sim.kinform/touched"

// eyes look at the server as no client of the program does: all objects of all resources, as JSON.
type eyes struct {
	run   *run
	paths map[string]string // of group and version, by resource: see path

	first   int64           // the version at which the program started
	there   map[string]bool // uids of objects that were there before it
	created map[string]bool // uids of objects that it created
	status  map[string]bool // objects whose status it wrote

	leases map[string]holder
	lost   map[*life]time.Time // when it lost its lease
	no     map[string]string   // by verb and resource: how the server refused all such writes so far; empty if not all
	idle   []string            // writes that changed nothing and are no applies
	idler  string              // the last of them, with the process and the version
	touch  int
}

// holder is who has a lease: the identity, empty if nobody has it, and who wrote it.
type holder struct {
	identity string
	life     *life
}

// object is any object, as JSON.
type object = map[string]any

func newEyes(r *run) *eyes {
	e := &eyes{
		run: r, paths: map[string]string{}, there: map[string]bool{},
		created: map[string]bool{}, status: map[string]bool{},
		leases: map[string]holder{}, lost: map[*life]time.Time{}, no: map[string]string{},
	}
	e.first = r.version()
	e.discover()
	for _, o := range e.all() {
		e.there[uidOf(o.object)] = true
	}
	return e
}

// discover learns which resources the server has.
func (e *eyes) discover() {
	versions := []string{"/api/v1"}
	var groups metav1.APIGroupList
	e.must(e.read("/apis", &groups))
	for _, g := range groups.Groups {
		versions = append(versions, "/apis/"+g.PreferredVersion.GroupVersion)
		for _, v := range g.Versions { // one that others prefer may lack a resource
			versions = append(versions, "/apis/"+v.GroupVersion)
		}
	}
	for _, v := range versions {
		var resources metav1.APIResourceList
		if e.read(v, &resources) != nil {
			continue // the core group may have none
		}
		for _, res := range resources.APIResources {
			a, _ := parseAddress(v + "/" + res.Name)
			if !strings.Contains(res.Name, "/") && slices.Contains(res.Verbs, "list") && e.paths[a.collection()] == "" {
				e.paths[a.collection()] = v
			}
		}
	}
}

// must notes that the server does not let eyes see what it has.
func (e *eyes) must(err error) { e.run.result.broken = cmp.Or(e.run.result.broken, err) }

// read gets a path of the server.
func (e *eyes) read(path string, into any) error {
	return ask(e.run.program.Server, "sim", http.MethodGet, path, nil, into)
}

// seen is an object of a resource.
type seen struct {
	collection string
	object     object
}

func (s seen) key() string {
	m := meta(s.object)
	return keyText(text(m["namespace"]), text(m["name"]))
}

func (s seen) String() string { return s.collection + " " + s.key() }

// path returns the path of a collection, in all namespaces if namespace is empty.
func (e *eyes) path(collection, namespace string) string {
	plain, _, _ := strings.Cut(collection, ".")
	if namespace != "" {
		plain = "namespaces/" + namespace + "/" + plain
	}
	return e.paths[collection] + "/" + plain
}

// pathTo returns the path of an object.
func (e *eyes) pathTo(collection, key string) string {
	namespace, name := parts(key)
	return e.path(collection, namespace) + "/" + name
}

// list returns the objects of a resource, in all namespaces or in that of a key.
func (e *eyes) list(collection, key string) (all []seen) {
	namespace, _ := parts(key)
	var list struct{ Items []object }
	e.must(e.read(e.path(collection, namespace), &list))
	for _, o := range list.Items {
		all = append(all, seen{collection, o})
	}
	return all
}

// all returns all objects but Leases and Events.
func (e *eyes) all() (all []seen) {
	for _, name := range slices.Sorted(maps.Keys(e.paths)) {
		if !(call{resource: name}).upkeep() {
			all = append(all, e.list(name, "")...)
		}
	}
	return all
}

func meta(o object) object { m, _ := o["metadata"].(object); return m }

func text(value any) string { s, _ := value.(string); return s }

func uidOf(o object) string { return text(meta(o)["uid"]) }

// answered looks at the answer to an update or a patch. One that is wrong in itself, and not in what users asked for, is not
// carried out the next time, either.
func (e *eyes) answered(o *op) {
	what := string(o.at.verb) + " " + o.at.resource
	before, known := e.no[what]
	switch own := strings.HasSuffix(o.at.resource, "/status") || strings.Contains(o.message, " metadata."); {
	case !o.changes() || known && before == "":
	case o.code < http.StatusMultipleChoices:
		e.no[what] = ""
	case o.code == http.StatusBadRequest, o.code == http.StatusUnprocessableEntity && own:
		e.no[what] = fmt.Sprintf("the server refuses each %s: %d %s", what, o.code, o.message)
	}
}

// written looks at what a write of the program did that the server has carried out.
func (e *eyes) written(o *op, before, after string) {
	switch {
	case o.at.lease():
		e.lease(o)
	case o.at.upkeep():
		return
	case before == after && o.changes():
		idler := fmt.Sprint(o.life.process, o.at.call, before)
		if e.run.base == nil && e.idler == idler {
			e.run.find("unchanged", "the program sends a write again that has just changed nothing: %v", o.at)
		}
		e.idle, e.idler = append(e.idle, o.at.String()), idler
	}
	if at, ok := e.lost[o.life]; ok && o.sent.After(at) && !o.at.upkeep() && !e.leads(o.life) {
		e.run.find("lease", "process %d sent %v after another one had taken its lease", o.life.process, o.at)
	}
	if o.touched && o.changes() && e.overwritten(o.at.call) {
		e.run.find("overwrites", "%v has no resourceVersion, and took back what another client had just written", o.at)
	}
	if strings.HasSuffix(o.at.resource, "/status") {
		e.status[o.at.collection()+" "+e.run.names.unaliased(o.at.call)] = true
	}
	if o.code == http.StatusCreated && e.paths[o.at.resource] != "" { // neither a subresource nor a review
		e.creates(o, after)
	}
}

// creates looks at an object that the program has just created.
func (e *eyes) creates(o *op, version string) {
	all := e.list(o.at.collection(), o.at.key)
	i := slices.IndexFunc(all, func(s seen) bool { return text(meta(s.object)["resourceVersion"]) == version })
	if i < 0 {
		return
	}
	e.created[uidOf(all[i].object)] = true
	if !strings.HasSuffix(o.at.key, "*") {
		e.run.names.digest(text(meta(all[i].object)["name"]))
		return // the program says by the name what is another thing
	}
	e.run.names.name(all[i], o.at)
	content, n := e.content(all[i]), 0
	for _, s := range all {
		if e.created[uidOf(s.object)] && meta(s.object)["deletionTimestamp"] == nil && e.content(s) == content {
			n++
		}
	}
	alike := e.run.result.alike
	alike[content] = max(alike[content], n)
	if base := e.run.base; base != nil && n > max(1, base.alike[content]) {
		e.run.find("twice", "the program made the same thing again: %d objects are alike but for their names after %v", n, o.at)
	}
}

// content is what an object that the program created is for: all but its name and status.
func (e *eyes) content(s seen) string {
	o := e.run.plain(s.object, nil)
	delete(o, "status")
	delete(meta(o), "name")
	return s.collection + " " + asText(o)
}

// lease looks at a lease that a process has just written.
func (e *eyes) lease(o *op) {
	var lease struct {
		Spec struct{ HolderIdentity string }
	}
	if e.read(e.pathTo(o.at.collection(), o.at.key), &lease) != nil {
		return
	}
	now, before := lease.Spec.HolderIdentity, e.leases[o.at.key]
	if now == before.identity {
		return
	}
	e.leases[o.at.key] = holder{now, o.life}
	if now != "" {
		e.run.result.log.add(fmt.Sprintf("process %d takes the lease %s", o.life.process, o.at.key))
		e.lost[before.life] = time.Now()
	}
	delete(e.lost, o.life)
}

// leads reports whether a process has some lease. If it has several, nobody knows which of them a write needs.
func (e *eyes) leads(l *life) bool {
	for _, h := range e.leases {
		if h.identity != "" && h.life == l {
			return true
		}
	}
	return false
}

// overwritten reports whether an object lacks the annotation that another client has just written.
func (e *eyes) overwritten(c call) bool {
	var now object
	err := e.read(e.pathTo(c.collection(), e.run.names.unaliased(c)), &now)
	notes, _ := meta(now)["annotations"].(object)
	return err == nil && notes[touched] == nil
}

// annotate changes an annotation of the object that a call is for. It reports false if there is none.
func (e *eyes) annotate(c call) bool {
	e.touch++
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"%d"}}}`, touched, e.touch)
	return ask(e.run.program.Server, "sim", http.MethodPatch, e.pathTo(c.collection(), e.run.names.unaliased(c)), patch, nil) == nil
}

// remove deletes an object in the background, and at once: nothing stops the pods of a fake server.
func (e *eyes) remove(s seen) {
	options := []byte(`{"propagationPolicy":"Background","gracePeriodSeconds":0}`)
	_ = ask(e.run.program.Server, "sim", http.MethodDelete, e.pathTo(s.collection, s.key()), options, nil)
}
