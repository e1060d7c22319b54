package sim

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake/faults"
)

// window is a fault that lasts.
type window struct {
	action   action // hold, blind, forbid or freeze
	until    time.Time
	process  int    // of forbid and freeze
	resource string // of hold, blind and forbid
	scope    string // of forbid: a namespace with its slash, or *
	resumed  bool   // of blind: the watch was refused for the last time
}

// mayGo reports whether o may have its turn now.
func (r *run) mayGo(o *op) bool {
	now := time.Now()
	if o.until.After(now) {
		return false
	}
	for _, w := range r.windows {
		switch {
		case !w.until.After(now):
		case w.action == hold && o.delivery && w.resource == o.at.collection(),
			w.action == hold && o.delivery && w.resource == "" && w.process == o.life.process,
			w.action == freeze && w.process == o.life.process:
			return false
		}
	}
	return true
}

// decide applies the faults of the schedule to o. It reports false if o does not go on now.
func (r *run) decide(o *op) (goes bool) {
	if code := r.barred(o); code > 0 {
		r.refuse(o, code)
		return true
	}
	if o.decided {
		return true
	}
	for i, l := range r.schedule {
		if !r.faults || r.struck[i] || l.at != o.at {
			continue
		}
		r.struck[i], r.faulted = true, time.Now()
		r.result.log.fault(l)
		if !r.strike(o, l) {
			return false
		}
	}
	o.decided = true
	return true
}

// barred returns the code by which a window refuses o, or zero.
func (r *run) barred(o *op) int {
	for _, w := range r.windows {
		on := w.until.After(time.Now())
		switch {
		case o.delivery || w.resource != o.at.collection():
		case w.action == forbid && on && w.process == o.life.process && (w.scope == "*" || strings.HasPrefix(o.at.key, w.scope)):
			return http.StatusForbidden
		case w.action == blind && o.at.verb == faults.VerbWatch && on:
			return http.StatusServiceUnavailable
		case w.action == blind && o.at.verb == faults.VerbWatch && !w.resumed && resumes(o.query):
			w.resumed = true
			return http.StatusGone
		}
	}
	return 0
}

// resumes reports whether a watch with this query goes on from a version.
func resumes(query string) bool {
	values, _ := url.ParseQuery(query)
	version := values.Get("resourceVersion")
	return version != "" && version != "0" && values.Get("sendInitialEvents") != "true"
}

// mayBeOld reports whether a list with this query may be answered from an old cache.
func mayBeOld(query string) bool {
	values, _ := url.ParseQuery(query)
	return values.Get("resourceVersion") == "0"
}

// strike lets l happen. It reports false if o does not go on now.
func (r *run) strike(o *op, l line) (goes bool) {
	window := &window{action: l.action, until: time.Now().Add(l.by), process: o.life.process, resource: l.watch}
	switch l.action {
	case crashBefore:
		r.staleFrom(o.life, l.behind)
		o.life.crash()
		return false
	case crashAfter:
		r.staleFrom(o.life, l.behind)
		o.crashAfter = true
	case late:
		o.late = l.by
	case lose:
		r.inject(o, faults.Fault{CutBytes: 1})
	case refuse:
		r.refuse(o, l.code)
	case delay:
		o.until, o.decided = window.until, true
		return false
	case touch:
		r.eyes.annotate(o.at.call) // as another client might
	case users:
		if r.user.waits() {
			r.letUsers(" before the program rests")
		}
		return false // what waits may be other things now
	case forbid:
		window.resource = o.at.collection()
		namespace, _, namespaced := strings.Cut(o.at.key, "/")
		if window.scope = "*"; namespaced {
			window.scope = namespace + "/"
		}
		r.windows = append(r.windows, window)
		return false
	case freeze:
		r.windows = append(r.windows, window)
		return false
	case hold:
		r.windows = append(r.windows, window)
	case blind:
		r.windows = append(r.windows, window)
		r.breakWatches(l.watch)
	}
	return true
}

// behindFor is how long a server that is behind sends no newer events.
const behindFor = 30 * time.Second

// staleFrom makes the server that the next life of a process reaches older by some versions.
func (r *run) staleFrom(l *life, versions int) {
	if versions == 0 {
		return
	}
	now, err := strconv.ParseInt(r.program.Server.ResourceVersion(), 10, 64)
	if err != nil {
		return
	}
	until := time.Now().Add(behindFor)
	l.behind.Store(&behind{max(now-int64(versions), r.eyes.first), until})
	r.windows = append(r.windows, &window{action: hold, until: until, process: l.process})
}

// breakWatches ends the open watches of a resource.
func (r *run) breakWatches(resource string) {
	r.mu.Lock()
	var broken []*stream
	for s := range r.streams {
		if s.of.at.collection() == resource {
			broken = append(broken, s)
		}
	}
	r.mu.Unlock()
	for _, s := range broken {
		_ = s.Close()
	}
	synctest.Wait()
}

// refuse makes the server refuse o, with the reason that an API server sends with the code.
func (r *run) refuse(o *op, code int) {
	refusal := fmt.Sprintf("refuse %s %s code=%d", o.at.verb, o.at.collection(), code)
	if code == http.StatusTooManyRequests {
		refusal += " retry-after=1"
	}
	all, err := faults.Parse(refusal)
	if err != nil {
		r.result.broken = err
		return
	}
	r.inject(o, all[0])
}

// inject makes the server do something to o. Another fault may still hold o up, so the server learns of it when o goes.
func (r *run) inject(o *op, f faults.Fault) {
	f.Verb, f.Resource = o.at.verb, schema.ParseGroupResource(o.at.collection())
	o.faults = append(o.faults, f)
}
