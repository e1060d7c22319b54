// Package faketest helps tests that run against package fake to check what happened.
//
//	var seen faketest.Recorder[kinform.Key, *corev1.Pod]
//	pods.AddHandler(informer.HandlerFuncs[kinform.Key, *corev1.Pod]{
//		Added:   func(ev informer.Event[kinform.Key, *corev1.Pod]) { seen.Added(ev.Key, ev.Object) },
//		Updated: func(ev informer.Event[kinform.Key, *corev1.Pod]) { seen.Updated(ev.Key, ev.Old, ev.Object) },
//		Deleted: func(ev informer.Event[kinform.Key, *corev1.Pod]) { seen.Deleted(ev.Key, ev.Object) },
//	}, informer.HandlerOptions[*corev1.Pod]{})
//	err := seen.Expect(ctx, faketest.Expectation[kinform.Key, *corev1.Pod]{Type: reflector.Added, Key: key})
//	diff, err := faketest.Diff(server, fake.Selection{}, pods.Store().Values())
//
// The types of recorded events are package reflector's: an informer's Updated is Modified here.
//
//   - [Recorder] waits for the events of a handler and compares them with a test's expectations.
//   - [Histories] checks the order of events: for each key add (update)* delete, and no step
//     back in time.
//   - [Diff] compares a cache with the server.
//   - [WaitIdle] waits, inside a testing/synctest bubble, until nothing more can happen without
//     time passing.
//   - [NoLeaks] finds goroutines that a test left running.
//   - [NoLoops] finds clients that write the same field of an object again and again.
//   - [Transcript] keeps the requests of a server. Check them, and see them when a test fails.
//   - [Listen] serves the server at an address, for clients that need one.
//
// # Concurrency
//
// Recorder, Histories and Transcript are safe for concurrent use and run the caller's Check
// functions without a lock. The package starts no goroutine except the one of [Listen], which ends
// with the test.
package faketest
