// Package replica decides for one of several replicas that divide hashes among them by Leases. It
// is a state machine without clock, goroutine or network: [Core.Step] takes an event and says what
// to do.
//
// # Objects
//
// Each life of a replica has a separate Lease, whose UID is the ID of the life. A process that
// starts again, or has lost its Lease, has another ID, so nothing of a former life counts as its
// own. One more Lease, the sheet, has the assignment. All are read by one watch, so a [View] is a
// state that the server once had, or a prefix of its history. Every write is bound to a UID and a
// resourceVersion, so one that is late, or repeated, changes nothing that came between.
//
// All are of one kind. Two kinds would have two watches, and each rule that compares a Lease with the sheet
// would have to check versions. A range moves by a request in the sheet and an answer in its owner's Lease.
// So each object has few writers, and the owners of many ranges that move at once do not compete for the
// sheet.
//
// # Why no hash has two owners
//
// A replica works on a hash if all this holds:
//
//  1. a valid sheet gives it the range, and does not ask for it back;
//  2. its own Lease in that view says that it obeys this sheet (by UID), up to the epoch in which
//     it got the hash;
//  3. less than RenewDeadline has passed, by its own monotonic clock, since it sent the last
//     renewal that succeeded.
//
// The sheet takes a range from an owner in two cases. Either the owner's Lease says that it has
// released the range: the owner writes so when no work runs in it. Or the owner is gone for good:
// its Lease says that it has stopped, or was not there for LeaseDuration. A replica writes
// "stopped" when nothing runs any more, and others write it into a Lease that they saw unchanged
// for LeaseDuration: that write is bound to the version they saw, so no renewal can come before it,
// and none succeeds after it. LeaseDuration is longer than RenewDeadline by more than clocks may
// drift. It is the longest of all replicas, which their Leases and the sheet say.
//
// A sheet that was deleted, edited (its seal does not fit) or set back to an older state (its epoch
// is less than what a Lease says; rule 2 makes sure that one does) is replaced by a new one, with
// another UID, in which nobody owns anything. It is opened when two things are true. Each Lease
// says that its replica obeys the new sheet: the replica writes so when nothing runs any more that
// an older sheet had given. And LeaseDuration has passed since the sheet was seen and since a Lease
// disappeared, because the Lease of a replica that still works may have been deleted.
package replica
