package kinformprom

import (
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/keytext"
	"github.com/kinform/kinform/reflector"
)

const (
	// mostHandlers is the number of handlers of an informer that have their own series.
	mostHandlers = 25
	// unnamedHandlers is the label of the handlers to which the informer gave their names, and
	// otherHandlers the label of the ones above mostHandlers.
	unnamedHandlers = "unnamed"
	otherHandlers   = "other"
	// versionDigits is the number of digits of a resourceVersion that a number of Prometheus can
	// hold.
	versionDigits = 15
)

// cacheTable are the metrics of informers.
type cacheTable struct {
	objects                                          number[informer.Stats]
	bytes                                            *prometheus.Desc
	numbers                                          []number[informer.Stats]
	relists, events, failing, lastEvent, lastVersion *prometheus.Desc
	lag, stuck, handlers, unsynced                   *prometheus.Desc

	listTime, perList, watchTime, perWatch *prometheus.Desc // summaries

	// With the labels of client-go's informers.
	queued, latency, version *prometheus.Desc
}

func newCacheTable() cacheTable {
	const name = "name"
	gvr := []string{name, "group", "version", "resource"}
	numbers := informerNumbers()
	return cacheTable{
		objects:     numbers[0],
		bytes:       desc("kinform_informer_object_bytes", "Estimated memory of the objects in the store.", name),
		numbers:     numbers,
		relists:     desc("kinform_informer_relists_total", "Lists that replaced a watch, by reason.", name, "reason"),
		events:      desc("kinform_informer_events_total", "Events of watches, by type.", name, "type"),
		failing:     desc("kinform_informer_failing_seconds", "How long requests have been failing: 0 while all is well.", name),
		lastEvent:   desc("kinform_informer_last_event_timestamp_seconds", "When the last event came, bookmarks included.", name),
		lastVersion: desc("reflector_last_resource_version", "The last 15 digits of the newest resourceVersion seen.", name),
		lag:         desc("kinform_informer_handler_lag_events", "Events that a handler has not finished.", name, "handler"),
		stuck:       desc("kinform_informer_handler_stuck_seconds", "How long a handler has not returned from a call: 0 unless that is known to take 10 seconds.", name, "handler"),
		handlers:    desc("kinform_informer_handlers", "Handlers of the informer.", name),
		unsynced:    desc("kinform_informer_unsynced_handlers", "Handlers that have not got all initial objects.", name),
		listTime:    desc("reflector_list_duration_seconds", "How long lists took, with their decoding.", name),
		perList:     desc("reflector_items_per_list", "Objects per list.", name),
		watchTime:   desc("reflector_watch_duration_seconds", "How long the watches that have ended took.", name),
		perWatch:    desc("reflector_items_per_watch", "Events of all watches, over the watches that have ended.", name),
		queued:      desc("informer_queued_items", "Changes that wait to enter the store.", gvr...),
		latency:     desc("informer_processing_latency_seconds", "How long it took to commit batches of changes to the store. It has no buckets.", gvr...),
		version:     desc("informer_store_resource_version", "The last 15 digits of the store's resourceVersion.", gvr...),
	}
}

// informerNumbers are the metrics that show one number and have the label name only.
func informerNumbers() []number[informer.Stats] {
	type stats = informer.Stats
	up := func(name, help string, of func(stats) float64) number[stats] {
		return counter(desc(name, help, "name"), of)
	}
	now := func(name, help string, of func(stats) float64) number[stats] {
		return gauge(desc(name, help, "name"), of)
	}
	return []number[stats]{
		now("kinform_informer_objects", "Objects in the store.", func(s stats) float64 { return float64(s.Objects) }),
		up("reflector_lists_total", "Lists that are complete.", func(s stats) float64 { return float64(s.Lists) }),
		up("reflector_watches_total", "Watches that were begun.", func(s stats) float64 { return float64(s.Watches) }),
		up("reflector_short_watches_total", "Watches that ended within a second and brought nothing.", func(s stats) float64 { return float64(s.ShortWatches) }),
		up("kinform_informer_streaming_lists_total", "Streaming lists that were begun.", func(s stats) float64 { return float64(s.WatchLists) }),
		up("kinform_informer_idle_watches_total", "Watches that were ended because they brought nothing for long.", func(s stats) float64 { return float64(s.IdleWatches) }),
		now("kinform_informer_listed_objects", "Objects received of the list in progress, or of the last one.", func(s stats) float64 { return float64(s.Listed) }),
		now("kinform_informer_expected_objects", "Objects that this list has in all: 0 if the server has not said it.", func(s stats) float64 { return float64(s.Expected) }),
		up("kinform_informer_recalled_objects_total", "Objects of lists that were not decoded, because the cache had them in the same state.", func(s stats) float64 { return float64(s.Recalled) }),
		up("kinform_informer_restores_total", "Lists of a server that was found restored from a backup.", func(s stats) float64 { return float64(s.Restores) }),
		up("kinform_informer_bad_objects_total", "Objects that could not be used.", func(s stats) float64 { return float64(s.BadObjects) }),
		up("kinform_informer_failures_total", "Lists and watches that failed.", func(s stats) float64 { return float64(s.Failures) }),
		now("kinform_informer_polling_interval_seconds", "The time between two lists while lists alone keep the cache up to date: 0 while watches do.", func(s stats) float64 { return s.Polling.Every.Seconds() }),
		up("kinform_informer_received_bytes_total", "Bytes read from the server.", func(s stats) float64 { return float64(s.Received) }),
		up("kinform_informer_decoding_seconds_total", "Time spent decoding objects.", func(s stats) float64 { return s.Decoding.Seconds() }),
		up("kinform_informer_batches_total", "Batches of changes that were committed to the store.", func(s stats) float64 { return float64(s.Batches) }),
		up("kinform_informer_changes_total", "Changes in these batches.", func(s stats) float64 { return float64(s.Changes) }),
		now("kinform_informer_pending_writes", "Writes of this process that the watch has not brought yet.", func(s stats) float64 { return float64(s.Writes) }),
		up("kinform_informer_lost_writes_total", "Writes of this process that the watch never brought.", func(s stats) float64 { return float64(s.LostWrites) }),
		up("kinform_informer_handler_wait_seconds_total", "How long the informer has waited for slow handlers.", func(s stats) float64 { return s.HandlerWait.Seconds() }),
		up("kinform_informer_slow_handlers_total", "Reports of slow handlers.", func(s stats) float64 { return float64(s.SlowHandlers) }),
		up("kinform_informer_handler_overruns_total", "How often coalescing handlers were left behind.", func(s stats) float64 { return float64(s.Overruns) }),
	}
}

func (t *cacheTable) describe(out chan<- *prometheus.Desc) {
	describe(out, t.numbers)
	for _, d := range []*prometheus.Desc{
		t.bytes, t.relists, t.events, t.failing, t.lastEvent, t.lastVersion, t.lag, t.stuck, t.handlers, t.unsynced,
		t.listTime, t.perList, t.watchTime, t.perWatch, t.queued, t.latency, t.version,
	} {
		out <- d
	}
}

// cache is an informer that was added.
type cache struct {
	*cacheTable
	shown     string
	name, gvr labels
	relisted  map[string]labels // by reason
	happened  map[string]labels // by type of event
}

// of returns the cache of a resource, such as "deployments.apps in namespace prod". The version may
// be empty.
func (t *cacheTable) of(name, resource, version string) cache {
	resource, _ = keytext.Resource(resource)
	gr := schema.ParseGroupResource(resource)
	c := cache{
		cacheTable: t, shown: name, name: pairs("name", name), relisted: map[string]labels{}, happened: map[string]labels{},
		gvr: pairs("group", gr.Group, "name", name, "resource", gr.Resource, "version", version),
	}
	for reason := range (reflector.Relists{}).ByReason() {
		c.relisted[reason] = pairs("name", name, "reason", strings.ReplaceAll(reason, " ", "_"))
	}
	for typ := range events(reflector.Stats{}) {
		c.happened[typ] = pairs("name", name, "type", typ)
	}
	return c
}

func (c cache) collect(e emitter, s informer.Stats, handlers []informer.HandlerStats, bytes uint64) {
	collect(e, c.numbers, s, c.name)
	e.gauge(c.bytes, float64(bytes), c.name)
	c.collectWatch(e, s.Stats)
	e.summary(c.listTime, s.Lists, s.ListTime.Seconds(), c.name)
	e.summary(c.perList, s.Lists, float64(s.ListedInAll), c.name)
	e.summary(c.watchTime, s.EndedWatches, s.WatchTime.Seconds(), c.name)
	e.summary(c.perWatch, s.EndedWatches, float64(s.Events), c.name)
	e.gauge(c.queued, float64(s.Pending), c.gvr)
	e.sums(c.latency, s.Batches, s.CommitTime.Seconds(), c.gvr)
	if rv, ok := lastDigits(s.ResourceVersion); ok {
		e.gauge(c.version, rv, c.gvr)
	}
	c.collectHandlers(e, handlers)
}

// collectWatch sends the numbers of the watch.
func (c cache) collectWatch(e emitter, s reflector.Stats) {
	for reason, n := range s.Relists.ByReason() {
		e.counter(c.relists, n, c.relisted[reason])
	}
	for typ, n := range events(s) {
		e.counter(c.events, n, c.happened[typ])
	}
	failing := 0.0
	if s.Failing.Err != nil {
		failing = max(0, e.now.Sub(s.Failing.Since).Seconds())
	}
	e.gauge(c.failing, failing, c.name)
	if !s.LastEvent.IsZero() {
		e.gauge(c.lastEvent, float64(s.LastEvent.UnixMilli())/1000, c.name)
	}
	if rv, ok := lastDigits(s.SeenVersion); ok {
		e.gauge(c.lastVersion, rv, c.name)
	}
}

// events are the numbers of events by the label of their type.
func events(s reflector.Stats) map[string]uint64 {
	return map[string]uint64{"added": s.Added, "modified": s.Modified, "deleted": s.Deleted, "bookmark": s.Bookmarks}
}

// collectHandlers sends how far handlers are. Handlers with one label show the largest numbers.
func (c cache) collectHandlers(e emitter, handlers []informer.HandlerStats) {
	lags, stuck, unsynced := map[string]uint64{}, map[string]float64{}, 0
	for _, h := range handlers {
		label := valid(h.Name)
		if number, ok := strings.CutPrefix(label, "handler "); ok && isNumber(number) {
			label = unnamedHandlers
		}
		if _, known := lags[label]; !known && len(lags) >= mostHandlers {
			label = otherHandlers
		}
		lags[label] = max(lags[label], h.Lag)
		if !h.StuckSince.IsZero() {
			stuck[label] = max(stuck[label], e.now.Sub(h.StuckSince).Seconds())
		}
		if !h.Synced {
			unsynced++
		}
	}
	for label, lag := range lags {
		of := pairs("handler", label, "name", c.shown)
		e.gauge(c.lag, float64(lag), of)
		e.gauge(c.stuck, stuck[label], of)
	}
	e.gauge(c.handlers, float64(len(handlers)), c.name)
	e.gauge(c.unsynced, float64(unsynced), c.name)
}

// lastDigits returns the last digits of a resourceVersion as a number. ok is false if it is not
// one.
func lastDigits(rv string) (n float64, ok bool) {
	if !isNumber(rv) {
		return 0, false
	}
	n, err := strconv.ParseFloat(rv[max(0, len(rv)-versionDigits):], 64)
	return n, err == nil
}

// isNumber reports whether text is a decimal number.
func isNumber(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}
