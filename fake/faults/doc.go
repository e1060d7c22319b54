// Package faults describes failures that a fake.Server injects into its answers: refusals,
// delays, silent watches, broken connections, truncated bodies, events twice or out of order,
// restarts.
//
//	err := server.Inject(faults.Fault{Verb: faults.VerbWatch, CutEvents: 3})
//	list, err := faults.Parse("refuse list pods code=429 retry-after=1 chance=0.1 seed=7")
//
// A [Fault] says which calls it strikes and what happens to them. [Parse] and [Script] read and
// write faults as lines of text. [Shrink] finds the few faults that make a test fail. An
// [Injector] decides for each call whether a fault strikes it. Every fake.Server has one.
//
// # Lost answers
//
// To lose the answer to a write, cut it off: the server has done the write, and the client gets
// an error that does not say so. Only answers by HTTP have bytes, so this strikes a
// client.Resource and a handle, and not a fake.Source.
//
//	truncate patch websites.example.com bytes=1 chance=0.2 seed=7
//
// A refusal (500, 503, 504) is the opposite: the server has done nothing. A program cannot tell
// the two apart, so it must do the right thing after both.
//
// # Determinism
//
// Only the order of the calls decides which calls are struck: a fault counts them, or throws
// dice with its seed. Concurrent calls have no fixed order, so Server.Struck returns the strikes
// of a run as faults without chance. The package starts no goroutine and reads no clock.
package faults
