// Package reflector keeps a [Sink] equal to a collection on a Kubernetes API server by
// LIST and WATCH.
//
//	Source[T]  ── List, Watch ──▶  Reflector[T]  ── Listed, Replace, Apply ──▶  Sink[T]
//
// # Protocol
//
// A [Reflector] asks for a watch that begins with the list (a streaming list, KEP-3157). If
// the server has no streaming lists, it lists the collection page by page. It hands the list
// to its sink as one replacement, and watches from the list's resourceVersion. A watch that
// ends, or that brings nothing for [Tuning.IdleTimeout], is resumed at the newest
// resourceVersion seen in an event or a bookmark. When the server no longer has that version
// (410 Gone or Expired), the reflector lists the collection again, and the sink finds the
// missed changes by comparing
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#410-gone-responses).
//
// The first list asks for "0", which the server answers from its cache; a streaming list asks for "",
// which it answers from there, too. Later ones ask for the newest version seen, and for "" once the
// server says that it does not have that version. A list that is older than the newest state seen is
// not handed on, but asked for again at "". An answer at "" is the truth even if it is older: the
// server was restored. Versions are compared by apimachinery's package resourceversion. Those that
// do not compare, as of some aggregated API servers, are taken as they come.
//
// # Streaming lists
//
// If a server says that it has no streaming lists, the reflector lists by LIST at once, and does not ask
// for a stream again before a connection broke: the next one may lead to another server. Any other
// refusal but 429, which waits, leads to LIST, too: a server that cannot reach its storage may answer
// LIST from its cache. A refusal that finds fault with the request is not reported, because LIST will
// report the fault if it is not the stream. An answer that is not of the Kubernetes API leads to LIST, too.
//
// A stream that is silent for a minute, or does not end, leads to LIST. If the server has not sent a
// whole one before, or if that was the second in a row, all later lists come in pages; one alone may just
// have been slow. A stream that breaks off is dropped and asked for again, and after the second in a
// row, or after one that lasted for Backoff.Max, the list comes in pages. It also does after a deletion
// that cannot be read, or that may be of an object which could not be used.
//
// # Lists alone
//
// Some clients may list and not watch, and some proxies break each watch. If watches have failed for
// Backoff.Max since the last thing that a watch brought, the reflector lists the collection in place of
// the next watch, and does so again every Backoff.Max, or up to a third later, until a watch brings
// something or lasts. If another request finds out that the server is back, the watch goes first:
// otherwise all clients would list at the end of an outage. An event that cannot be used is nothing
// brought. Jitter keeps the reflectors of a connection from listing together. If many of them are denied,
// they share four requests a second: a hundred list every 50 to 75 s, and four hundred up to every 150 s.
// The first list after InternalErrors waits for a minute. If such a list fails, too, the
// next one has twice the time, up to ten times. A watch that a [Server] leaves without an answer for
// Backoff.Max has failed, also if the server would send its header with the first event.
//
// A watch that is accepted and silent does not fail if it lasts for Backoff.Max, or ends in order after a
// second: it may have had nothing to say. But if it also ends before the time that its request named, it
// proves nothing. A proxy that ends each watch before the first bookmark makes such watches, and so does
// one that swallows all events. If no other watch comes for five to ten minutes (ten times Backoff.Max if
// that is more, and up to twice as long), a list takes the place of the next one, and so on until a watch
// brings something, is idle for Tuning.IdleTimeout, or lasts as long as asked. It takes that time once more
// if the list fails, or if the server was away and comes back before it. One that swallows all events and
// lasts as long as asked is believed.
//
// Before a list in place of a watch, a list of one object shows that the server was not restored
// meanwhile. If it has no answer, the list comes from the storage, and the sink learns that the server may
// have been restored ([Rewinder]). Only the first list after a watch that was denied (403, 401) comes without
// that, because everything may be denied then. So the reflector does not notice a server that is restored and
// overtakes the newest version seen before that list, unless a watch is allowed again.
//
// A list of a [Server] without a resourceVersion leaves nothing to watch from, and is repeated after
// [Tuning.PollInterval]. metrics-server sends such lists. In both cases the sink is as old as the last
// list, and [Stats.Polling] says so.
//
// # Sources
//
// A [Source] lists and watches one collection: a client.Resource, a fake.Source, or two functions
// of another library's client ([SourceFuncs]). Functions of this package wrap a source. [Map]
// changes each object before it is stored, for example to drop parts that nobody reads. [Filter]
// leaves objects out. [Shard] selects a part of the collection by hash. [Tweak] sets selectors.
//
// # Contents at an unchanged version
//
// A resourceVersion names a write, and not contents. The API server applies defaults and converts
// when it reads from etcd, so the contents of an object change without a new version when a
// CustomResourceDefinition gets a default or another conversion webhook, and when the server is
// upgraded. No watch event tells that. The next list does: see [Identity].
//
// A change of a CustomResourceDefinition ends all its watches, in order and before their time, on each
// API server. The server then answers 410 Expired as a rule, because the watch asks for a version
// before the change, and the reflector lists. If a bookmark has brought the version of the change, the
// server resumes the watch. So the reflector lists after each watch that ends in this way while its
// connection goes on ([Relists].Ended). The contents are then as new as the list, within seconds of
// the change. Five such lists follow at once, and then one in ten minutes; what is due then follows
// the end of a later watch on the same connection. A restart of the server ends the connection, too,
// and costs no list: the request for it is given up when it gets another connection, and the watch
// goes on. Only a source that says which connection its requests have can tell ([Attempt.Connected]);
// package client does.
//
// Discovery is not asked: its hash of a resource (storageVersionHash) does not change with a default or
// with a webhook, and the document of OpenAPI that does is larger than most lists.
//
// So the contents stay old until the next list or write if a conversion webhook behaves differently
// although the definition is the same, if the API server is upgraded while nothing is written, if a
// list comes from an API server that does not know the change yet and the watch after it from one that
// does, and if the connection of the watch takes no other requests any more (GOAWAY). After a restart,
// the check for a restored server compares the contents of the newest object, and lists if they
// differ. So does a watch that repeats an event with other contents. A second Run lists. With its watch
// cache, the server's own lists stay old after a webhook has changed, until the server is restarted or
// the definition changes.
//
// # Restored servers
//
// A server whose etcd was restored from a backup gives out resourceVersions a second time. It accepts a
// watch from a version that it has not reached yet, is silent until it has, and then sends the changes
// after it. No error says so and, once it has overtaken the newest version seen, no version does. But it
// cannot fake the history. So after a watch that ended before its time, in whatever way, was idle, or was
// not ended by the server in time, the server has to show that it has the history seen. The next watch
// begins up to four events early, and the server must repeat these events, with the same uids. An event
// that was not there before, or a bookmark past an event that is still to come, shows another history.
// The check costs no request and needs no key, so it works for selections, projections and metadata
// alike. If there were no events since the list, or the server no longer has them or is silent for two
// seconds, the reflector asks for a list of one object that is not older than the newest version seen. It
// selects an object that it knows by name: that of the newest event, or else the newest of the list. The
// server must have the object as it was. If the object has changed since, or is gone, that proves
// nothing, and the reflector asks for the objects of earlier events.
//
// The reflector reports a server that shows another history with [ErrRestored] and lists the
// collection at "". A [Rewinder] learns that the versions of this list do not compare with those that
// it holds. If there is a doubt and no proof, the reflector lists without a report, and the Rewinder
// compares contents as well as versions. There is a doubt if none of the known objects is as it was,
// if the newest one has the same version but other contents, if the server has not reached the newest
// version seen, or if it has and yet a watch repeats nothing for Tuning.IdleTimeout. So the list is
// spent in vain if the server only lags, or if the one known object was deleted while there was no
// watch. No second list follows before a watch has brought something new or lasted long. If none of
// the known objects is as it was again, a watch of five seconds is long enough. If all watches end
// earlier, the list comes five to ten minutes after the last one (longer with Backoff.Max, as above).
//
// If a server refuses the list of one object three times in a row, or does not end it, the
// reflector watches for a minute at a time and asks for the list again after each watch. It does
// the same if the server leaves that list without an answer eight times although there is a
// connection, because a proxy may let only watches pass. The first of these watches lasts five
// seconds, because the server may have come back meanwhile.
//
// The check has limits where the server has overtaken the newest version seen and cannot repeat events, or
// there were none. An object that is as it was proves the history only up to its own version: the check
// misses a restore from a newer backup. It misses any such restore if T has no metadata, as most
// projections, or if the source does not select by name: one that refuses the selector is asked without it,
// and one that ignores it proves nothing. A server that does not know the question (400, 404, 405, 501)
// proves nothing either, and is asked again after the next watch that ended before its time. The check also
// misses a restore behind an API server that was not restarted, because that server answers from its own
// cache as before, one while watches are denied, if there were no events since the last list, and one in
// the second watch in a row that ends at once and empty. [Tuning.TrustVersions] turns the check off.
//
// # Events of one version
//
// A transaction of etcd gives all its changes one version: when the lease of many Events ends, all
// of them are deleted at once. An event at the newest version seen goes to the sink unless it
// repeats one of the four before it. A watch may end amid such events. A server that is asked for
// what follows their version leaves out the rest. So a watch that ended, in whatever way, is
// resumed before the events of the newest version, unless a bookmark of that version or of a later
// one has come. If the server no longer has the version before, the reflector lists the collection.
// It does so only if the newest version brought a deletion or several events, and the watch ended
// within a second after them. Otherwise that version has no more events. The sink can get an event
// twice if its version has more than four.
//
// A list contains what was added and changed at its version, so such an event is dropped. It cannot
// contain a deletion, so a deletion at the list's version goes to the sink. The sink may lack the
// object.
//
// # Failures and waits
//
// The kind of failure decides how soon the next request follows. With the defaults of [Backoff], which
// can shorten each wait:
//
//	a watch broke off               within 50 ms, five times in a row, from the newest version seen
//	it breaks again and again       each once a second on average; if it broke within a second, in
//	                                  turn: forty watches of all reflectors of a connection at
//	                                  once, then ten a second
//	a list broke off                within 50 ms, three times in a row; then as after a useless
//	                                  answer. In turn: twenty of all at once, then one a second
//	410, or a version too large     a list at once; a wait if the last list did not help
//	an ERROR event without code     a list after 0.8 s at first, within 60 s at last
//	  and reason
//	no answer: refused, reset,      probes of one reflector at a time, after 0.1 s at first,
//	  no route or name, timeout       once a second at last
//	401, 403, 404, certificates     after 0.4 s at first, within 5 s at last, and later for more
//	                                  than twenty reflectors; a watch that got a 401 or 403
//	                                  resumes at the newest version seen
//	watches that all fail and       a list in place of the first watch after 30 s, and then every
//	  bring nothing                   30 s; later if the list fails, too
//	a watch ended at once, empty    a list after the second in a row
//	it had brought something        at once, five times in a row, then once in 2 s; so do lists in
//	                                  place of watches, whatever the server sends
//	429, 5xx, a useless answer      after 0.8 s at first, within 60 s at last; if the server named
//	                                  a time, then or up to a second later, and later for more
//	                                  than four reflectors
//
// The reflectors of one connection share their knowledge of its server in a [Breaker]. A source hands it
// out as a [Server]; package client has one for each Connection. While the server is away, one reflector at
// a time probes it and the others wait in line, so a hundred reflectors send no more requests than one. The
// first answer brings them all back within a second. A reflector that succeeds again also ends the waits of
// those that failed for the same reason, a denied request (at most once in five seconds) or a busy server (at
// most once in 30 seconds), but no wait before the time that the server named. A watch that the server
// accepts is such a success. After a watch that ended within a second and brought nothing, the next one must last
// twice as long first, and a second at least; so must each that follows a broken one while lists alone keep
// the sink up to date. Watches and lists that break again and again wait in line, too. Each answer lets the
// next watch go. A list that is complete lets two other lists go, and a watch that succeeds after a break
// lets one go. A source that is not a [Server] has a breaker of its own.
//
// The waits protect the server. Each watch can cost it a handshake of TLS and a search in its history: a
// hundred reflectors that resumed without a wait would send 2,000 requests a second to a line that breaks
// after 50 ms each time. A list that breaks in its midst costs the server even more. A server that always
// has something new must not be asked without end either: objects whose deletions cannot be decoded,
// replicas of different age, or a proxy that ends each answer after its first part would cost thousands of
// lists, and cost one in two seconds.
//
// [Stats.Failing] says since when a reflector fails, why, and when it tries again.
//
// # Objects that cannot be used
//
// Such an object is reported and skipped, and the sink keeps what it has under that name ([Sink]). If the
// name is not known, the sink keeps all objects until a list has none such: for a controller that acts on
// deletions, one object too many does less harm than one too few. A deletion whose object cannot be read
// leads to a list.
//
// # Decisions
//
// The decisions are pure functions from a state and an outcome to the next state and a step
// (state.go). The loop around them (run.go, list.go, watching.go) only carries the steps out. Whether an
// event is in order is decided from the newest events (recent.go), and whether the server was
// restored, from what it repeats (replay.go) or answers (witness.go).
//
// # Ordering
//
// The sink gets every event of one watch in the server's order. Events never go back in time.
// The reflector drops a repeated event. An event that is older than the newest version seen
// ends the watch with [ErrOutOfOrder] and leads to a relist, because the server may have left
// out others.
//
// # Errors and lifetime
//
// [Reflector.Run] works in the goroutine of its caller. A timer beside it watches over each
// watch, and Run waits for the timer. Run returns nil when its context is done, and an error
// only when the sink failed. It reports every other failure to [Options.OnError] and retries:
// a failed request as a [*RequestError], an object that could not be used as an
// [*ObjectError]. The timer's goroutine reports a streaming list that has stalled as a
// [*SlowListError], and a source that does not return after the end of its context with
// [ErrNotReturning]: Run waits for it. Every other wait ends when the context does.
package reflector
