// Package store is the cache of a controller: objects T by key K, with the indexes of package
// index over them. Many goroutines may read while one writes.
//
//	byNode := index.New("node", func(dst []string, p *corev1.Pod) []string {
//		return append(dst, p.Spec.NodeName)
//	})
//	pods, err := store.New(store.ObjectKey, store.Options[*corev1.Pod]{
//		Indexes: []index.Definition[*corev1.Pod]{byNode},
//	})
//	pod, ok := pods.Get(types.NamespacedName{Namespace: "prod", Name: "web-0"})
//	for pod := range byNode.All(pods, "node-1") { … }
//
// A [Reader] reads. A [Store] is a Reader that also writes: [Store.Commit] makes many changes
// in one step, at a resourceVersion. [Store.Set], [Store.Delete] and [Store.Replace] are
// commits too. A [Snapshot] is a frozen state for iteration. [Reader.Freeze] returns a frozen
// state that also has the lookups by key and index.
//
// # What readers see
//
// Readers see whole commits only; a Replace is one commit. All reads of one [Snapshot], or of
// one frozen Reader, agree. Between two reads of any other Reader there may be a commit. An
// iteration shows the state at its beginning, even if the loop's body writes. After a write
// has returned, every read sees it. The order in which objects come is not defined.
//
// # Concurrency
//
// All methods may be called by any goroutine. Writes take turns. Reads hold a read lock for
// one lookup, or to copy at most 1,024 references. Longer reads work on a frozen view without
// the lock.
//
// A write holds the lock while it makes its changes: usually 0.3–1 µs each. Some writes also
// grow or shrink a table: in a store of 1 million objects with 3 indexes that fills and
// empties object by object, the longest Set took 144 µs and the longest Delete 111 µs of
// processor time.
//
// A commit of more than 1,024 changes (in a store of over 65,536 objects, more than a 64th of
// them) is made on a copy of the store's structures, which is then swapped in. So reads wait
// no longer for it than for a small commit. The first write after a Freeze makes such a copy
// too. The writer waits for it, readers do not.
//
// Your functions (key and index functions, Options.Unchanged) run in the goroutine of the
// write, or of the read that needs them, and never under the lock that readers take. They must
// not write to the store, because the call would wait for itself. If a function panics, the
// write leaves out the object and reports the panic; see [Op]. Functions may then be called
// once more for other objects of the same write.
//
// # Objects
//
// T may be any type. All readers share the stored objects: treat them as read-only, as in
// client-go. [Store.Check] detects a program that changed one. With Options.Packed, each read returns a new object.
// What reads say of their cost, such as no allocation, then leaves out the making of that object.
//
// # Cost
//
// In addition to the objects, a store of pointers takes 23–33 bytes per object and a copy of
// the key. A key of namespace and name, or a string, takes its length and about 10 bytes. Any
// other key takes its size and keeps the memory that it refers to. Every index takes 13–17
// bytes more per object with one value, and 8 bytes for an object without a value. The garbage
// collector has few pointers to follow. Deletions give memory back: a store that once held
// 100,000 objects and is empty again is as small as a new one.
package store
