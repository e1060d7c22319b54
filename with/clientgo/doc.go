// Package clientgo lets a program that uses client-go's informers use Kinform's, by one changed
// line:
//
//	informer := clientgo.NewSharedIndexInformer(listerWatcher, &corev1.Pod{}, resync, indexers) // was cache.
//
// The result is a cache.SharedIndexInformer on top of Kinform's reflector, FIFO, store and
// handlers. Generated listers, cache.WaitForCacheSync, cache.NewTypedSharedIndexInformer and
// cache.ShutDownEventHandler work with it.
//
// A program with a factory changes an import instead: packages informers, dynamicinformer and
// metadatainformer below this one have client-go's factories. [Factory] is for the generated
// informers of other types, and [InsteadOf] for a single informer that generated code has made.
//
// The other functions connect Kinform's typed parts to the parts of a program. [Source] makes a
// reflector.Source of any ListerWatcher, so that a typed informer can use a clientset or
// client-go's fake clientset. [Connection] takes a rest.Config. In the other direction,
// [Informer] is a typed informer, and [Queue] a work queue, for code and listers that expect
// client-go's.
//
// # What differs
//
// This list is about the informers that have a ListerWatcher. [Informer] has a separate list.
//
//   - An informer waits for a handler that is 4,096 events behind. client-go keeps
//     all events in memory.
//   - The first resync of a handler comes after 0.5 to 1.5 periods, so that handlers which began
//     together do not resync together. Each handler has a separate period, and the informer has
//     none that bounds it.
//   - Objects of another type than the example object are left out and logged, in lists too. So
//     is an object that the transform function refuses.
//   - If an index function returns an error or panics, that is logged, and the object has no
//     values in this index. client-go panics.
//   - A ListerWatcher that panics ends Run with this panic. A handler that is nil is an error.
//   - Messages go to slog's default logger and not to klog.
//   - Failed requests are repeated as reflector.Backoff describes.
//   - Handlers get no events for a program's own writes to the indexer, as in client-go. Reads of
//     the indexer see whole commits, and a relist is one commit.
//   - Options for metrics are not used.
//   - An informer has the method SetShardSelector, and factories have the option WithShardSelector, as in client-go
//     from 0.38 on. Both refuse a selector that no server takes.
//
// This is a separate module because it needs client-go, which the rest of Kinform does not.
package clientgo
