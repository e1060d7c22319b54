package kinformprom

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	m.caches.describe(out)
	describe(out, m.clients)
	m.queues.describe(out)
	m.controllers.describe(out)
	out <- m.leads
	describe(out, m.shards)
	m.requests.describe(out)
}

// Collect implements prometheus.Collector. It reads the numbers of each part, one part after the
// other, and holds no lock of its own meanwhile. Stats, Handlers and Metrics of a part take the
// lock of the informer or the queue, for as long as the copy of a few numbers takes: the commit of
// a batch waits at most that long, and Collect waits for a commit that is under way. Readers of a
// cache need neither lock.
//
// Each scrape lists the parts of managers and factories anew.
//
// A part that panics is reported to the registry, which then fails the scrape or leaves the part
// out, as its promhttp.HandlerOpts say.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	m.mu.Lock()
	parts, alive := m.parts, m.alive
	m.mu.Unlock()
	e := emitter{out: out, now: time.Now()}
	for _, p := range parts {
		e.part(p)
	}
	for _, a := range alive {
		e.part(part{[]place{{"parts", "of it"}}, m.caches.objects.desc, func(e emitter) {
			for _, p := range a.present(m) {
				e.part(p)
			}
		}})
	}
	m.requests.collect(out)
}

// part collects a part, whatever it does.
func (e emitter) part(p part) {
	defer func() {
		if r := recover(); r != nil {
			e.out <- prometheus.NewInvalidMetric(p.desc, fmt.Errorf("%s %q panicked: %v", p.places[0].sort, p.places[0].name, r))
		}
	}()
	p.collect(e)
}
