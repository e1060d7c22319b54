package fake

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake/internal/rounds"
	"github.com/kinform/kinform/internal/fieldpaths"
	"github.com/kinform/kinform/internal/keytext"
)

// Loops returns a line for each field that a client has written ten times in a row for no reason, with values that come
// back or differ each time. It also returns one for each object to which a client has sent ten writes that changed
// nothing, while nobody changed the object. Applies are meant to be sent again, so they do not count there. A line names
// the object, the field, and the field manager of the client, but no values.
//
// A write has a reason if, since the client last wrote the field, the test itself has written something, anybody has
// created or deleted an object, or another client has written something other than that field. Leases and Events are
// left out, because they are written again and again by design. So are writes that the server has forgotten
// ([Options].History). It encodes both states of each write that can be one of ten.
func (s *Server) Loops() []string {
	changes, idle := s.written()
	all := append(idleLines(idle), s.loopLines(changes)...)
	slices.Sort(all)
	return all
}

// loopLines returns the lines about fields.
func (s *Server) loopLines(changes []change) (all []string) {
	often := map[loopWriter]int{}
	for _, c := range changes {
		often[c.by]++
	}
	var f rounds.Finder[loopObject]
	for _, c := range changes {
		w := rounds.Write[loopObject]{Object: c.by.loopObject, Writer: c.by.manager, Update: c.old != nil && c.cur != nil}
		if w.Update && w.Writer != "" && often[c.by] >= rounds.Enough {
			fieldpaths.Each(c.old.obj, c.cur.obj, func(path string, _, now any) {
				if path != "metadata.generation" && path != fieldpaths.More {
					w.Fields = append(w.Fields, rounds.Field{Path: path, Value: fieldpaths.Hash(s.seed, now)})
				}
			})
		}
		f.Add(w)
	}
	for _, l := range f.Loops() {
		how := "it is different each time"
		if l.Back {
			how = "its values come back"
		}
		all = append(all, fmt.Sprintf("%v: %q has written %s %d times in a row without a reason: %s", l.Object, l.Writer, l.Path, l.Times, how))
	}
	return all
}

// loopObject names an object.
type loopObject struct {
	resource schema.GroupResource
	key      types.NamespacedName
}

func (o loopObject) String() string {
	return keytext.Printable(o.resource.String() + " " + keytext.Of(o.key))
}

// loopWriter is a client that has written an object.
type loopWriter struct {
	loopObject
	manager string // empty for the test itself
}

// change is a write of the history.
type change struct {
	rv       uint64
	by       loopWriter
	old, cur *revision
}

// written returns the history of all resources in the order of the writes, and the writes without a change.
func (s *Server) written() (changes []change, idle map[loopObject]map[string]idleWrites) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.order {
		is := t.res.groupResource()
		if endless(is) {
			continue
		}
		for _, r := range t.log.records {
			if r.bookmark() {
				continue
			}
			by := loopWriter{loopObject: loopObject{is, r.key()}}
			if r.cur != nil {
				by.manager = r.cur.writer
			}
			changes = append(changes, change{r.rv, by, r.old, r.cur})
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.rv, b.rv) })
	idle = maps.Clone(s.idle)
	for is, writers := range idle {
		idle[is] = maps.Clone(writers)
	}
	return changes, idle
}

// endless reports whether objects of a resource are written again and again by design.
func endless(is schema.GroupResource) bool {
	return is.Group == "coordination.k8s.io" && is.Resource == "leases" || is.Resource == "events" && (is.Group == "" || is.Group == "events.k8s.io")
}
