// Package pipeline is the plain controller under an informer: a reflector, a delta FIFO,
// and the program's own function for what comes out.
//
//	Source[T] ── reflector ──▶ Sink[K,T] ──▶ DeltaFIFO[K,T] ──▶ process(key, deltas)
//	             └─────── one goroutine ───────┘                └ the caller's of Run ┘
//
// It is for programs that keep no cache, or one of their own: a mirror of a collection in
// a database, a program that acts on each change once. Whoever wants a cache with
// handlers takes package informer.
//
// # What the function can rely on
//
// It is called for one key at a time, with all that has happened to the key since the last
// time, in order. A key that it fails for comes again, before anything newer of the same
// key and with it; nothing is lost and nothing is dropped. Keys are otherwise worked on in
// the order in which something happened to them.
//
// A deletion that no watch saw is found by the next list, since the pipeline knows what the
// function has taken in: the newest object of every key, or [Options.Known], the store that
// the function keeps.
package pipeline
