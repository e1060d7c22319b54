// Package kinformprom shows the numbers of Kinform's parts to Prometheus, under the names that
// dashboards for client-go and controller-runtime use. docs/metrics.md lists them all.
//
//	m := kinformprom.New()
//	server.HTTP = &http.Client{Transport: m.Transport(server.HTTP.Transport)} // requests
//	err := errors.Join(
//		m.AddHandle("pods", pods),         // a cache and its requests
//		m.AddController("restarter", c),   // a queue and its reconciles
//		m.AddElector("restarter", elector),
//		registry.Register(m),
//	)
//	http.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
//
// [Metrics.AddManager] and [Metrics.AddFactory] add a manager or a factory in one call, and
// follow its parts as they come and go.
//
// Nothing is global: a [Metrics] is a prometheus.Collector for the registry of your choice. You
// can add and remove parts at any time. Metrics does not start or stop them, or keep them alive
// otherwise.
//
// # Labels
//
// The values of labels are the names that you add parts under, names of handlers, kinds, HTTP
// methods, status codes and hosts, and words of this package. They are never keys, names of
// objects or texts of errors. A program or a server could make up any number of handlers,
// priorities and hosts. The first few of these have separate series, and the others share one.
// Bytes that are not UTF-8 are replaced.
//
// # Cost
//
// The parts count whether or not somebody scrapes. [Metrics.Collect] says what a scrape costs.
// Durations of queues and reconciles cost two or three clock readings per key, so you must switch
// them on (queue.Options.Timing). Otherwise their metrics are absent.
package kinformprom
