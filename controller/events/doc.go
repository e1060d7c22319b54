// Package events records events of the API group events.k8s.io about objects, which people see
// with kubectl describe and kubectl events.
//
//	recorder := events.New(server, events.Options{Controller: "websites.example.com"})
//	sites := events.For(recorder, Websites) // or the Kind of a handle
//	m.AddToAll("events", recorder)          // to the manager, or: go recorder.Run(ctx)
//	...
//	sites.Normal(site, "Deployed", "Deploy", "the deployment has %d replicas", n)
//	sites.Warning(site, "NoDNS", "UpdateDNS", "%v", err)
//
// # Recording
//
// [Reporter.Normal] and [Reporter.Warning] format the note and count the event. They never wait
// for a request, and keep only the names and the UID of the object. You may call them from any
// goroutine, even before Run.
//
// Equal events form a series: they have the same object, type, reason, action and note. The first
// event is written at once. The others are counted, and the count is written at growing
// intervals, from 10 seconds to 5 minutes. A series ends 6 minutes after its last write if no
// event came since; the next event is then a new object. So put anything that changes with each
// call, such as a time, into the log and not into the note.
//
// client-go ignores the note, so it shows the first note of a series for ever. It compares the
// object's resourceVersion, so each update of a status begins a new series. This package neither
// compares nor writes the version.
//
// # Limits
//
// A recorder keeps at most Options.MaxSeries series, and at most Options.MaxPerObject for one
// object. If all of them wait to be written, it drops further ones. It sends one request at a
// time, 20 per second in the long run and 100 at once.
//
// A request that fails is repeated, first after half a second and then with delays that double up
// to 30 seconds, or when the server says. After 12 failures in a row its events are dropped. They
// are dropped at once if the server refuses them, because the permission to create and patch
// events is missing, or the namespace is being deleted. Further events of the series are then
// dropped unsent for six minutes. If somebody deletes an event, it is written again with the next
// count.
//
// The name of an Event is chosen before its first request, and a patch sets the whole count. So a
// request whose answer was lost can be sent again, and nothing is written twice. If the server
// then answers AlreadyExists, the Event is the recorder's; its count is not known, so a patch
// follows.
//
// [Recorder.Stats] counts every lost event. The events recorded are the sum of those written,
// those waiting and those dropped. If the answer to a request was lost, its events may exist
// although they count as dropped.
//
// # Lifetime
//
// [Recorder.Run] writes until its context is done. Then it writes the events that still wait, for
// Options.FlushTimeout at most. Events that are recorded after that wait until Run is called again. So
// end it after the controllers that use it: manager.Manager.AddToAll does that. Without a manager, give
// Run a context that you cancel when the controllers have ended.
package events
