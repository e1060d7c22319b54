// Package sim explores what becomes of a controller when things go wrong: crashes between two writes, answers that are
// lost, caches that are behind, leases that are taken away, users who go on too soon. All of it is in virtual time, in
// one process, and the same in each run. Some thousand schedules take some seconds.
//
//	func TestExplore(t *testing.T) {
//		sim.Explore(t, func() sim.Program {
//			return sim.Program{Server: newServer(), Run: shop.Run, Users: users}
//		})
//	}
//
// A [Program] runs against a fake.Server in a testing/synctest bubble. One thing happens at a time: a request gets to the
// server, an event of a watch gets to the program, users do their next step. Before and after it, everything stands
// still. So a schedule is a list of faults, each at one request, and a request is named by what it asks for:
//
//	crash after create deployments.apps prod/shop
//	hold patch websites.example.com/status prod/shop call=2 by=30s watch=deployments.apps
//
// [Explore] runs the program without faults, twice. Then it tries each single fault at each request of that run, all pairs
// if there is time, and then more of them, drawn by lot, on top of schedules in which requests followed each other
// as they had not before. It makes a schedule that breaks a rule as short as possible and prints it with the rule and
// the requests around. [Replay] plays it again.
//
// # Faults
//
//   - crash before, crash after: the process ends before or after the server carries out the request. A second later
//     it starts again. With behind=3, it reaches an older API server, without streaming lists, for 30 seconds: lists that
//     may be old (resourceVersion=0) are as of three versions before, and watches come late.
//   - lose: the server carries the request out, and its answer is lost. refuse: it answers with an error (code=), also
//     with 410 to the next page of a list. delay: it gets the request later (by=). late: the answer comes later (by=), after
//     the events.
//   - touch: another client annotates the object just before. users: users go on with their next step just before.
//   - From the request on, for some time (by=): hold keeps back the events of a resource (watch=). blind breaks its
//     watches and refuses lists. Afterwards watches cannot resume from where they were, so that states in between are never
//     seen. Both can also begin when users begin or return from Settle or Wait: "step of users" stands for the request.
//     forbid takes away the rights to the request's resource in its namespace. freeze cuts the process off, so that it
//     loses its leases.
//
// # Rules
//
// These hold for each program. A name in quotes is what a report calls the rule. One that is not for the program is left
// out by Program.Ignore, as "rule lease".
//
//   - Without faults: Users returns no error, the program comes to rest ("rest"), Run does not end on its own ("ends"), a
//     new start at rest changes nothing ("again"), no write that changes nothing is sent then, or twice in a row
//     ("unchanged"; applies and patches of {} may be). The server does not refuse all updates, or all patches, of a resource
//     because they are malformed ("refused").
//   - "converges": the objects in the end are as without faults. "twice": objects with generated names are not made
//     again while an equal one is there. "orphan": no object stays whose owners are gone.
//   - "left": when all that users created is deleted, it goes, and so does all that the program created
//     (Program.Keeps).
//   - "status": the status that the program wrote is of the present generation.
//   - "overwrites": an update or a patch without a resourceVersion does not take back what another client has just written.
//   - "lease": a process sends no write after another one has taken its lease, not even one that needs no lease.
//   - "loop": no field is written again and again without a reason: see fake.Server.Loops.
//   - "panics": no process logs a panic from which it recovers. That is a record of slog's default logger with an attribute
//     that begins with "panic: ". Packages controller and simulated write them.
//   - "users", "always", "finally": what the author's functions say.
//
// A rule about the end may hold up to half an hour of virtual time late: timers may mend what events did not.
//
// # Limits
//
// The program must run in a bubble of testing/synctest, so it must not use the network, goroutines or channels from
// outside, or a mutex that is held during a request. It must do the same in each run: it must not draw lots, nor depend on
// the order of a map. What hinders is reported with the place. A panic in a goroutine of the program ends the test binary;
// the first line of the goroutine's stack has the schedule. The clocks of all processes are the same one. After a list,
// as on a server that is behind, the program's goroutines decide which object comes first: a report says if that counts.
// The other client annotates, so it does not notice when a patch takes back another field, or a list as a whole.
// A program that always writes, such as a heartbeat into a status, does not rest. Nor does an election by other objects
// than Leases. No process crashes before a list or a watch: that is like a crash after the step before. Replicas of
// package shard cannot be explored, since they draw the names of their Leases by lot. What is logged meanwhile by the
// default loggers of packages slog and log is dropped, so tests that explore cannot run in parallel.
package sim
