// Package pipeline is the plain controller beneath an informer: a reflector, a delta FIFO, and
// your function that processes the deltas.
//
//	Source[T] ── reflector ──▶ Sink[K,T] ──▶ DeltaFIFO[K,T] ──▶ process(key, deltas)
//	             └─────── one goroutine ───────┘                └ the caller's of Run ┘
//
// It is for programs that keep no cache, or their own: a mirror of a collection in a database,
// or a program that acts once on each change. If you want a cache with handlers, use package
// informer.
//
// # What the function can rely on
//
// The function is called for one key at a time, with everything that has happened to the key
// since the last call, in order. If it fails for a key, it gets the key's deltas again,
// followed by newer deltas of the key. Nothing is lost or dropped. Apart from that, keys come
// in the order of their changes.
//
// The next list finds a deletion that no watch saw, because the pipeline knows the objects
// that the function has processed: the newest object of every key, or [Options.KnownObjects],
// the function's store.
package pipeline
