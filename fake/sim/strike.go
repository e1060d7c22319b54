package sim

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/fake/faults"
)

// window is a fault that lasts.
type window struct {
	action action // hold, blind, forbid, freeze or late
	until  time.Time

	// What it strikes. Zero means all.
	process  int
	resource string
	scope    string // a namespace with its slash

	asOf string // of hold: the version of lists that may be old
	lost int64  // of blind, after its end: watches cannot resume from a version before
}

func (w *window) open() bool { return w.until.After(time.Now()) }

func (w *window) strikes(o *op) bool {
	return (w.process == 0 || w.process == o.life.process) && (w.resource == "" || w.resource == o.at.collection()) &&
		strings.HasPrefix(o.at.key, w.scope)
}

// mayGo reports whether o may have its turn now.
func (r *run) mayGo(o *op) bool {
	switch {
	case o.settles:
		return r.rests(true)
	case o.until.After(time.Now()):
		return false
	case o.users():
		return true
	}
	return !slices.ContainsFunc(r.windows, func(w *window) bool {
		return w.open() && w.strikes(o) && (w.action == freeze || w.action == hold && o.delivery)
	})
}

// decide applies the faults of the schedule to o. It reports false if o does not go on now.
func (r *run) decide(o *op) (goes bool) {
	if code := r.barred(o); code > 0 {
		r.refuse(o, code)
		return true
	}
	for r.faults {
		i := slices.IndexFunc(r.result.missed, func(l line) bool { return l.at == o.at })
		if i < 0 {
			break
		}
		l := r.result.missed[i]
		r.result.missed = slices.Delete(r.result.missed, i, i+1)
		r.faulted = time.Now()
		r.result.log.fault(l)
		if !r.strike(o, l) {
			return false
		}
	}
	return true
}

// barred returns the code by which a window refuses o, or zero.
func (r *run) barred(o *op) int {
	for _, w := range r.windows {
		watch := w.action == blind && o.at.verb == faults.VerbWatch
		list := w.action == blind && o.at.verb == faults.VerbList // by which clients could make up for the watch
		if w.action == blind && !w.open() && w.lost == 0 {
			w.lost = r.version()
		}
		switch {
		case !w.strikes(o):
		case w.action == forbid && w.open():
			return http.StatusForbidden
		case w.asOf != "" && w.open() && streams(o.query): // it knows no streaming lists, so the client lists
			return http.StatusUnprocessableEntity
		case (watch || list) && w.open():
			return http.StatusServiceUnavailable
		case watch && resumesBefore(o.query, w.lost):
			return http.StatusGone
		}
	}
	return 0
}

// resumesBefore reports whether a watch with this query goes on from a version before another one.
func resumesBefore(query string, version int64) bool {
	values, _ := url.ParseQuery(query)
	from, _ := strconv.ParseInt(values.Get("resourceVersion"), 10, 64)
	return from > 0 && from < version && !streams(query)
}

// streams reports whether a watch with this query begins with a list.
func streams(query string) bool { return strings.Contains(query, "sendInitialEvents=true") }

// lists reports whether o is a list that may be answered from an old cache.
func lists(o *op) bool {
	values, _ := url.ParseQuery(o.query)
	return o.at.verb == faults.VerbList && values.Get("resourceVersion") == "0"
}

// strike lets l happen. It reports false if o does not go on now.
func (r *run) strike(o *op, l line) (goes bool) {
	w := &window{action: l.action, until: time.Now().Add(l.by)}
	if l.by > 0 && l.action != delay {
		r.windows = append(r.windows, w)
	}
	switch l.action {
	case crashBefore:
		r.fallBehind(o, l.behind)
		o.life.crash()
		return false
	case crashAfter:
		r.fallBehind(o, l.behind)
		o.crashAfter = true
	case lose:
		o.lost = true
	case refuse:
		r.refuse(o, l.code)
	case touch:
		o.touched = r.eyes.annotate(o.at.call) // as another client might
	case late:
		o.late = l.by // and the window keeps the program from rest
	case delay:
		o.until = w.until
		return false
	case users:
		if next := r.gate.users(); next != nil {
			r.letUsers(next, " before the program rests")
		}
		return false // what waits may be other things now
	case hold:
		w.resource = l.watch
	case blind:
		w.resource = l.watch
		r.breakWatches(l.watch)
	case forbid:
		w.process, w.resource = o.life.process, o.at.collection()
		if namespace, _, namespaced := strings.Cut(o.at.key, "/"); namespaced {
			w.scope = namespace + "/"
		}
		return false // it is refused now
	case freeze:
		w.process = o.life.process
		return false // it waits now
	}
	return true
}

// behindFor is how long a server that is behind sends no newer events.
const behindFor = 30 * time.Second

// fallBehind makes the server that the next life of a process reaches older by some versions.
func (r *run) fallBehind(o *op, versions int) {
	if versions > 0 {
		asOf := strconv.FormatInt(max(r.version()-int64(versions), r.eyes.first), 10)
		r.windows = append(r.windows, &window{action: hold, until: time.Now().Add(behindFor), process: o.life.process, asOf: asOf})
	}
}

// age makes a list as old as the server that its process reaches.
func (r *run) age(o *op) {
	for _, w := range r.windows {
		if w.asOf != "" && w.open() && w.strikes(o) && lists(o) {
			o.asOf = w.asOf
		}
	}
}

// breakWatches ends the open watches of a resource.
func (r *run) breakWatches(resource string) {
	for _, o := range r.watches {
		if o.stream != nil && o.at.collection() == resource {
			_ = o.stream.Close()
		}
	}
	synctest.Wait()
}

// refuse makes the server refuse o, with the reason that an API server sends with the code.
func (r *run) refuse(o *op, code int) {
	refusal := fmt.Sprintf("refuse %s %s code=%d", o.at.verb, o.at.collection(), code)
	if code == http.StatusTooManyRequests {
		refusal += " retry-after=1"
	}
	var err error
	if o.faults, err = faults.Parse(refusal); err != nil {
		r.result.broken = err
	}
}

// version returns the present version of the server.
func (r *run) version() int64 {
	version, _ := strconv.ParseInt(r.program.Server.ResourceVersion(), 10, 64)
	return version
}
