// Package reflector keeps a [Sink] equal to a collection on a Kubernetes API server by LIST and WATCH.
//
//	Source[T]  ── List, Watch ──▶  Reflector[T]  ── Listed, Replace, Apply ──▶  Sink[T]
//
//	r, err := reflector.New(source, sink, reflector.Options{})
//	...
//	err = r.Run(ctx) // until ctx is done or the sink fails
//
// Package informer runs a reflector for you. Use this package directly if you write the sink yourself.
//
// # Sources
//
// A [Source] lists and watches one collection: a client.Resource, a fake.Source, or two functions of
// another library's client ([SourceFuncs]). Functions of this package wrap a source. [Map] changes each
// object before it is stored, for example to drop parts that nobody reads. [Filter] leaves objects out.
// [Shard] selects a part of the collection by hash. [Tweak] sets selectors.
//
// # Protocol
//
// A [Reflector] asks for a watch that begins with the list (a streaming list, KEP-3157), or lists page
// by page if the server has no streaming lists ([Tuning.DisableWatchList]). It hands the list to its
// sink as one replacement and then watches from the list's resourceVersion. When a watch ends, or brings
// nothing for [Tuning.IdleTimeout], the reflector resumes at the newest resourceVersion seen in an event
// or a bookmark. When the server no longer has that version (410 Gone or Expired), the reflector lists
// the collection again, and the sink finds the missed changes by comparing
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#410-gone-responses).
//
// The first list asks for resourceVersion "0", or for "" if it is a streaming list. The server answers
// both from its cache. Later lists ask for the newest version seen, and for "" once the server says that
// it does not have that version. If a list is older than the newest state seen, the reflector drops it
// and asks again at "". An answer at "" is the truth even if it is older: the server was restored.
// Apimachinery's package resourceversion compares the versions. Some aggregated API servers have
// versions that it cannot compare. The reflector accepts these as they come.
//
// # Ordering
//
// The sink gets the events of one watch in the server's order. Events never go back in time. The
// reflector drops a repeated event. An event that is older than the newest version seen ends the watch
// with [ErrProtocol] and leads to a relist, because the server may have left out others.
//
// # Objects that cannot be used
//
// The reflector reports such an object and skips it. The sink keeps what it has under that name
// ([Sink]). If the name is not known, the sink keeps all objects until a list has no such object: for a
// controller that acts on deletions, one object too many does less harm than one too few. A deletion
// whose object cannot be read leads to a list.
//
// # Errors and lifetime
//
// [Reflector.Run] works in its caller's goroutine. A timer watches over each watch, and Run waits for
// the timer. Run returns nil when its context is done, and an error only if the sink failed. It reports
// every other failure to [Options.OnError] and retries: a failed request as a [*RequestError], an object
// that could not be used as an [*ObjectError]. Two reports come from the timer's goroutine: a streaming
// list that has stalled ([*SlowListError]), and a source that does not return after its context has
// ended (the error says so). Run waits for that source. Every other wait ends when the context does.
//
// # Lists alone
//
// Some clients may list but not watch, and some proxies break every watch. If watches fail and bring
// nothing for Backoff.Max, the reflector lists the collection in place of the next watch. It repeats
// this every Backoff.Max, or up to a third later, until a watch brings something or lasts. If watches
// are accepted but stay silent and end early, the reflector lists after five to ten minutes. [Polling]
// has the details. If lists have no resourceVersion, there is nothing to watch from, and the reflector
// lists every [Tuning.PollInterval]. In all these cases the sink is as old as the last list, and
// [Stats.Polling] says so.
//
// Before a list in place of a watch, the reflector requests one object to see that the server was not
// restored meanwhile. If that request gets no answer, the list comes from the storage, and the sink
// learns that the server may have been restored (Rewound of [Sink]). The first list after a denied watch (403,
// 401) skips this check, because everything may be denied then. In that case the reflector does not
// notice a server that is restored and overtakes the newest version seen before that list, unless a
// watch is allowed again.
//
// # Contents at an unchanged version
//
// A resourceVersion names a write, not contents. The API server applies defaults and converts when it
// reads from etcd. So the contents of an object change without a new version when a
// CustomResourceDefinition gets a default or another conversion webhook, and when the server is
// upgraded. No watch event announces this. The next list brings the new contents: see Event.Sum.
//
// When a CustomResourceDefinition changes, each API server ends all its watches early and in order. The
// reflector lists after such an end if the connection goes on, so the contents are as new as the list
// within seconds of the change. [Relists].Ended says how often it does, and how it spares the list after
// a restart of the server.
//
// The contents stay old until the next list or write if
//
//   - a conversion webhook behaves differently under the same definition,
//   - the API server is upgraded while nothing is written,
//   - a list comes from an API server that does not know the change yet, and the watch after it from one
//     that does, or
//   - the connection of the watch takes no more requests (GOAWAY).
//
// After a restart, the check for a restored server compares the contents of the newest object, and the
// reflector lists if they differ. It also lists if a watch repeats an event with other contents. An
// informer's second Run lists too. A server with a watch cache sends old contents even in lists after a
// webhook has changed, until the server is restarted or the definition changes.
//
// # Restored servers
//
// A server whose etcd was restored from a backup gives out resourceVersions a second time. It accepts a
// watch from a version that it has not reached yet, is silent until it reaches it, and then sends the
// changes after it. No error shows this, and once the server has overtaken the newest version seen, no
// version shows it either. But the server cannot fake its history. So the reflector checks that the server
// still has the same history after a watch ends before its time or goes idle, and after the server does not
// end it in time.
//
// The next watch begins up to four events early, and the server must repeat these events with the same
// uids. An event that was not there before, or a bookmark past an event that is still to come, shows
// another history. This check costs no request and needs no key, so it works for selections, projections
// and metadata alike. If there were no events since the list, if the server no longer has them, or if it
// is silent for two seconds, the reflector asks for a list of one object that is not older than the
// newest version seen. It selects by name the object of the newest event, or else the newest object of
// the list. The server must have this object unchanged. If the object has changed since, or is gone,
// that proves nothing, and the reflector asks for the objects of earlier events.
//
// If the server shows another history, the reflector reports [ErrRestored] and lists the collection at
// "". A sink with the method Rewound learns that the versions of this list do not compare with those that it holds.
//
// If the check is inconclusive, the reflector relists silently, and the sink compares contents as
// well as versions. The check is inconclusive if none of the known objects is unchanged, if the newest
// one has the same version but other contents, if the server has not reached the newest version seen, or if
// it has, but the watch then does not repeat all these events within Tuning.IdleTimeout.
// So the list is wasted if the server only lags, or if the one known object was deleted while there was
// no watch. [Tuning.TrustVersions] says when a second such list follows, and what happens if the server
// refuses the check.
//
// The check has limits if the server has overtaken the newest version seen and cannot repeat events, or
// if there were none. It then misses a restore
//
//   - from a backup that is newer than the known object, because an unchanged object proves the history
//     only up to its own version,
//   - if T has no metadata, as in most projections,
//   - if the source does not select by name: a source that refuses the selector is asked without it, and
//     one that ignores it proves nothing,
//   - if the server does not understand the request (400, 404, 405, 501): the reflector asks again after
//     the next watch that ends before its time,
//   - behind an API server that was not restarted, because it answers from its own cache as before,
//   - while watches are denied, if there were no events since the last list, or
//   - during the second watch in a row that ends at once and empty.
//
// Set [Tuning.TrustVersions] to turn the check off.
//
// # Events of one version
//
// An etcd transaction gives all its changes one version: when the lease of many Events expires, all of
// them are deleted at once. An event at the newest version seen goes to the sink unless it repeats one
// of the four before it.
//
// A watch may end in the middle of such events, and a server that is asked for everything after their
// version leaves out the rest. So the reflector resumes a watch before the events of the newest version,
// unless a bookmark of that version or a later one has come. If the server no longer has the version
// before, the reflector lists the collection, but only if the newest version brought a deletion or
// several events and the watch ended within a second after them. Otherwise it takes that version as
// complete. The sink can get an event twice if its version has more than four.
//
// A list contains everything that was added or changed at its version, so the reflector drops such an
// event. A list cannot contain a deletion, so a deletion at the list's version goes to the sink, even if
// the sink does not have the object.
//
// # Failures and waits
//
// The kind of failure decides how soon the next request follows. The table has the defaults. [Backoff]
// can shorten each wait.
//
//	a watch broke off               within 50 ms, five times in a row, from the newest version seen
//	it breaks again and again       each once a second on average; if it broke within a second, in
//	                                  turn: forty watches of all reflectors of a connection at
//	                                  once, then ten a second
//	a list broke off                within 50 ms, three times in a row; then as after a useless
//	                                  answer, and in turn: twenty of all at once, then one a second
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
//	a watch ended at once, but      at once, five times in a row, then once in 2 s
//	  brought something
//	a list replaces a watch         at once, five times in a row, then once in 2 s, whatever the
//	                                  server sends
//	429, 5xx, a useless answer      after 0.8 s at first, within 60 s at last; if the server named
//	                                  a time, then or up to a second later, and later for more
//	                                  than four reflectors
//
// The reflectors of one connection share what they know about its server in a [Breaker], which their
// source hands out as a [Server]. Package client has one breaker for each Connection. While the server
// is away, one reflector at a time probes it and the others wait in line, so a hundred reflectors send
// no more requests than one. The first answer brings all of them back within a second.
//
// [Stats.Failing] says since when a reflector has been failing, why, and when it tries again.
package reflector
