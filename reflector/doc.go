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
