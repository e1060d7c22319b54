// Package leader elects one of several processes, by a Lease in the API server.
//
//	elector := leader.New(server, leader.Options{Namespace: "prod", Name: "websites.example.com"})
//	gated := elector.Gate(server) // for the handles that c writes with
//	m := manager.New(manager.Options{Elector: elector})
//	m.AddControllers(c) // they run while this process leads
//	err := m.Run(ctx)
//
// Without a manager, [Elector.Lead] calls a function while this process leads. The Lease needs the
// verbs get, create and patch.
//
// The record is client-go's, and so are the durations. So processes that use client-go's
// leaderelection and processes that use this package can compete for the same Lease.
//
// # Contract
//
// No two processes lead at the same time: the context of work ends in one before the context of
// work begins in another. The conditions are those below, under "Limits".
//
// A leader stops when RenewDeadline has passed since it sent the last renewal that succeeded.
// Another candidate takes the Lease when it has seen no change of it for LeaseDuration. Each uses
// its own monotonic clock, and only for differences. The clocks may be wrong, but no candidate's
// clock may run faster than the leader's by more than the ratio of LeaseDuration and RenewDeadline,
// 1.5 by default. Every write is for one resourceVersion, so a write that is late, or that a proxy
// repeats, does not overwrite newer changes.
//
// After the last fault, somebody leads within LeaseDuration and two looks of 1.2 times RetryPeriod,
// by the slowest clock. After an orderly end it is one look.
//
// The leader keeps the Lease until work has returned, and gives it up then. If the end of Lead's
// context ends work, work may take as long as it needs to return. If the Lease is lost, it may take
// LeaseDuration less RenewDeadline. Work that takes longer is reported ([ErrOutlived]), and
// [Elector.Healthy] fails.
//
// A call of Lead leads only after it has taken the Lease itself. Processes with one identity do not
// lead at the same time, and a process that starts again under its old name waits like any other.
//
// # What costs a lease time
//
// A process that dies, or is cut off from the server, holds the Lease until others have waited for
// LeaseDuration. A process that has lost the Lease, and finds it as it has left it, takes it back as
// soon as LeaseDuration has passed since its last renewal. For safety, candidates also wait in these
// rare cases:
//
//   - The Lease does not exist, as when a program runs for the first time in a cluster. Somebody
//     may have deleted it, and its leader may not know. The first candidate creates it without a
//     holder.
//   - The holder is empty, but the Lease was not given up in client-go's format
//     (leaseDurationSeconds is 1).
//   - The answer to the write that takes the Lease was lost. A write of another process with the
//     same identity would look the same.
//
// client-go does not wait in these cases. If client-go competes for the same Lease, its rules are
// the ones that count.
//
// # Limits
//
// A process that stops between the write to the socket and the server's answer, or that is
// suspended with its clock, cannot be fenced: its write may arrive when another one leads. Write
// through [Elector.Gate] to close all but the time after that. To close that too, let the server
// refuse the write: pass the resourceVersion that it is based on, or preconditions for deletions.
// The helpers of package controller do so.
//
// If somebody writes another holder into the Lease, or gives it up for the leader, two processes
// lead until the leader's next renewal. That takes two seconds, or RenewDeadline if the leader is
// cut off. To make a leader step down, end its process. You may delete, empty or label the Lease
// without harm.
//
// If the Lease is deleted, only candidates with the same LeaseDuration are safe, because its
// duration is lost with it.
//
// # Concurrency
//
// Lead decides in its caller's goroutine. Work, each request, and the callbacks run in other
// goroutines, which have ended when Lead returns. A callback or a hanging server cannot hold up the
// end of a leadership. Each request has half of RenewDeadline.
package leader
