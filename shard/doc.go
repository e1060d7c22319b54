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
// There is no coordinator, and no leader to lose. Each replica holds a Lease. One more Lease, named
// after the controller, is the assignment: it gives contiguous ranges of hashes to the replicas, in
// proportion to their weights. Any replica may write the next assignment. Each write names a
// resourceVersion, so the server accepts only the first one.
//
// # Contract
//
// No two replicas work on one key at the same time. Before another replica calls reconcile for the
// key, the earlier call has returned, or its context has ended and the gate refuses its writes. The
// conditions are those under "Limits".
//
// After the last fault, some replica works on every key again within LeaseDuration, Grace, three
// RetryPeriods and the time that [Keys.CatchUp] takes, by the slowest clock. After an orderly end
// it takes as long as a few requests and CatchUp. A load is at most a fifth off its fair share. A
// change of the members moves no more hashes than an exact division would.
//
// A replica stops when RenewDeadline has passed since it sent the last renewal of its Lease that
// succeeded, by its own monotonic clock. Others take its ranges when they have seen no change of
// the Lease for LeaseDuration, by their clocks. The clocks may show any time, but none may run
// faster than another by more than the ratio of LeaseDuration and RenewDeadline, 1.5 by default.
//
// # Memory
//
// Each replica caches all objects. If its caches have a [Part] with [Replica.Hashes], it caches only
// the objects of its ranges.
//
// # When ranges move
//
// The owner of a range stops handing out its keys. When the running calls of reconcile have
// returned, its Lease says so, and the assignment names the next owner. That one waits for
// [Keys.CatchUp] and then adds all keys of the range to its queue. If CatchUp is WaitForNow of a
// controller.Handle, the cache of the next owner then has everything that the former owner has
// written, even if that one died. A call that does not return holds up only the move of its range.
// A replica goes on working on the ranges that it keeps.
//
// Events of keys that belong to other replicas are not queued. If an object is deleted while its
// range moves, its key is not reconciled, as after a restart of the process. Use a finalizer if you
// must not miss a deletion.
//
// A new replica may get ranges as soon as Run begins. So call Run when the caches are filled;
// otherwise the keys of the new replica wait until then. Package controller/manager does so for the
// caches of AddCaches and of its controllers.
//
// # Fencing numbers
//
// Each range has a number, which grows whenever its owner changes. [Number] returns it in
// reconcile. If an external system stores the largest number that it has seen for a key, and
// refuses smaller ones, it is safe even from writes that were on their way when a lease ended.
//
// # What costs a lease time
//
// In these cases keys have no owner for LeaseDuration:
//
//   - A replica dies or is cut off from the server.
//   - The replicas begin without an assignment.
//   - Somebody deletes or edits the assignment. All replicas then drop their ranges and wait,
//     because Leases may have been deleted as well.
//
// If somebody deletes Leases or the assignment, no key gets two owners.
//
// # Objects
//
// All Leases have the label shard.kinform.io/name with the name of the controller, so one watch
// brings them in the server's order: each replica sees a state of all Leases that the server once
// had. The proof of the contract needs that, so the assignment is a Lease too and not a ConfigMap.
// A replica needs the verbs get, list, watch, create, patch and delete on leases of
// coordination.k8s.io in the namespace.
//
//	kubectl get leases -l shard.kinform.io/name=websites -o yaml
//
// The annotation shard.kinform.io/assignment holds the ranges and the names of their owners. The
// annotation shard.kinform.io/member holds what a replica says. Each has a checksum, so an edit by
// hand is noticed and makes the annotation invalid.
//
// N replicas cost the server N writes and N² watch events in a RetryPeriod, however many keys there are. The
// assignment of 100 replicas takes up to 128 KiB, half of what the annotations of an object may have. More than
// 100 replicas are not tested.
//
// # Limits
//
// A write that is on its way cannot be fenced: it may arrive when another replica works on the key.
// That happens if a process stops after its write has passed the gate, or if a write whose answer
// nobody waits for takes longer than LeaseDuration - RenewDeadline. A machine that is suspended
// with its monotonic clock also continues its work when it wakes up, until its next renewal is
// refused or RenewDeadline is over. To close these gaps, let the server refuse the write: name the
// resourceVersion that it is based on, and for deletions the UID and resourceVersion as
// preconditions. The helpers of package controller do so.
//
// Without [Keys.CatchUp], the cache of the next owner may lack the last writes of the former one
// for a moment, as after any restart. A write that was on its way may even arrive after CatchUp. A
// resourceVersion then protects updates. Names that follow from the key protect creations: a second
// object gets AlreadyExists.
//
// All replicas need the same hash. If the Options.Scheme of two replicas differ, they do not share
// the work: the later one waits and reports [ErrScheme]. Two different programs with the same name,
// namespace and scheme cannot be told apart.
//
// Durations may differ between replicas, as during a rolling update that changes them: see
// [Options].LeaseDuration.
//
// Before etcd is restored from a backup, the API server must be away for RenewDeadline, so that no
// replica works any more. Otherwise two may work on one key until the restore is noticed or
// RenewDeadline is over.
//
// If all Leases are deleted or restored while no replica runs, the next fencing number is the time
// in seconds since 1970. So numbers do not go back if the clocks are right.
package shard
