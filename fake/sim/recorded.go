package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Recorded returns a [Program.Users] that does what others did to the objects while [Record] wrote the record, in that
// order and with those pauses. What the program did is left out, as it does it again, and so are changes of objects that
// are not there. An error names the line that is no entry of a record, or whose resource the server does not have. A record
// lacks what happened while the program saw nothing, and which finalizers others removed at last.
func Recorded(record []byte) func(w *World) error {
	return func(w *World) error {
		p := &player{world: w, own: map[string]bool{}, last: map[string]version{}}
		history, err := p.read(record)
		if err != nil {
			return err
		}
		at := time.Duration(0)
		for i, v := range history {
			if v.at > at {
				w.Wait(v.at - at)
				at = v.at
			}
			if err := p.play(v); err != nil {
				return fmt.Errorf("line %d of the record: %s: %w", i+1, v.path, err)
			}
		}
		return nil
	}
}

// version is a version of an object in a record.
type version struct {
	at          time.Duration
	in, path    string // of the collection, and of the object
	uid, number string
	object      object // without what the server sets
	going, gone bool
}

// player plays a record.
type player struct {
	world *World
	own   map[string]bool    // what the program wrote: see entry
	last  map[string]version // by uid in the record: the newest that was seen
}

// read returns the versions of objects, one for each line. Those of the program's own writes are empty.
func (p *player) read(record []byte) (all []version, err error) {
	for line := range bytes.Lines(record) {
		var e entry
		decoder := json.NewDecoder(bytes.NewReader(line))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&e); err != nil {
			return nil, fmt.Errorf("line %d of the record: %w: the file was cut off or changed; leave the line out", len(all)+1, err)
		}
		p.own[e.Own] = true
		v := version{at: e.At, object: e.Saw, gone: e.Gone != nil}
		if v.gone {
			v.object = e.Gone
		}
		m, i := meta(v.object), strings.LastIndexByte(e.Path, '/')
		v.uid, v.number, v.going = text(m["uid"]), text(m["resourceVersion"]), m["deletionTimestamp"] != nil
		if v.object != nil {
			if v.uid == "" || strings.Count(e.Path, "/") < 3 {
				return nil, fmt.Errorf("line %d of the record: an object without a uid, or without the path of its collection", len(all)+1)
			}
			if v.in = e.Path; m["namespace"] != nil {
				v.in = e.Path[:i] + "/namespaces/" + text(m["namespace"]) + e.Path[i:]
			}
			v.path = v.in + "/" + text(m["name"])
		}
		for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"} {
			delete(m, field)
		}
		all = append(all, v)
	}
	return all, nil
}

// play does what led to a version of an object, if others did it.
func (p *player) play(v version) error {
	before, known := p.last[v.uid]
	switch {
	case v.uid == "" || known && v.object["kind"] != before.object["kind"]: // metadata beside whole objects
		return nil
	case v.gone && (before.going || p.own[v.uid]):
		return nil
	case v.gone:
		p.await(v)
		return p.send(http.MethodDelete, v.path, nil)
	case known && !newer(v.number, before.number):
		return nil
	}
	p.last[v.uid] = v
	if p.own[v.uid+" "+v.number] {
		return nil
	}
	if !known {
		if err := p.create(v); err != nil {
			return err
		}
		before.object = object{}
		v.object = maps.Clone(v.object)
		maps.DeleteFunc(v.object, func(name string, _ any) bool { return name != "status" }) // a create drops it
	}
	p.await(v)
	if d := difference(before.object, v.object); len(d) > 0 {
		if status, has := d["status"]; has {
			if err := p.send(http.MethodPatch, v.path+"/status", object{"status": status}); err != nil {
				return err
			}
		}
		if err := p.send(http.MethodPatch, v.path, d); err != nil {
			return err
		}
	}
	if v.going && !before.going && !p.own[v.uid] {
		return p.send(http.MethodDelete, v.path, nil)
	}
	return nil
}

// await waits for an object of the program, which a fault may have held up.
func (p *player) await(v version) {
	for n := 0; n < 3 && apierrors.IsNotFound(p.get(v.path, &object{})); n++ {
		p.world.Settle()
	}
}

func newer(a, b string) bool {
	one, _ := strconv.ParseUint(a, 10, 64)
	two, _ := strconv.ParseUint(b, 10, 64)
	return one > two
}

// create creates an object, once the name is free.
func (p *player) create(v version) error {
	err := p.send(http.MethodPost, v.in, v.object)
	for n := 0; n < 10 && apierrors.IsAlreadyExists(err); n++ {
		p.world.Settle()
		err = p.send(http.MethodPost, v.in, v.object)
	}
	if apierrors.IsNotFound(err) {
		err = fmt.Errorf("%w: register the resource in Program.Server, and create the namespace", err)
	}
	return err
}

// difference returns the merge patch that makes one object another.
func difference(from, to object) (d object) {
	patch, _ := jsonpatch.CreateMergePatch([]byte(asText(from)), []byte(asText(to)))
	_ = json.Unmarshal(patch, &d)
	return d
}

// send sends a request, with the present uids in place of the record's. It needs nothing to be there but for a create.
func (p *player) send(method, path string, content object) error {
	var body []byte
	if content != nil {
		body, _ = json.Marshal(content)
	}
	for uid, v := range p.last {
		if now := (object{}); bytes.Contains(body, []byte(uid)) && p.get(v.path, &now) == nil {
			body = bytes.ReplaceAll(body, []byte(uid), []byte(uidOf(now)))
		}
	}
	err := ask(p.world.Server, others, method, path, body, nil)
	if apierrors.IsNotFound(err) && method != http.MethodPost {
		return nil
	}
	return err
}

// others is an agent that gives no field manager: others are no client that is judged.
const others = "/users"

func (p *player) get(path string, into *object) error {
	return ask(p.world.Server, others, http.MethodGet, path, nil, into)
}
