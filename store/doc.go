// Package store is the cache of a controller: objects T by key K, read by many
// goroutines while one at a time writes, with the indexes of package index over them.
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
// A [Reader] reads. A [Store] is a Reader that also writes: [Store.Commit] makes many
// changes in one step, at a resourceVersion; [Store.Set], [Store.Delete] and
// [Store.Replace] are made of it. A [Snapshot] is a state frozen for ever, to be walked;
// [Reader.Freeze] freezes one with its lookups by key and index.
//
// # What readers see
//
// Whole commits only, a Replace included. All reads of one [Snapshot], or of one frozen
// Reader, agree; two reads of another Reader may have a commit between them. An iteration shows the state at its
// beginning, whatever is written meanwhile, also by its own loop. After a write has
// returned, every read sees it.
//
// The order in which objects come is not defined.
//
// # Concurrency
//
// All methods may be called by any goroutine. Writes take turns. Reads hold a read lock
// for a lookup or the copy of at most some thousand references; whatever is longer works
// on a frozen view without it. A write holds the lock for the changes themselves: 0.3–1
// µs each as a rule. Tables and postings grow and shrink in steps, so that a change moves
// a few thousand entries at most, however many objects there are. From about a thousand
// changes on (more in a store of more than 64,000) a commit is made on a copy of the
// store's structures and swapped in, so that no read waits for it longer than for a small
// one. The first write after a Freeze makes such a copy too: readers do not wait for it,
// the writer does.
//
// The user's functions (key and index functions, Options.Unchanged) run in the goroutine
// of the write, or of the read that needs them, and never under the lock that readers
// take. They must not write to the store: writes take turns, so that would wait for
// itself. If one panics, the object that it was called for is left out, and the write
// says so; see [Op]. Others may then be called once more for objects of the same write.
//
// # Objects
//
// T may be any type. Objects are shared by all who read them and must not be changed
// once stored, as in client-go; [Store.Check] finds out who did.
//
// # Cost
//
// Beyond the objects themselves, a store of pointers takes 23–33 bytes per object, and
// keeps the key: namespace and name, or a string, take their length and some 10 bytes,
// other keys their size and what they refer to. Every index of one value per object takes
// 13–17 bytes more. All this is in arrays with few pointers for the garbage collector to
// follow. Memory is given back when objects go: a store that once
// held 100,000 objects and is empty again is as small as a new one.
package store
