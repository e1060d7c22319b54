// Package events records events of the API group events.k8s.io about objects, for people: they
// see them with kubectl describe and kubectl events.
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
// for a request, and keep nothing of the object but its names and its UID. They may be called
// from any goroutine, before Run too.
//
// Equal events are a series: the same object, type, reason, action and note. The first one is
// written at once. The others are counted, and the count is written at growing intervals, from 10
// seconds to 5 minutes. A series ends 6 minutes after its last write, if nothing came since; then
// the next event is a new object. So put what changes with each call, such as a time, into the log
// and not into the note.
//
// client-go leaves the note out of what makes events equal, and so shows the first note of a series for
// ever. It has the object's resourceVersion in it, so each update of a status begins a new series there.
// Here the version does not count and is not written.
//
// # Limits
//
// A recorder keeps at most Options.MaxSeries series, and Options.MaxPerObject of one object. If
// all of them wait to be written, further ones are dropped. It sends one request at a time,
// 20 per second in the long run and 100 at once.
//
// A request that fails is repeated, first after half a second and then with delays that double
// up to 30 seconds, or when the server says. After 12 failures in a row its events are dropped.
// They are dropped at once if the server refuses them, as it does without permission to create
// and patch events, or in a namespace that is being deleted; those of the same series are then
// dropped unsent for six minutes. An event that somebody has deleted is written again with the
// next count.
//
// The name of an Event is chosen before its first request, and a patch sets the whole count. So a request
// whose answer was lost is sent again. AlreadyExists after such a loss means that the Event is the
// recorder's own; its count is not known, so a patch follows.
//
// Every lost event is counted ([Recorder.Stats]): the events recorded are those written, those
// that wait, and those dropped. If the answer to a request was lost, the events may be there
// although they count as dropped. Nothing is written twice.
//
// # Lifetime
//
// [Recorder.Run] writes until its context is done. Then it writes the events that still wait, for
// Options.FlushTimeout at most. Events that are recorded after that are dropped. So end it after
// the controllers that use it: manager.Manager.AddToAll does that. Without a manager, give Run a context that you
// cancel when the controllers have ended.
package events
