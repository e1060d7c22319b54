package sim

import (
	"net/http"
	"slices"
	"time"

	"github.com/kinform/kinform/fake/faults"
)

// faultsAt returns each fault that can strike one of the requests of a schedule. The most telling ones come first. base is
// of the schedule without faults.
func faultsAt(points []point, base *outcome) (all []line) {
	add := func(which func(point) bool, faults ...line) {
		for _, p := range points {
			if which(p) {
				for _, f := range faults {
					f.at = p
					all = append(all, f)
				}
			}
		}
	}
	writes := func(p point) bool { return p.writes() && !p.upkeep() }
	reads := func(p point) bool { return !p.writes() && !p.upkeep() && p.call != step }
	steps := func(p point) bool { return p.call == step && p.n < 20 }
	gets := func(p point) bool { return p.verb == faults.VerbGet && !p.upkeep() }
	updates := func(p point) bool { return writes(p) && (p.verb == faults.VerbUpdate || p.verb == faults.VerbPatch) }
	add(writes, line{action: crashAfter}, line{action: crashBefore}, line{action: lose}, line{action: users}, line{action: late, by: time.Second},
		line{action: refuse, code: http.StatusInternalServerError})
	add(updates, line{action: touch}, line{action: refuse, code: http.StatusConflict})
	for _, resource := range watched(points) {
		add(steps, line{action: hold, by: 30 * time.Second, watch: resource}, line{action: blind, by: 5 * time.Minute, watch: resource})
	}
	if base.old {
		add(writes, line{action: crashAfter, behind: 1}, line{action: crashAfter, behind: 3}, line{action: crashAfter, behind: 8})
	}
	for _, resource := range watched(points) {
		add(writes, line{action: hold, by: 30 * time.Second, watch: resource}, line{action: blind, by: 30 * time.Second, watch: resource})
	}
	add(writes, line{action: freeze, by: 40 * time.Second},
		line{action: delay, by: 30 * time.Second}, line{action: refuse, code: http.StatusTooManyRequests}, line{action: forbid, by: 40 * time.Second})
	// A crash before a list or a watch is like one after the step before. And a manager of controller-runtime that is to
	// end while its caches fill computes without end.
	add(gets, line{action: crashBefore})
	add(reads, line{action: users}, line{action: delay, by: 30 * time.Second},
		line{action: refuse, code: http.StatusInternalServerError}, line{action: forbid, by: 40 * time.Second})
	add(func(p point) bool { return slices.Contains(base.pages, p) }, line{action: refuse, code: http.StatusGone})
	add(func(p point) bool { return p.writes() && p.lease() && p.n < 20 },
		line{action: freeze, by: 40 * time.Second}, line{action: lose}, line{action: crashAfter})
	return slices.Clip(all)
}

// watched returns the resources that are watched.
func watched(points []point) (all []string) {
	for _, p := range points {
		if p.verb == faults.VerbWatch && !p.upkeep() && !slices.Contains(all, p.collection()) {
			all = append(all, p.collection())
		}
	}
	return all
}
