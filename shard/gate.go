package shard

import "github.com/kinform/kinform/client"

// Gate returns a connection like server that refuses writes when this replica's lease is over: the
// error matches [ErrFenced] and client.ErrNotSent. Reads always pass.
//
// A write with the context of a reconcile, or one derived from it, is also refused when that call
// has returned, and if the lease was lost since it began, even if this replica has another lease by
// now. So pass that context on: the gate cannot tell which key another write is for.
//
// If a write of a reconcile gets no answer, as after a timeout, it may still arrive. So its range
// does not move for as long as others wait after the end of a lease, LeaseDuration - RenewDeadline,
// even if reconcile returns before.
//
// The end of the lease also ends the writes that are under way, whatever their contexts are: one
// that waits for a connection is not sent later. Their errors match [ErrMoved].
//
// Open the handles through which reconcile writes with this connection. See "Limits" in the package
// documentation.
func (r *Replica) Gate(server client.Connection) client.Connection { return r.gate.Guard(server) }
