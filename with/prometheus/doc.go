// Package kinformprom shows the numbers of Kinform's parts to Prometheus, under the names that
// dashboards for client-go and controller-runtime have. docs/metrics.md lists them all.
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
// A manager and a factory are added in one call each, [Metrics.AddManager] and
// [Metrics.AddFactory]: their parts come and go.
//
// Nothing is global: a [Metrics] is a prometheus.Collector for the registry of your choice. Parts
// can be added and removed at any time. They are not started, stopped or kept alive otherwise.
//
// # Labels
//
// Their values are the names that parts are added under, names of handlers, kinds, HTTP methods,
// status codes and hosts, and words of this package. They are never keys, names of objects or texts
// of errors. Where a program or a server could make up any number of values, the first few have
// series of their own, and the others share one: handlers, priorities and hosts. Bytes that are not
// UTF-8 are replaced.
//
// # Cost
//
// Counting is done by the parts, whether or not somebody scrapes: see [Metrics.Collect] for a
// scrape. Durations of queues and reconciles cost two or three readings of the clock per key, so
// they must be switched on (queue.Options.Timing). Without it their metrics are absent.
package kinformprom
