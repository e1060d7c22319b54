// Package reflector keeps a [Sink] equal to a collection on a Kubernetes API server by
// LIST and WATCH.
//
//	Source[T]  ── List, Watch ──▶  Reflector[T]  ── Listed, Replace, Apply ──▶  Sink[T]
//
// # Protocol
//
// A [Reflector] asks for a watch that begins with the list (a streaming list, KEP-3157), or
// lists the collection page by page where the server has no such thing. It hands the list
// to its sink as one replacement, and watches from its resourceVersion. A watch that
// ends, or that brings nothing for [Options.IdleTimeout], is opened again from the newest
// resourceVersion seen, be it of an event or of a bookmark. When the server no longer has
// that version (410 Gone or Expired) the collection is listed again; the sink then learns
// of what it missed by comparing
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#410-gone-responses).
//
// # Restored servers
//
// A server whose etcd was restored from a backup gives out resourceVersions a second time. It
// takes a watch from a version that it has yet to come to, is silent until it has, and sends
// what follows. So after a watch that ended before its time, in whatever way, or was idle, the
// server has to show that it has the history that was seen. The next
// watch begins up to four events early, and these must come again; that costs no request. If
// there were none since the list, or the server no longer has them or is silent for two
// seconds, it is asked for a list of one object that is not older than what was seen. A server
// that shows another history is reported with [ErrRestored], and the collection is listed at
// "", of which a sink learns that its versions do not compare ([Rewinder]). So is it when the
// list has not come as far as what was seen. A server that only lags costs that list.
//
// What this cannot see is a restore after which the server has already overtaken what was
// seen, where nothing changed in the collection since its list, or where what changed last has
// left the server's history. Nor can it see one behind an API server that was not restarted:
// that serves its own cache as before. [Options.TrustVersions] turns the check off.
//
// # Failures and waits
//
// What failed decides how soon the next request follows. [Backoff] has the limits of each wait.
//
//	a watch broke off               at once, from the newest version seen
//	it broke early, without news    after 0.05 s at first, within 4 s at last
//	a list broke off                at once, three times in 15 s
//	410, or a version too large     a list at once; a wait if the last list did not help
//	no answer: refused, reset,      probes of one reflector at a time, after 0.1 s at first,
//	  no route or name, timeout       once a second at last
//	401, 403, 404, certificates     after 0.4 s at first, within 5 s at last; a watch that got a
//	                                  401 or 403 goes on from the newest version seen
//	429, 5xx, a useless answer      after 0.8 s at first, within 60 s at last; not before the
//	                                  time that the server asked for
//
// The reflectors of one connection share what they know of its server: a [Breaker]. A source
// hands it out as a [Server]; package client has one for each Connection. While the server is
// away, one reflector at a time probes it and the others wait in line, so a hundred reflectors
// send no more requests than one. The first answer brings them all back within a second. A
// reflector that succeeds again also ends the waits of those that failed for the same reason,
// a rule or a busy server. A source that is no [Server] has a breaker of its own.
//
// [Stats.Failing] says since when a reflector fails, why, and when it tries again.
//
// # Decisions
//
// The decisions are pure functions from a state and an outcome to the next state and
// what to do (protocol.go). The loop around them (run.go) only carries them out.
//
// # Ordering
//
// The sink gets every event of one watch in the server's order. Events never go back in
// time: a repeated event is dropped, and one that is older than what was seen ends the
// watch with [ErrOutOfOrder] and leads to a relist, because what else the server left
// out cannot be known.
//
// # Errors and lifetime
//
// [Reflector.Run] works in the goroutine of its caller; beside it runs a timer that looks
// after the watch, and that Run waits for. Run returns nil when its context is done and an
// error only when the sink failed. Everything else is reported to [Options.OnError] and
// retried: a request that failed as a [*RequestError], an object that could not be used
// as an [*ObjectError]. A streaming list that has stopped is reported as a
// [*SlowListError], from the timer's goroutine. Every wait ends when the context does.
package reflector
