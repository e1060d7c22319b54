// Package shard divides the keys of a controller among equal replicas, by Leases in the API server.
//
//	replica, err := shard.New(server, shard.Options{Namespace: "prod", Name: "websites", Identity: podName})
//	gated := replica.Gate(server) // writes through it end with the replica's lease
//	websites := controller.Open(gated, Websites)
//	var c *controller.Controller[kinform.Key]
//	work, err := shard.Divide(replica, shard.Keys[kinform.Key]{
//		Hashed:  shard.ByKey,
//		All:     websites.AsInformer().Store().Keys,
//		Add:     func(key kinform.Key) { c.Queue().Add(key) },
//		CatchUp: websites.WaitForNow,
//	}, reconcile)
//	...
//	c = controller.New("websites", work.Reconcile)
//	controller.For(c, websites, func(ev informer.Event[kinform.Key, *Website]) bool { return work.Has(ev.Key) })
//	m := manager.New(manager.Options{})
//	m.AddControllers(c)
//	m.Add("replica", replica) // begins once the caches are filled
//	err = m.Run(ctx)
//
// There is no coordinator, and no leader that can be lost. Each replica has a Lease. One more
// Lease, which has the name of the controller, is the assignment: it gives contiguous ranges of
// hashes to the replicas, in proportion to their weights. Any replica may write the next
// assignment. Each write names a resourceVersion, so the server accepts only the first one. The
// number of writes depends on the replicas, not on the keys.
//
// # Contract
//
// No two replicas work on one key at the same time: a call of reconcile has returned, or its
// context has ended and the gate refuses its writes, before another replica calls reconcile for the
// key. The conditions are those under "Limits".
//
// After the last fault, every key is worked on again within LeaseDuration, Grace, three
// RetryPeriods and the time that [Keys.CatchUp] takes, by the slowest clock. After an orderly end
// it takes as long as a few requests and CatchUp. A load is at most a fifth off its fair share. A
// change of the members moves no more hashes than an exact division would.
//
// A replica works on a range while its Lease is renewed: it stops when RenewDeadline has passed
// since it sent the last renewal that succeeded, by its own monotonic clock. Others take its ranges
// when they have seen no change of the Lease for LeaseDuration, by theirs. Clocks may show any
// time, but none may run faster than another by the ratio of LeaseDuration and RenewDeadline, 1.5
// by default.
//
// # Memory
//
// Each replica caches all objects, unless its caches have a [Part] with [Replica.Hashes]: then each
// has the objects of its own ranges.
//
// # When ranges move
//
// The owner of a range stops handing out its keys. When the running calls of reconcile have
// returned, its Lease says so, and the assignment names the next owner, which waits for
// [Keys.CatchUp] and then adds all keys of the range to its queue. With WaitForNow of a
// controller.Handle as CatchUp, its cache then has all that the former owner has written, also if
// that one died. A call that does not return holds up the move of its range, and nothing else. A
// replica goes on working on the ranges that it keeps.
//
// Events of keys that belong to others are not queued. A key whose object was deleted while its
// range moved is not reconciled, as after a restart of the process: use a finalizer if a deletion
// must not be missed.
//
// A new replica may get ranges as soon as Run begins. So call Run when the caches are filled, as
// package controller/manager does for those of AddCaches and of its controllers. Otherwise the keys of the new replica
// wait until then.
//
// # Fencing numbers
//
// Each range has a number, which grows whenever its owner changes. [Number] returns it in
// reconcile. A system that stores the largest number it has seen for a key, and refuses smaller
// ones, is safe even from writes that were on their way when a lease ended.
//
// # What costs a lease time
//
// A replica that dies, or is cut off from the server. The first assignment, and a new one after
// somebody has deleted or edited the old one: all replicas drop what they have, and nothing is
// given away before LeaseDuration has passed, because Leases may have been deleted as well.
// Deleting Leases or the assignment never makes two owners.
//
// # Objects
//
// All Leases have the label shard.kinform.io/name with the name of the controller, so one watch
// brings them in the server's order: each replica sees a state of all Leases that the server once
// had. The proof of the contract needs that, so the assignment is a Lease, too, and no ConfigMap.
// Permissions for one resource are enough: the verbs get, list, watch, create, patch and delete on
// leases of coordination.k8s.io in the namespace.
//
//	kubectl get leases -l shard.kinform.io/name=websites -o yaml
//
// The annotation shard.kinform.io/assignment has the ranges and the names of their owners,
// shard.kinform.io/member what a replica says. Each has a checksum, so an edit by hand is noticed
// and makes it invalid.
//
// Each replica sees each renewal, so N replicas cost the server N writes and N² watch events in a
// RetryPeriod. The assignment of 100 replicas takes up to 128 KiB, and the annotations of an object
// may have twice as much. More than 100 replicas are not tested.
//
// # Limits
//
// A write that is on its way cannot be fenced: it may arrive when another replica works on the key.
// That happens if a process stops after it has passed the gate, or if a write whose answer nobody
// waits for takes longer than LeaseDuration - RenewDeadline. If a machine is suspended with its
// monotonic clock, the process also goes on with its work when it wakes up, until its next renewal
// is refused, or until RenewDeadline is over. To close these gaps, let the server refuse the write:
// name the resourceVersion that it is based on, and for deletions the UID and resourceVersion as
// preconditions. The helpers of package controller do so.
//
// Without [Keys.CatchUp], the cache of the next owner may lack the last writes of the former one
// for a moment, as after any restart. Then a resourceVersion protects updates. Names that follow
// from the key protect creations: a second object gets AlreadyExists. A write that was on its way
// may come after CatchUp, too.
//
// All replicas need the same hash. Replicas whose Options.Scheme differs do not share the work: the
// later one waits and reports [ErrScheme]. Two different programs with the same name, namespace and
// scheme cannot be told apart.
//
// Durations may differ between replicas, as during a rolling update that changes them: then the
// longest LeaseDuration that a replica has seen counts until its process ends. This does not
// protect a replica if all Leases are deleted by hand, and then only processes with shorter
// durations start.
//
// If etcd is restored from a backup, the API server has to be away for RenewDeadline before that:
// then no replica works any more. Otherwise two may work on one key until the restore is noticed,
// or RenewDeadline is over.
//
// If all Leases are deleted or restored while no replica runs, the next fencing number is the time
// in seconds since 1970. So numbers do not go back if the clocks are right.
package shard
