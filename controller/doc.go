// Package controller calls your reconcile function with the key of each object that needs work. It ties
// informers, a queue and that function together.
//
//	websites := controller.Open(server, Websites)
//	deployments := controller.Open(server, apps.Deployments)
//	secrets := controller.Open(server, core.Secrets)
//	bySecret := kinform.Index(websites, "secret", func(w *Website) kinform.Key { ... })
//
//	c := controller.New("websites", func(ctx context.Context, key kinform.Key) error { ... })
//	controller.For(c, websites)                  // a changed website queues its key,
//	controller.Owns(c, websites, deployments)    // a changed deployment queues its owner,
//	controller.References(c, secrets, bySecret)  // and a changed secret queues all websites that refer to it
//	err := c.Run(ctx)
//
// Run runs the informers and waits until the handlers have seen the initial lists. Only then does it
// call reconcile, so reconcile finds complete caches from the start.
//
// The result of reconcile decides what happens to its key: nil is success, [Again] asks for another
// call after a time, [Terminal] ends the retries, and any other error is retried with growing delays.
//
// Setup returns no errors. If a handle, an index or the controller is set up wrongly, [Controller.Run]
// returns all the mistakes at once and runs nothing. The Err method of each returns them earlier.
//
// # Handles
//
// A [Handle] serves a controller with one kind: it has a cache with indexes, and sends requests.
//
//	site, ok := websites.Cached(key)             // from the cache
//	all := websites.List("prod", nil)
//	site, err = websites.Update(ctx, site, ...)  // to the server, and seen by all reads from now on
//	controller.CreateOrUpdate(ctx, websites, ...)
//
// When a write through the handle returns, the cache has its result: by key, in lists, indexes and
// snapshots. That includes deletions, and the update that removes the last finalizer. You need no
// further call. Handlers get the write at once, with informer.Event.Own, and no second event when the
// watch brings it later.
//
// The result of some writes is not known at once: the answer was lost, there was a conflict, the
// informer did not run, or the watch has brought nothing for two minutes. Then Run catches up before it
// calls reconcile again ([Requests.CatchUp]). Usually that takes one GET of the object, so a silent
// watch does not hold up reconciles. It takes longer if GET is forbidden, and after a write that names
// no object, such as a DeleteCollection: then all reconcile calls wait for the watch, usually for less
// than three seconds. If one handle takes more than 10 seconds, the key is queued again with an error,
// as after any failure.
//
// Run catches up for the handles that you gave to For, Owns, Watch and References. It also does so for
// the handles that reconcile has written through with its own context, unless you gave those calls only
// the handle's informer. If you read a handle elsewhere, or write with another context, call CatchUp
// there.
//
// [OpenProjected] makes a handle whose cache holds a part of each object.
//
// # Several namespaces
//
//	namespaces := informer.NewNamespaces("dev", "prod")
//	websites := controller.Open(server, Websites, controller.OpenOptions[*Website]{Namespaces: namespaces})
//	deployments := controller.Open(server, apps.Deployments, controller.OpenOptions[*appsv1.Deployment]{Namespaces: namespaces})
//	...
//	err = namespaces.Add("test") // at any time: both handles begin to list and watch it
//
// Such handles need no permission for the whole cluster. Each namespace lists, watches and fails
// separately:
//
//   - If the server refuses a namespace, only the objects of that namespace are missing. informer.Stats
//     says so, and the informer's OnError gets the refusals.
//   - If the lists of a namespace fail otherwise, or are not answered, the controller begins without it
//     10 seconds after another namespace has listed (informer.LateNamespaceError).
//   - If a namespace fails later, for 10 seconds, the others go on. If the result of a write to it is
//     not known, the keys of that namespace wait until it is back.
//
// A key of type kinform.Key is reconciled only when all handles have listed its namespace, or were
// refused. If a reconcile reads a namespace other than its key's, call [Projected.Covers] before you
// create an object that you did not find. A write to a namespace that is not in the set is not sent and
// returns [ErrOutside]. Take a namespace out of the set only after the controller has finished its work
// there. Otherwise the finalizers of its objects stay.
//
// # Own events
//
// A key is not queued again because of what its own reconcile wrote. An event does not queue a key if
// only that key's reconcile caused it, by writes through a handle with the context that it got. The
// handle must have been given to For, Owns, Watch or References; if they got an informer, every event
// counts. So a reconcile must do all its work in one call, or return [Again]. It must not, for example,
// add a finalizer, return, and rely on the event of that write for the next call. controller-runtime
// does make that call, and so does this package with Options.OwnEvents.
//
// Every other event counts:
//
//   - an event with somebody else's change in it, such as another controller's, or the change that the
//     reconcile of another key made
//   - a deletion, and an initial event
//   - the result of an apply, or of a patch that states no resourceVersion, because it may include
//     somebody else's change
//   - every event of a projection whose objects have no resourceVersion
//
// A default or a webhook may change what you write. So continue with the object that the request
// returned.
//
// # Filters
//
// For, Owns, Watch and References take filters. If a filter returns false for an event, the event
// queues nothing. A filter gets the old and the new object and the type of the event.
// [GenerationChanged] leaves out updates that keep the spec, even if labels, annotations or finalizers
// change. Use it for objects of which reconcile reads only the spec, if others often write the
// status. Do not use it for objects whose status reconcile waits for, such as an owned Deployment.
//
// # Keys
//
// The function of [Watch] maps an object to the keys that it concerns. It has the form of an index
// function: func(dst []Q, obj T) []Q. When a reference moves, both owners are reconciled, because the
// function is called for the old and for the new object. For references by name, [References] needs an
// index and no function.
//
// # Watches that come and go
//
// You can also call For, Owns, Watch and References while Run runs. [Unwatch] removes what they added.
// A late watch queues the keys of all existing objects while its cache fills. Reconcile does not wait
// for that, so if it reads the new cache, call informer.Informer.WaitForSync. Options.OnError gets the
// mistakes in late calls, and a [*SyncError] for a cache that does not fill within Options.SyncTimeout.
// Neither ends Run.
//
// # Writes
//
// These functions do the writes that most controllers need: [CreateOrUpdate] for objects that the
// controller makes, [SetController] and [Adopt] for their owner, [Finalize] for what lives outside the
// API server, [PatchStatus] and [SetCondition] for the status, [Delete], and [Apply]. They need a
// [Client]. They send nothing if nothing changed, and never undo a change of another writer: on a
// conflict they look at the object again.
//
//	site, done, err := controller.Finalize(ctx, websites, site, "example.com/dns", removeDNS)
//	if done || err != nil {
//		return err
//	}
//	deployment, _, err := controller.CreateOrUpdate(ctx, deployments, named(site), func(d *appsv1.Deployment) error {
//		if err := controller.SetController(d, site, Websites); err != nil {
//			return err // the name is taken by somebody else
//		}
//		d.Spec.Replicas = &site.Spec.Replicas
//		return nil
//	})
//	if err != nil {
//		return err
//	}
//	_, err = controller.PatchStatus(ctx, websites, site, func(s *Website) {
//		s.Status.Ready = deployment.Status.ReadyReplicas
//	})
//	return err
//
// The helpers write what changed in the Go type, and nothing else. So fields that your type lacks stay,
// both those that a newer API server added and those that you left out. That holds inside lists, too.
// An element counts as the same before and after if it is equal, or if its name, key, port, type or the
// like is the same. Elements without such a member are matched by their place. An element that stays
// keeps its unknown fields, even if it moves. All other elements are removed or added. A list whose Go
// type encodes itself is written as a whole.
//
// If you set a whole list, you drop the elements and defaults that others put in, and you write in
// every call. So in the edit of CreateOrUpdate, find the element by its name and set its fields, or
// append it if it is not there. To own some elements of a list, use Apply.
//
// An edit can also set null. [CreateOrUpdate] says where, and which patches are sent.
//
// # Errors and conditions
//
// A condition tells a user what to do, or what the controller waits for. Put these errors into a
// condition: a name that is taken ([OwnedError]), a spec that the server refuses (Invalid, Forbidden),
// a referenced object that does not exist. Also return the error, so that it is reported and retried.
// If only a change of a watched object can help, return it in [Terminal].
//
// Just return all other errors: conflicts, timeouts, errors of a server, a context that ended. The next
// try usually fixes them, and a condition would cost one more request to a server in trouble. The
// message of a condition must stay the same as long as its cause stays the same. If it contained a
// time, a count or a resourceVersion, each reconcile would write.
//
// # Lifetime
//
// Run returns when its context is done, when the queue was shut down, or when an informer failed. By
// then everything that it started has ended. Run does not start informers that run already, and does
// not stop them. When one of them stops, Run returns an error.
//
// If two controllers share an informer, let package controller/manager run it and the controllers. Or
// start it first, by yourself (go inf.Run(ctx)) or in package informer/factory. For, Owns, Watch and
// References take the handles of a factory, and any [Handle], like an informer.
//
// Run waits for the initial lists as long as they take. If a list is forbidden, or a CRD is missing, no
// key is reconciled: the informer reports the cause to its OnError and retries. To fail instead, set
// Options.SyncTimeout.
package controller
